"""Tokens of a grid, a graph, a tree or a prefix, and choices behind a question: what goes wrong.

A token of a tree sees its ancestors and itself; a choice sees the question and itself.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from viz_encoder.audit.diagnose.hypothesis import Hypothesis, Meant, numbers_of, same, up_to_last
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.model.masks import Valid

FEWEST = 2  # groups, or tokens in each


def wrong_grids(m: Meant) -> Iterator[Hypothesis]:
    """What else a pattern of all samples could be, whose queries and keys are the same tokens."""
    pattern = m.pattern[0].cpu()
    if not bool(pattern.diagonal().all()):
        return
    yield from (one for one in _other_axis(pattern, m.place.cpu()) if not one.opened.equal(pattern))
    if not torch.equal(pattern, pattern.mT):
        return
    near = by_distance(pattern)
    if not (bool(near.all()) or torch.equal(near, pattern)):
        yield Hypothesis("by_distance", near)


def _other_axis(pattern: Tensor, place: Tensor) -> Iterator[Hypothesis]:
    """Of groups, those along the other axis, and causal ones, if these are."""
    whole, causal = pattern | pattern.mT, torch.equal(pattern, pattern.tril())
    if not torch.equal(whole.float() @ whole.float() > 0, whole):
        return
    for folded, more, variant in (*_folded(whole, place), *_across(whole, place)):
        yield Hypothesis("folded", folded, more, variant)
        if causal:
            yield Hypothesis("folded", folded.tril(), more, variant)


def by_distance(pattern: Tensor) -> Tensor:
    """Every pair that is as far apart, and in that direction, as any that is open."""
    n_tokens = len(pattern)
    place = torch.arange(n_tokens, device=pattern.device)
    ahead = place - place[:, None] + n_tokens
    taken = torch.zeros(2 * n_tokens, dtype=torch.bool, device=pattern.device)
    taken[ahead[pattern]] = True
    return taken[ahead]


def _folded(whole: Tensor, place: Tensor) -> Iterator[tuple[Tensor, str, str]]:
    """Groups of as many tokens: neighbors, or each so many tokens apart."""
    n_tokens, size = len(whole), int(whole[0].sum())
    alike = len(whole.sum(dim=1).unique()) == 1
    if alike and n_tokens % size == 0 and FEWEST <= size <= n_tokens // FEWEST:
        for number in (place // size, place % (n_tokens // size)):
            yield same(number), f": {size} at a time", ""


def _across(whole: Tensor, place: Tensor) -> Iterator[tuple[Tensor, str, str]]:
    """The same frame where the same place in each is meant, or the other way around."""
    for width in range(FEWEST, len(whole) // FEWEST + 1):
        frame, within = same(place // width), same(place % width)
        for meant, other, words in (
            (within, frame, "within frames, where over frames"),
            (frame, within, "over frames, where within frames"),
        ):
            if torch.equal(whole, meant):
                yield other, f": {words} was meant ({width} tokens a frame)", f"{width}"


def wrong_graphs(m: Meant) -> Iterator[Hypothesis]:
    """What else the edges of these graphs could be."""
    if all(_is_irregular(one) for one in m.pattern):
        for one in _other_edges(m.pattern, m.itself):
            if not torch.equal(one.opened & m.keys, m.pattern & m.keys):
                yield one.within(m.keys)
                yield one._replace(opened=(one.opened & m.keys) | (m.itself & m.pattern))


def _other_edges(pattern: Allowed, itself: Tensor) -> Iterator[Hypothesis]:
    if torch.equal(pattern, pattern.mT):
        yield Hypothesis("edges_one_way", pattern.tril())
        yield Hypothesis("edges_one_way", pattern.triu())
    else:
        yield Hypothesis("edges_both_ways", pattern | pattern.mT)
    yield Hypothesis("self_loops", pattern & ~itself, ": it is closed")
    yield Hypothesis("self_loops", pattern | itself, ": it is open")
    yield Hypothesis("hops", (pattern.float() @ pattern.float()) > 0)


def _is_irregular(pattern: Tensor) -> bool:
    """Whether it is neither made of distances nor of groups, nor of tokens that see all."""
    if bool((pattern.all(dim=0) | pattern.all(dim=1)).any()):
        return False
    linked = pattern.float() @ pattern.float() > 0
    return not (torch.equal(by_distance(pattern), pattern) or torch.equal(linked, pattern))


NOBODY = -1
Parents = Int[Tensor, "batch token"]


def wrong_branches(m: Meant) -> Iterator[Hypothesis]:
    """What a token sees of other branches; nothing where the intent has none."""
    parents = _parents(m)
    yield from _of_choices(m) if parents is None else _of_tree(m, parents)


def _of_tree(m: Meant, parents: Parents) -> Iterator[Hypothesis]:
    """Siblings, their descendants, the levels above, or all tokens before; or the parent alone."""
    allowed, keys, itself, before = m.allowed, m.keys, m.itself, m.ahead < 0
    siblings = same(parents) & m.valid[:, :, None] & keys
    depth = allowed.sum(dim=-1)
    above = depth[:, None, :] - depth[:, :, None]
    seen = ((allowed.float() @ siblings.float()) > 0) & keys
    for opened, told in (
        (allowed | (siblings & before), "its siblings before it"),
        (allowed | siblings, "all of its siblings"),
        (seen & m.causal, "its ancestors' siblings, too"),
        ((above < 0) & keys | allowed, "all levels above its own"),
        ((above <= 0) & keys & before | allowed, "its own level, too"),
        (m.causal & keys, "all tokens before it, as in a text"),
    ):
        yield Hypothesis("tree", opened, f": it sees {told}")
    root = keys & (parents[:, None, :] == NOBODY)
    parent = itself | (parents[:, :, None] == m.place)
    for variant, opened in (("parent", parent), ("parent and root", parent | root)):
        yield Hypothesis("tree_parent", allowed & opened, "", variant)


def _parents(m: Meant) -> Parents | None:
    """Each real token's parent, the last earlier token it sees; None if no tree that forks.

    In a tree, a token sees itself and what its parent sees.
    """
    real = m.valid[:, :, None]
    pairs = m.allowed & real & m.keys
    before = pairs & (m.ahead < 0)
    parents = (before * (m.place + 1)).amax(dim=-1) - 1
    of_parent = pairs.gather(1, parents.clamp_min(0)[..., None].expand_as(pairs))
    of_parent = of_parent & (parents >= 0)[..., None]
    if not torch.equal((of_parent | m.itself) & real, pairs):
        return None
    children = (parents[:, :, None] == m.place) & real
    return parents if bool((children.sum(dim=1) > 1).any()) else None


def _of_choices(m: Meant) -> Iterator[Hypothesis]:
    """All choices see each other, or those before them, where all see one question."""
    shared = (m.allowed | ~m.valid[:, :, None]).all(dim=1) & m.valid
    rest = m.valid & ~shared
    within = rest[:, :, None] & rest[:, None, :]
    numbers = numbers_of(m.allowed & within)
    own = same(numbers)
    if not bool(shared.any()) or not torch.equal(m.allowed & within, own & within):
        return
    sizes = (own & within).sum(dim=-1)[rest]
    if bool((own | ~within).all()) or int(sizes.max()) < 2:
        return  # one choice alone; or single tokens, as of global tokens beside a narrow window
    earlier = numbers[:, :, None] >= numbers[:, None, :]
    yield Hypothesis("choices", m.allowed | within)
    yield Hypothesis("choices", m.allowed | (within & earlier), ": those before it")


def wrong_groups(m: Meant) -> Iterator[Hypothesis]:
    """What goes wrong with a prefix, and with groups that see all of themselves; if there are."""
    allowed, valid = m.allowed, m.valid
    joined = allowed.diagonal(1, 1, 2) & valid[:, 1:] & valid[:, :-1]  # each sees the one after it
    group = same(F.pad((~joined).cumsum(dim=1), (1, 0))) & valid[:, :, None] & m.keys
    outside = allowed & ~group & valid[:, :, None]
    has_groups = int(group.sum()) > int(valid.sum())
    if not has_groups or not bool(outside.any()) or bool(outside.triu(1).any()):
        return
    window = m.ahead.abs() <= int(m.ahead.abs().expand_as(outside)[outside].max())
    each = (
        Hypothesis("group_window", allowed | group),
        Hypothesis("group_cut", allowed & window),
        *_of_prefix(m, group),
    )
    yield from (one for one in each if not torch.equal(one.opened, allowed))


def _of_prefix(m: Meant, group: Allowed) -> Iterator[Hypothesis]:
    """The group of the first real token: its keys are opened to all, or its queries see all.

    Or it is one token longer or shorter; where it is one token alone, it may be none.
    """
    allowed, valid = m.allowed, m.valid
    prefix = group[torch.arange(len(valid), device=valid.device), valid.long().argmax(dim=1)]
    for variant, columns in (
        ("", prefix),
        ("before", up_to_last(prefix)),
        ("types", prefix | ~valid),  # padding has the token type of a prefix, 0
    ):
        yield Hypothesis("prefix_opened", allowed | columns[:, None, :], "", variant)
    yield Hypothesis("prefix_rows", allowed | (prefix[:, :, None] & m.keys))
    grown = prefix | (prefix.roll(1, dims=1) & valid)
    grown[:, 0] = prefix[:, 0]
    some = prefix.sum(dim=1, keepdim=True) > 1
    for longer in (grown, torch.where(some, grown, prefix)):
        opened = allowed | _pairs_of(longer)
        yield Hypothesis("prefix_length", opened, ": one token too long")
    shorter = prefix & prefix.roll(-1, dims=1)
    kept = ~_pairs_of(prefix) | m.causal | _pairs_of(shorter)
    yield Hypothesis("prefix_length", allowed & kept, ": one token too short")


def _pairs_of(tokens: Valid) -> Allowed:
    return tokens[:, :, None] & tokens[:, None, :]
