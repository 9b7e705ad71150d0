"""Masks that a layer would have under each known cause, to compare with the observed one.

A cause is named only if what was observed equals its mask and no other cause's; on a second batch,
of other lengths in another order, where the first cannot tell them apart.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.diagnose.bands import band_of, without, wrong_bands, wrong_repeats
from viz_encoder.audit.diagnose.grids import by_distance, wrong_branches, wrong_graphs, wrong_grids
from viz_encoder.audit.diagnose.hypothesis import Hypothesis, wrong_groups
from viz_encoder.audit.diagnose.padding_masks import (
    EARLY,
    LATE,
    MOST_STEPS,
    moved_edges,
    numbered_padding,
    numbers_of,
    other_keys,
)
from viz_encoder.audit.diagnose.windows import wrong_windows
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.model.masks import Valid

HeadFlags = Bool[Tensor, " head"]


def hypotheses(
    allowed: Allowed,
    pattern: Allowed,
    valid: Valid,
    heads: HeadFlags | None = None,
    layers: Sequence[Allowed] = (),
) -> Iterator[Hypothesis]:
    """Each in turn; `pattern` is what the intent would be without any padding.

    `heads` are those that are compared, if heads are known; `layers` the intents of all layers.
    """
    others = [(n, one) for n, one in enumerate(layers) if not torch.equal(one, allowed)]
    for one in _same_in_all_heads(allowed, pattern, valid):
        meant = any(torch.equal(one.opened.expand_as(other), other) for _, other in others)
        if one.code != "folded" or not meant:  # then it is that layer's
            yield one._replace(opened=one.opened[:, None])
    for number, other in others:
        yield Hypothesis("other_layer", other[:, None], f": that of layer {number}")
    if heads is not None:
        yield from _by_repeat(allowed, heads)


def _same_in_all_heads(allowed: Allowed, pattern: Allowed, valid: Valid) -> Iterator[Hypothesis]:
    everything = torch.ones_like(allowed)
    masks_padding = not torch.equal(allowed, pattern)
    keys = valid[:, None, :].expand_as(allowed) if masks_padding else everything
    itself = torch.eye(allowed.shape[-1], dtype=torch.bool, device=keys.device)
    causal = everything.tril()
    yield from (Hypothesis("inverted", one) for one in (~allowed, ~allowed & keys, ~pattern & keys))
    yield Hypothesis("ignored", everything)
    yield Hypothesis("transposed", allowed.mT)
    if not torch.equal(pattern.mT, pattern):  # else it is the pattern of other lengths, not swapped
        yield Hypothesis("transposed", pattern.mT & keys)
    if not bool(pattern.all()):
        yield Hypothesis("padding_ignored", pattern)
        yield Hypothesis("pattern_ignored", keys)
        yield Hypothesis("pattern_places", pattern & keys)
        yield Hypothesis("either_opens", pattern | keys)
        if bool((pattern & ~causal).any()):
            yield Hypothesis("causal_added", pattern & causal)
    if bool((pattern & ~causal).any()) and band_of(pattern) is None:
        yield Hypothesis("causal_added", allowed & causal)
    both_ways = pattern | pattern.mT
    if not bool((pattern & ~causal).any()) and not bool(both_ways.all()):
        yield Hypothesis("causal_lost", both_ways & keys)
    if bool(pattern.all()):
        yield Hypothesis("causal_added", allowed & causal)
        yield Hypothesis("causal_added", causal)
    if bool((causal & ~pattern).any()) and _has_documents(pattern):
        yield from _joined_documents(pattern, keys)
    edges = moved_edges(allowed, pattern, valid) if _has_documents(pattern) else ()
    for one, words in edges:
        yield Hypothesis("document_edges", one, words, words)
    for one, words in numbered_padding(allowed, pattern, valid):
        yield Hypothesis("padding_numbered", one, words, words)
    for code, keep, more, variant in other_keys(valid):
        for kept in (keep[:, None, :], keep[:, None, :] | itself):  # it may see itself, whatever
            yield Hypothesis(code, pattern & kept, more, variant)
    yield from _other_samples(allowed, valid)
    yield from _other_rows(pattern, valid)
    yield from _other_places(allowed, pattern)
    yield from _beside(allowed, pattern)
    yield from _of_longest(allowed, valid)
    yield from wrong_bands(pattern, valid)
    for code, pairs, more in wrong_repeats(pattern[0].cpu()) if _is_shared(pattern) else ():
        yield Hypothesis(code, pairs.to(keys.device) & keys, more, more)
    for grid in wrong_grids(pattern[0].cpu()) if _is_shared(pattern) else ():
        yield grid._replace(opened=grid.opened.to(keys.device) & keys)
    yield from wrong_graphs(pattern, valid)
    yield from _moved_nodes(pattern, keys)
    glob = pattern.all(dim=1) & pattern.all(dim=2)
    if bool(glob.any()) and not bool(pattern.all()):
        yield Hypothesis("globals_lost", without(pattern, glob) & keys)
        yield Hypothesis("globals_lost", without(pattern, glob) & (keys | itself))
    yield from wrong_groups(allowed, valid)
    yield from wrong_branches(allowed, valid)
    for code, windows, more in wrong_windows(pattern):
        yield Hypothesis(code, windows.pairs().to(keys.device) & keys, more, f"{windows}")


def _joined_documents(pattern: Allowed, keys: Allowed) -> Iterator[Hypothesis]:
    """Documents that see all others, or those before them, or as far as a window goes."""
    numbers = numbers_of(pattern)
    same, causal = numbers[:, :, None] == numbers[:, None, :], torch.ones_like(pattern).tril()
    for number, window in enumerate(_windows_over_ends(pattern, same)):
        yield Hypothesis(
            "documents", window & keys, ": the window runs over their ends", f"{number}"
        )
    if torch.equal(pattern, pattern & causal):
        yield Hypothesis("documents", causal & keys)
        yield Hypothesis("documents", causal)
    elif torch.equal(pattern, same):
        yield Hypothesis("documents", keys)
        earlier = numbers[:, :, None] >= numbers[:, None, :]
        yield Hypothesis("documents", earlier & keys, ": each sees those before it", "before")


def _windows_over_ends(pattern: Allowed, same: Allowed) -> Iterator[Allowed]:
    """Windows that are this pattern within its documents: the narrowest, and each wider one."""
    where = torch.arange(pattern.shape[-1], device=pattern.device)
    ahead = where[None, :] - where[:, None]
    back, front = (int(end) for end in ahead[pattern.any(dim=0)].aminmax())
    for wider in range(len(where) + back - 1):
        low, high = back - wider, front + wider if front > 0 else front
        near = ((ahead >= low) & (ahead <= high)).expand_as(pattern)
        if not torch.equal(near & same, pattern):
            return
        yield near


def _other_samples(allowed: Allowed, valid: Valid) -> Iterator[Hypothesis]:
    """The masks of the batch in another order."""
    n_samples, counts = len(valid), valid.sum(dim=1)
    if n_samples < 2:
        return
    own = torch.arange(n_samples, device=valid.device)
    orders = (
        ("first_sample", "", torch.zeros_like(own)),
        ("sorted", "", counts.argsort(descending=True, stable=True)),
        ("sorted", "", counts.argsort(stable=True)),
        ("other_sample", "after", own.roll(1)),
        ("other_sample", "before", own.roll(-1)),
        ("other_sample", "reversed", own.flip(0)),
    )
    for code, variant, order in orders:
        if not torch.equal(order, own):
            pairs = [f"{a} that of {b}" for a, b in enumerate(order.tolist()) if a != b]
            more = f" (sample {', sample '.join(pairs)})" if code == "other_sample" else ""
            yield Hypothesis(code, allowed[order], more, variant)


def _other_rows(pattern: Allowed, valid: Valid) -> Iterator[Hypothesis]:
    """Masks in the order of mask.repeat, where groups of tokens are folded into the batch."""
    n_samples, n_tokens = valid.shape
    if n_samples < 2 or not _is_shared(pattern) or bool(valid.all()):
        return
    sample, place = (torch.arange(n, device=valid.device) for n in valid.shape)
    for size in (one for one in range(2, n_tokens) if n_tokens % one == 0):
        for number in (place % size, place // (n_tokens // size)):
            if not bool((pattern[0] & (number[:, None] != number)).any()):
                rows = (sample[:, None] * size + number) % n_samples
                yield Hypothesis("row_samples", pattern & valid[rows], "", "masks")


def _of_longest(allowed: Allowed, valid: Valid) -> Iterator[Hypothesis]:
    """The longest sample's pattern for all; without padding there, it is that of all positions."""
    at = valid.sum(dim=1).argmax()
    opened = allowed[at] & valid[:, None, :]
    if not torch.equal(opened[valid], allowed[valid]):
        if bool(valid[at].all()):
            yield Hypothesis("pattern_places", opened)
        yield Hypothesis("longest_sample", opened)


def _is_shared(pattern: Allowed) -> bool:
    return bool((pattern == pattern[:1]).all())


def _other_places(allowed: Allowed, pattern: Allowed) -> Iterator[Hypothesis]:
    """The mask of the tokens in another order: turned around, or moved on in a circle.

    Where the pattern is the same in that order, only padding is elsewhere: that has its own name.
    """
    if not torch.equal(pattern.flip(1, 2), pattern):
        yield Hypothesis("order", allowed.flip(1, 2), " (the other way around)", "flip")
    plain = bool(pattern.all())
    for step in range(2 if plain else 1, min(MOST_STEPS, allowed.shape[-1] - 1)):
        for by in (step, -step):
            moved, where = allowed.roll((by, by), dims=(1, 2)), "on" if by > 0 else "back"
            yield Hypothesis("order", moved, f" (moved {where} by {step})", str(by))


def _moved_nodes(pattern: Allowed, keys: Allowed) -> Iterator[Hypothesis]:
    """The pattern one place beside its tokens, as where one is put in front; padding is right.

    Of groups, whose tokens see and are seen alike, it is their edges that are moved.
    """
    if bool(pattern.all()) or _has_documents(pattern) or _is_by_distance(pattern):
        return
    place, last = torch.arange(pattern.shape[-1], device=pattern.device), pattern.shape[-1] - 1
    rows, columns = pattern[:, 1:] == pattern[:, :-1], pattern[..., 1:] == pattern[..., :-1]
    alike = bool((rows.all(dim=2) & columns.all(dim=1)).any())
    for step, words, edges in ((1, "later", LATE), (-1, "earlier", EARLY)):
        moved = pattern.roll((step, step), dims=(1, 2)) & keys
        yield Hypothesis("pattern_moved", moved, f", one place {words}", str(step))
        of = (place - step).clamp(0, last)
        if alike:
            yield Hypothesis("document_edges", pattern[:, of][:, :, of] & keys, edges, edges)


def _is_by_distance(pattern: Allowed) -> bool:
    return all(torch.equal(by_distance(one), one) for one in pattern)


def _beside(allowed: Allowed, pattern: Allowed) -> Iterator[Hypothesis]:
    """Weights that stand one key beside their own: a column was added at one end.

    Where the pattern is all keys, they are those of a padding mask that is moved.
    """
    if bool(pattern.all()):
        return
    for step, words in ((1, "later"), (-1, "earlier")):
        moved = allowed.roll(step, dims=2)
        moved[:, :, 0 if step > 0 else -1] = True
        yield Hypothesis("keys_beside", moved, f", one place {words}", str(step))


def _by_repeat(allowed: Allowed, heads: HeadFlags) -> Iterator[Hypothesis]:
    """Masks repeated in another order than heads, or copies of samples: some have their own."""
    n_samples, n_heads = len(allowed), len(heads)
    if n_samples < 2:
        return
    sample = torch.arange(n_samples, device=allowed.device)[:, None]
    for n_copies in (n for n in range(2, n_heads + 1) if n_heads % n == 0):
        copy = torch.arange(n_heads, device=allowed.device) // (n_heads // n_copies)
        repeated = (sample * n_copies + copy) % n_samples
        interleaved = (copy * n_samples + sample) // n_copies
        code = "repeat" if n_copies == n_heads else "copies"
        yield Hypothesis(code, allowed[repeated][:, heads], "", "repeat")
        yield Hypothesis("copies", allowed[interleaved][:, heads], "", "interleave")


def _has_documents(pattern: Allowed) -> bool:
    """Whether tokens fall into blocks that no other token may look into."""
    return int(numbers_of(pattern).max()) > 0
