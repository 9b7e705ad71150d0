"""Tokens of a grid, a graph or a tree, and choices that share a question: what goes wrong.

A token of a tree sees its ancestors and itself; a choice sees the question and itself.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.hypothesis import Hypothesis, LayerOnBatch
from viz_encoder.audit.diagnose.padding_masks import numbers_of
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.audit.report import Diagnosis
from viz_encoder.model.masks import Valid

FEWEST = 2  # groups, or tokens in each


def wrong_grids(pattern: Allowed) -> Iterator[Hypothesis]:
    """What else this pattern could be, of which queries and keys are the same tokens in order.

    "query key" for all samples.
    """
    if not bool(pattern.diagonal().all()):
        return
    yield from _other_axis(pattern)
    if not torch.equal(pattern, pattern.mT):
        return
    near = by_distance(pattern)
    if not (bool(near.all()) or torch.equal(near, pattern)):
        yield Hypothesis("by_distance", near)


def _other_axis(pattern: Tensor) -> Iterator[Hypothesis]:
    """Of groups, those along the other axis, and causal ones, if these are."""
    whole, causal = pattern | pattern.mT, torch.equal(pattern, pattern.tril())
    if not torch.equal(whole.float() @ whole.float() > 0, whole):
        return
    for folded, more, variant in (*_folded(whole), *_across(whole)):
        for one in (folded, folded.tril()) if causal else (folded,):
            if not torch.equal(one, pattern):
                yield Hypothesis("folded", one, more, variant)


def by_distance(pattern: Tensor) -> Tensor:
    """Every pair that is as far apart, and in that direction, as any that is open."""
    n_tokens = len(pattern)
    place = torch.arange(n_tokens, device=pattern.device)
    ahead = place - place[:, None] + n_tokens
    taken = torch.zeros(2 * n_tokens, dtype=torch.bool, device=pattern.device)
    taken[ahead[pattern]] = True
    return taken[ahead]


def _folded(whole: Tensor) -> Iterator[tuple[Tensor, str, str]]:
    """Groups of as many tokens: neighbors, or each so many tokens apart."""
    n_tokens, size = len(whole), int(whole[0].sum())
    if n_tokens % size or not FEWEST <= size <= n_tokens // FEWEST:
        return
    place = torch.arange(n_tokens)
    for number in (place // size, place % (n_tokens // size)) if _are_alike(whole) else ():
        yield number[:, None] == number, f": {size} at a time", ""


def _are_alike(whole: Tensor) -> bool:
    """Whether all groups have as many tokens."""
    return len(whole.sum(dim=1).unique()) == 1


def _across(whole: Tensor) -> Iterator[tuple[Tensor, str, str]]:
    """The same frame where the same place in each is meant, or the other way around."""
    place = torch.arange(len(whole))
    for width in range(FEWEST, len(whole) // FEWEST + 1):
        frame, within = (n[:, None] == n for n in (place // width, place % width))
        for meant, other, words in (
            (within, frame, "within frames, where over frames"),
            (frame, within, "over frames, where within frames"),
        ):
            if torch.equal(whole, meant):
                yield other, f": {words} was meant ({width} tokens a frame)", f"{width}"


def wrong_graphs(pattern: Allowed, valid: Valid) -> Iterator[Hypothesis]:
    """What else the edges of these graphs could be."""
    if not all(_is_irregular(one) for one in pattern):
        return
    keys = valid[:, None, :]
    itself = torch.eye(pattern.shape[1], dtype=torch.bool, device=pattern.device)
    for code, pairs, more in _mistakes(pattern, itself):
        if not torch.equal(pairs & keys, pattern & keys):
            yield Hypothesis(code, pairs & keys, more, more)
            yield Hypothesis(code, (pairs & keys) | (itself & pattern), more, more)


def _mistakes(pattern: Allowed, itself: Tensor) -> Iterator[tuple[str, Allowed, str]]:
    if torch.equal(pattern, pattern.mT):
        for half in (pattern.tril(), pattern.triu()):
            yield "edges_one_way", half, ""
    else:
        yield "edges_both_ways", pattern | pattern.mT, ""
    yield "self_loops", pattern & ~itself, ": it is closed"
    yield "self_loops", pattern | itself, ": it is open"
    yield "hops", (pattern.float() @ pattern.float()) > 0, ""


def _is_irregular(pattern: Tensor) -> bool:
    """Whether it is neither made of distances nor of groups, nor of tokens that see all."""
    if bool((pattern.all(dim=0) | pattern.all(dim=1)).any()):
        return False
    linked = pattern.float() @ pattern.float() > 0
    return not (torch.equal(by_distance(pattern), pattern) or torch.equal(linked, pattern))


def one_direction(seen: Sequence[LayerOnBatch]) -> Diagnosis | None:
    """Each edge of graphs without directions is open in one of them, whichever it is."""
    wrong = [one for one in seen if bool(one.wrong.any())]
    return diagnose("edges_one_way") if all(map(_is_halved, wrong)) else None


def _is_halved(seen: LayerOnBatch) -> bool:
    itself = torch.eye(seen.valid.shape[1], dtype=torch.bool, device=seen.valid.device)
    real = seen.rows[:, :, None] & seen.rows[:, None, :]
    edges = seen.allowed & real & ~itself
    opened = (seen.opened & edges[:, None]).any(dim=1)
    alike = bool((seen.opened == seen.opened[:, :1]).all()) and torch.equal(edges, edges.mT)
    only_missing = not bool((seen.wrong & (seen.opened | itself)).any())
    return alike and only_missing and torch.equal(opened ^ opened.mT, edges)


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
