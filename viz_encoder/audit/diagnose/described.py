"""Describes maps that match no known cause: whose mask they obey, or which pairs are missing.

Each is told only if it holds on every batch that was tried.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.hypothesis import LayerOnBatch
from viz_encoder.audit.diagnose.passed_mask import MaskReading
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.audit.report import Diagnosis
from viz_encoder.shown import listed


def reordered(seen: Sequence[LayerOnBatch]) -> Diagnosis | None:
    """Every sample has the whole mask of another one, in no order that is known by name."""
    orders = [_order(one) for one in seen]
    if any(not order or order == sorted(order) for order in orders):
        return None
    pairs = [f"{a} that of {b}" for a, b in enumerate(orders[0]) if a != b]
    return diagnose("other_sample", more=f" (sample {', sample '.join(pairs)})")


def _order(seen: LayerOnBatch) -> list[int]:
    """The sample whose mask each sample has, if it is a permutation; otherwise empty."""
    rows = seen.rows[:, :, None]
    found = []
    for sample, opened in enumerate(seen.opened):
        apart = (opened[None] ^ seen.meant[:, None]) & rows[sample]
        [*same] = (~apart.flatten(1).any(dim=1)).nonzero()[:, 0].tolist()
        if len(same) != 1:
            return []
        found += same
    return found if len(set(found)) == len(found) else []


def joined_groups(seen: Sequence[LayerOnBatch]) -> Diagnosis | None:
    """Causal, but for groups that see all of themselves, such as pictures: and now of all others.

    A group of one token is known only by what it sees, or is seen by.
    """
    wrong = [(one, _grouped(one)) for one in seen if bool(one.wrong.any())]
    if not all(grouped is not None and _is_joined(one, grouped) for one, grouped in wrong):
        return None
    apart = [  # of two groups that the intent tells apart
        one.wrong.any(dim=1) & grouped[:, :, None] & grouped[:, None, :]
        for one, grouped in wrong
        if grouped is not None
    ]
    return diagnose("groups_joined") if any(bool(one.any()) for one in apart) else None


def _grouped(seen: LayerOnBatch) -> Bool[Tensor, "batch token"] | None:
    """Tokens that see one ahead or are seen by one before them; None if it is not causal else."""
    causal = torch.ones_like(seen.allowed).tril()
    ahead = seen.allowed & ~causal
    if bool((causal & seen.valid[:, None, :] & ~seen.allowed)[seen.rows].any()):
        return None
    return (ahead.any(dim=-1) | ahead.any(dim=-2)) & seen.rows


def _is_joined(seen: LayerOnBatch, grouped: Bool[Tensor, "batch token"]) -> bool:
    """Whether the groups, and single tokens that see one or are seen by one, are all one."""
    wrong = seen.wrong.any(dim=1)
    alone = bool((wrong & ~grouped[:, :, None] & ~grouped[:, None, :]).any())
    members = grouped | ((wrong.any(dim=-1) | wrong.any(dim=-2)) & seen.rows)
    opened = seen.allowed | (members[:, :, None] & members[:, None, :])
    return not alone and seen.is_open_as(opened[:, None])


def framed(seen: Sequence[LayerOnBatch]) -> Diagnosis | None:
    """Which blocks of tokens, such as frames, look at other blocks; whole ones, and no others."""
    wrong = [one for one in seen if bool(one.wrong.any())]
    if any(bool((one.wrong & ~one.valid[:, None, None]).any()) for one in wrong):
        return None  # padding is no frame
    sizes = [(one, _block_size(one)) for one in wrong]
    if any(size and _between_blocks(one, one.opened, size) is None for one, size in sizes):
        return None
    for one, size in sizes:
        if size and (told := _first_block(one, size)):
            return diagnose("frames", more=f" ({size} tokens each): {told}")
    return None


def _block_size(seen: LayerOnBatch) -> int:
    """The most tokens of which whole blocks look at whole blocks; 0 if there are no blocks."""
    n_tokens, pattern = seen.allowed.shape[1], seen.pattern[:, None]
    sizes = [one for one in range(n_tokens // 2, 1, -1) if n_tokens % one == 0]
    return next((one for one in sizes if _between_blocks(seen, pattern, one) is not None), 0)


def _between_blocks(seen: LayerOnBatch, pairs: Tensor, size: int) -> Tensor | None:
    """Which block looks at which; None where a part of one does, or samples or heads differ."""
    n_samples, n_tokens = seen.valid.shape
    cut = (-1, n_tokens // size, size, n_tokens // size, size)
    pairs = pairs.expand(n_samples, -1, n_tokens, n_tokens)
    real = (seen.rows[:, :, None] & seen.valid[:, None, :])[:, None].expand_as(pairs)
    opened, closed = (
        (one & real).reshape(cut).any(dim=4).any(dim=2).any(dim=0) for one in (pairs, ~pairs)
    )
    return None if bool((opened & closed).any()) else opened


def _first_block(seen: LayerOnBatch, size: int) -> str:
    """The first block that is not as meant, in words; "" if there is none."""
    meant, found = (_between_blocks(seen, x, size) for x in (seen.pattern[:, None], seen.opened))
    assert meant is not None and found is not None
    apart = (meant != found).any(dim=1).nonzero()
    if not len(apart):
        return ""
    number = int(apart[0])
    told = [listed([str(n) for n in x[number].nonzero()[:, 0].tolist()]) for x in (found, meant)]
    return f"block {number} looks at {told[0] or 'none'}, where {told[1] or 'none'} was meant"


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


def obeyed(seen: Sequence[LayerOnBatch]) -> Diagnosis | None:
    """The tensor that the maps obey on every batch: a mask made wrong, or no mask at all."""
    followed = _held(seen, lambda one, reading: one.is_open_as(reading.allowed[:, None]))
    if not followed:
        return None
    meant = _held(seen, lambda one, reading: _is_meant(one, reading.allowed))
    where, sense = followed[0]
    others = [name for name, _ in meant if name != where]
    if others:
        return diagnose("other_tensor", more=f": {_name(where)}, where {_name(others[0])} does")
    left_out = _held(
        seen, lambda one, reading: _is_meant(one, reading.allowed & _of(one, where, sense))
    )
    if left_out:
        return diagnose(
            "one_unused", more=f": {_name(where)} is used, {_name(left_out[0][0])} is not"
        )
    named = f"{where!r}: " if where else ""
    return diagnose("as_passed", more=f" ({named}{_first_apart(seen)})")


def _of(seen: LayerOnBatch, where: str, sense: str) -> Allowed:
    """This reading of the passed mask."""
    return next(r.allowed for r in seen.passed if (r.where, r.sense) == (where, sense))


def _held(
    seen: Sequence[LayerOnBatch], holds: Callable[[LayerOnBatch, MaskReading], bool]
) -> list[tuple[str, str]]:
    """Which passed masks, and in which sense, satisfy the predicate on every batch."""
    each = [{(r.where, r.sense) for r in one.passed if holds(one, r)} for one in seen]
    return [
        (r.where, r.sense) for r in seen[0].passed if all((r.where, r.sense) in s for s in each)
    ]


def _is_meant(seen: LayerOnBatch, pairs: Allowed) -> bool:
    return bool((pairs == seen.allowed)[seen.rows].all())


def _first_apart(seen: Sequence[LayerOnBatch]) -> str:
    """The first pair that is not as it is meant to be."""
    one = next(each for each in seen if not each.is_open_as(each.allowed[:, None]))
    sample, head, query, key = (int(n) for n in one.wrong.nonzero()[0])
    state = "open" if bool(one.opened[sample, head, query, key]) else "closed"
    return f"sample {sample}, query {query}, key {key} is {state} there"


def _name(where: str) -> str:
    return f"{where!r}" if where else "what is passed"


def described(seen: Sequence[LayerOnBatch]) -> Diagnosis | None:
    """Describe missing pairs, if nothing leaks; or the one token that sees more than it may."""
    each = [_missing(one) for one in seen]
    told = [one for one in each if one is not None]
    same = bool(told) and all(one == told[0] for one in told)
    return told[0] if same and told[0].code else None


def _missing(seen: LayerOnBatch) -> Diagnosis | None:
    """Describe one map's missing pairs; Diagnosis() if nothing can be said, None if it is right."""
    wrong = seen.wrong
    if not bool(wrong.any()):
        return None
    if bool((wrong & seen.opened).any()):
        return _one_row(seen)
    if not bool((seen.opened & seen.rows[:, None, :, None]).any()):
        return diagnose("all_closed")
    both, edges = _globals(seen.pattern), _edges(seen.valid)
    wrong, meant = wrong.any(dim=1), seen.allowed & seen.rows[:, :, None]
    directions = (
        (wrong.sum(dim=1), meant.sum(dim=1), "the others do not look at them"),
        (wrong.sum(dim=2), meant.sum(dim=2), "they do not look at the others"),
    )
    for missing, allowed, words in directions:  # "batch place": a key's pairs, then a query's
        at = missing > 0
        if bool(both.any()) and not bool((at & ~both).any()) and _most(missing, allowed, at):
            return diagnose("one_way", more=f": {words}")
        if not bool((at & ~edges).any()) and _all_but_itself(missing, allowed, at):
            return diagnose("edge", more=" (pairs are missing there, and nowhere else)")
    missing, allowed, _ = directions[0]
    if _all_but_itself(missing, allowed, missing > 0):
        places = (missing > 0).any(dim=0).nonzero()[:, 0].tolist()
        return diagnose("closed_keys", more=f": {listed([str(one) for one in places])}")
    return Diagnosis()


def _one_row(seen: LayerOnBatch) -> Diagnosis:
    """The first token, or the last one, that sees all of its sample, and padding."""
    wrong = seen.wrong.any(dim=1)
    rows = wrong.any(dim=2)
    first, last = seen.valid.cumsum(dim=1) == 1, seen.valid.flip(1).cumsum(dim=1).flip(1) == 1
    opened = seen.opened.all(dim=1).all(dim=2)
    for at, words in (
        (first & seen.valid, ": the first one"),
        (last & seen.valid, ": the last one"),
    ):
        if not bool((rows & ~at).any()) and bool(opened[rows].all()):
            return diagnose("one_row", more=words)
    return Diagnosis()


def _most(missing: Tensor, allowed: Tensor, at: Tensor) -> bool:
    return int(2 * missing[at].sum()) >= int(allowed[at].sum())


def _all_but_itself(missing: Tensor, allowed: Tensor, at: Tensor) -> bool:
    return bool((missing >= allowed - 1)[at].all())


def _globals(pattern: Allowed) -> Bool[Tensor, "batch token"]:
    """Tokens that see all and are seen by all, where others are not."""
    both = pattern.all(dim=1) & pattern.all(dim=2)
    return both & ~both.all(dim=1, keepdim=True)


def _edges(valid: Bool[Tensor, "batch token"]) -> Bool[Tensor, "batch token"]:
    """The outer quarter of the real tokens on either side, one at least."""
    place, count = valid.cumsum(dim=1) - 1, valid.sum(dim=1, keepdim=True)
    near = (count // 4).clamp_min(1)
    return valid & ((place < near) | (place >= count - near))
