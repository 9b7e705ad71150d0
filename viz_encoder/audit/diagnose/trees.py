"""Trees of tokens, as in speculative decoding, and choices that share a question: what goes wrong.

A token of a tree sees its ancestors and itself; a choice sees the question and itself.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Int
from torch import Tensor

from viz_encoder.audit.diagnose.document_edges import numbers_of
from viz_encoder.audit.diagnose.hypothesis import Hypothesis
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.model.masks import Valid

NOBODY = -1
Parents = Int[Tensor, "batch token"]


def wrong_branches(allowed: Allowed, valid: Valid) -> Iterator[Hypothesis]:
    """What a token sees of other branches; nothing where the intent has none."""
    parents = _parents(allowed, valid)
    if parents is not None:
        yield from _of_tree(allowed, valid, parents)
    else:
        yield from _of_choices(allowed, valid)


def _of_tree(allowed: Allowed, valid: Valid, parents: Parents) -> Iterator[Hypothesis]:
    """Siblings, their descendants, the levels above, or all tokens before; or the parent alone."""
    n_tokens = allowed.shape[-1]
    place = torch.arange(n_tokens, device=allowed.device)
    keys, itself = valid[:, None, :], place[:, None] == place
    same = (parents[:, :, None] == parents[:, None, :]) & valid[:, :, None] & keys
    before = place[:, None] > place
    depth = allowed.sum(dim=-1)
    above = depth[:, None, :] - depth[:, :, None]
    seen = ((allowed.float() @ same.float()) > 0) & keys
    for variant, opened, more in (
        ("siblings", allowed | (same & before), ": it sees its siblings before it"),
        ("all siblings", allowed | same, ": it sees all of its siblings"),
        ("of ancestors", seen & (before | itself), ": it sees its ancestors' siblings, too"),
        ("levels", (above < 0) & keys | allowed, ": it sees all levels above its own"),
        ("own level", (above <= 0) & keys & before | allowed, ": it sees its own level, too"),
        ("causal", (before | itself) & keys, ": it sees all tokens before it, as in a text"),
    ):
        yield Hypothesis("tree", opened, more, variant)
    root = keys & (parents[:, None, :] == NOBODY)
    parent = itself | (parents[:, :, None] == place)
    for variant, opened in (("parent", parent), ("parent and root", parent | root)):
        yield Hypothesis("tree_parent", allowed & opened, "", variant)


def _parents(allowed: Allowed, valid: Valid) -> Parents | None:
    """Each real token's parent, the last earlier token it sees; None if no tree that forks.

    In a tree, a token sees itself and what its parent sees.
    """
    n_tokens = allowed.shape[-1]
    place = torch.arange(n_tokens, device=allowed.device)
    pairs = allowed & valid[:, :, None] & valid[:, None, :]
    before = pairs & (place[:, None] > place)
    parents = (before * (place + 1)).amax(dim=-1) - 1
    of_parent = pairs.gather(1, parents.clamp_min(0)[..., None].expand_as(pairs))
    of_parent = of_parent & (parents >= 0)[..., None]
    whole = (of_parent | (place[:, None] == place)) & valid[:, :, None]
    if not torch.equal(whole, pairs):
        return None
    children = (parents[:, :, None] == place) & valid[:, :, None]
    return parents if bool((children.sum(dim=1) > 1).any()) else None


def _of_choices(allowed: Allowed, valid: Valid) -> Iterator[Hypothesis]:
    """All choices see each other, or those before them, where all see one question."""
    shared = (allowed | ~valid[:, :, None]).all(dim=1) & valid
    rest = valid & ~shared
    within = rest[:, :, None] & rest[:, None, :]
    numbers = numbers_of(allowed & within)
    same = numbers[:, :, None] == numbers[:, None, :]
    if not bool(shared.any()) or not torch.equal(allowed & within, same & within):
        return
    sizes = (same & within).sum(dim=-1)[rest]
    if bool((same | ~within).all()) or int(sizes.max()) < 2:
        return  # one choice alone; or single tokens, as of global tokens beside a narrow window
    earlier = numbers[:, :, None] >= numbers[:, None, :]
    yield Hypothesis("choices", allowed | within, "", "all")
    yield Hypothesis("choices", allowed | (within & earlier), ": those before it", "before")
