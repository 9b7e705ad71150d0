"""Masks that a layer would have under each known cause, to compare with the observed one.

A cause is named only if what was observed equals its mask and no other cause's; on a second batch,
of other lengths in another order, where the first cannot tell them apart.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.diagnose.bands import band_of, without, wrong_bands, wrong_repeats
from viz_encoder.audit.diagnose.grids import (
    by_distance,
    wrong_branches,
    wrong_graphs,
    wrong_grids,
    wrong_groups,
)
from viz_encoder.audit.diagnose.hypothesis import Hypothesis, Meant, meant_of
from viz_encoder.audit.diagnose.padding_masks import (
    EARLY,
    LATE,
    MOST_STEPS,
    wrong_documents,
    wrong_padding,
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
    """Each in turn, "batch head query key"; `pattern` is the intent without any padding.

    `heads` are those that are compared, if heads are known; `layers` the intents of all layers.
    """
    others = [(n, one) for n, one in enumerate(layers) if not torch.equal(one, allowed)]
    for one in _same_in_all_heads(meant_of(allowed, pattern, valid)):
        opened = one.opened.expand_as(allowed)
        meant = any(torch.equal(opened, other) for _, other in others)
        if one.code != "folded" or not meant:  # then it is that layer's
            yield one._replace(opened=opened[:, None])
    for number, other in others:
        yield Hypothesis("other_layer", other[:, None], f": that of layer {number}", "")
    if heads is not None:
        yield from _by_repeat(allowed, heads)


def _same_in_all_heads(m: Meant) -> Iterator[Hypothesis]:
    yield from _misread(m)
    yield from wrong_documents(m)
    yield from wrong_padding(m)
    yield from _other_samples(m)
    yield from _other_rows(m)
    yield from _other_places(m)
    yield from _beside(m)
    yield from _of_longest(m)
    yield from wrong_bands(m)
    yield from (one.within(m.masked) for one in _of_all_samples(m))
    yield from wrong_graphs(m)
    yield from _moved_nodes(m)
    glob = m.pattern.all(dim=1) & m.pattern.all(dim=2)
    if bool(glob.any()) and not bool(m.pattern.all()):
        for keys in (m.masked, m.masked | m.itself):
            yield Hypothesis("globals_lost", without(m, glob) & keys)
    yield from wrong_groups(m)
    yield from wrong_branches(m)
    yield from (one.within(m.masked) for one in wrong_windows(m))


def _of_all_samples(m: Meant) -> Iterator[Hypothesis]:
    yield from (*wrong_repeats(m), *wrong_grids(m)) if m.is_shared else ()


def _misread(m: Meant) -> Iterator[Hypothesis]:
    """The mask, the pattern and the padding by themselves: swapped, joined otherwise, or lost."""
    allowed, pattern, keys, causal = m.allowed, m.pattern, m.masked, m.causal
    plain, both_ways = bool(pattern.all()), pattern | pattern.mT
    looks_ahead = bool((pattern & ~causal).any())
    for code, holds, opened in (
        ("inverted", True, ~allowed),
        ("inverted", True, ~allowed & keys),
        ("inverted", True, ~pattern & keys),
        ("ignored", True, torch.ones_like(allowed)),
        ("transposed", True, allowed.mT),
        # Else it is the pattern of other lengths, not swapped.
        ("transposed", not torch.equal(pattern.mT, pattern), pattern.mT & keys),
        ("padding_ignored", not plain, pattern),
        ("pattern_ignored", not plain, keys),
        ("pattern_places", not plain, pattern & keys),
        ("either_opens", not plain, pattern | keys),
        ("causal_added", looks_ahead, pattern & causal),
        ("causal_added", looks_ahead and (plain or band_of(pattern) is None), allowed & causal),
        ("causal_lost", not looks_ahead and not bool(both_ways.all()), both_ways & keys),
    ):
        if holds:
            yield Hypothesis(code, opened)


def _other_samples(m: Meant) -> Iterator[Hypothesis]:
    """The masks of the batch in another order."""
    n_samples, counts = len(m.valid), m.valid.sum(dim=1)
    if n_samples < 2:
        return
    own = torch.arange(n_samples, device=m.valid.device)
    for code, variant, order in (
        ("first_sample", "", torch.zeros_like(own)),
        ("sorted", "", counts.argsort(descending=True, stable=True)),
        ("sorted", "", counts.argsort(stable=True)),
        ("other_sample", "after", own.roll(1)),
        ("other_sample", "before", own.roll(-1)),
        ("other_sample", "reversed", own.flip(0)),
    ):
        if not torch.equal(order, own):
            pairs = [f"{a} that of {b}" for a, b in enumerate(order.tolist()) if a != b]
            more = f" (sample {', sample '.join(pairs)})" if code == "other_sample" else ""
            yield Hypothesis(code, m.allowed[order], more, variant)


def _other_rows(m: Meant) -> Iterator[Hypothesis]:
    """Masks in the order of mask.repeat, where groups of tokens are folded into the batch."""
    n_samples, n_tokens = m.valid.shape
    if n_samples < 2 or not m.is_shared or bool(m.valid.all()):
        return
    sample = torch.arange(n_samples, device=m.valid.device)
    for size in (one for one in range(2, n_tokens) if n_tokens % one == 0):
        for number in (m.place % size, m.place // (n_tokens // size)):
            if not bool((m.pattern[0] & (number[:, None] != number)).any()):
                rows = (sample[:, None] * size + number) % n_samples
                yield Hypothesis("row_samples", m.pattern & m.valid[rows])


def _of_longest(m: Meant) -> Iterator[Hypothesis]:
    """The longest sample's pattern for all; without padding there, it is that of all positions."""
    at = m.valid.sum(dim=1).argmax()
    opened = m.allowed[at] & m.keys
    if not torch.equal(opened[m.valid], m.allowed[m.valid]):
        if bool(m.valid[at].all()):
            yield Hypothesis("pattern_places", opened)
        yield Hypothesis("longest_sample", opened)


def _other_places(m: Meant) -> Iterator[Hypothesis]:
    """The mask of the tokens in another order: turned around, or moved on in a circle.

    Where the pattern is the same in that order, only padding is elsewhere: that has its own name.
    """
    if not torch.equal(m.pattern.flip(1, 2), m.pattern):
        yield Hypothesis("order", m.allowed.flip(1, 2), " (the other way around)")
    plain = bool(m.pattern.all())
    for step in range(2 if plain else 1, min(MOST_STEPS, len(m.place) - 1)):
        for by, where in ((step, "on"), (-step, "back")):
            moved = m.allowed.roll((by, by), dims=(1, 2))
            yield Hypothesis("order", moved, f" (moved {where} by {step})")


def _moved_nodes(m: Meant) -> Iterator[Hypothesis]:
    """The pattern one place beside its tokens, as where one is put in front; padding is right.

    Of groups, whose tokens see and are seen alike, it is their edges that are moved.
    """
    pattern = m.pattern
    by_distances = all(torch.equal(by_distance(one), one) for one in pattern)
    if bool(pattern.all()) or m.has_documents or by_distances:
        return
    rows, columns = pattern[:, 1:] == pattern[:, :-1], pattern[..., 1:] == pattern[..., :-1]
    alike = bool((rows.all(dim=2) & columns.all(dim=1)).any())
    for step, words, edges in ((1, "later", LATE), (-1, "earlier", EARLY)):
        moved = pattern.roll((step, step), dims=(1, 2)) & m.masked
        yield Hypothesis("pattern_moved", moved, f", one place {words}")
        of = (m.place - step).clamp(0, len(m.place) - 1)
        if alike:
            yield Hypothesis("document_edges", pattern[:, of][:, :, of] & m.masked, edges)


def _beside(m: Meant) -> Iterator[Hypothesis]:
    """Weights that stand one key beside their own: a column was added at one end.

    Where the pattern is all keys, they are those of a padding mask that is moved.
    """
    for step, words in () if bool(m.pattern.all()) else ((1, "later"), (-1, "earlier")):
        moved = m.allowed.roll(step, dims=2)
        moved[:, :, 0 if step > 0 else -1] = True
        yield Hypothesis("keys_beside", moved, f", one place {words}")


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
