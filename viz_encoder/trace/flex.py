"""Reads flex_attention calls: the mask_mod as a mask, the score_mod as a bias.

A score_mod may be any function of a score. If it adds a constant to each pair, as ALiBi or relative
positions do, that constant is kept; otherwise (a soft cap, say) the change it made to the actual
scores. Both are evaluated in blocks of rows and kept as T × T numbers per head, shared across
heads, samples and layers where they are equal.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.model.mask_mods import asked, from_mask_mod, gathered, over_pairs
from viz_encoder.trace.attention_call import AttentionCall, from_tensors
from viz_encoder.trace.mask_parsing import GivenMasks, SplitMask

NAMES = (
    *("query", "key", "value", "score_mod", "block_mask", "scale", "kernel_options"),
    *("score_mod_other_buffers", "mask_mod_other_buffers"),
)
ROWS_AT_ONCE = 2**22  # over all samples and heads
ScoreBlock = Float[Tensor, "batch head query key"]


class _DependsOnScoreError(Exception):
    """A score_mod's addend depends on the score."""


def from_flex(
    args: tuple[Any, ...], kwargs: dict[str, Any], mixed: Tensor, masks: GivenMasks
) -> AttentionCall:
    """Build the call from the arguments and output of flex_attention's operator."""
    given = {**dict(zip(NAMES, args, strict=False)), **kwargs}
    q, k, v = (given[name].detach() for name in NAMES[:3])
    k, v = (x.expand(len(q), *x.shape[1:]) for x in (k, v))
    sizes = (*q.shape[:3], k.shape[2])
    more = given.get("mask_mod_other_buffers") or ()
    mask = from_mask_mod(given["block_mask"][-1], sizes, q.device, more)
    added = masks.made(_added(given, q, k))
    mask = mask if added.mask is None else mask & added.mask
    split = SplitMask(masks.made(mask).mask, added.bias)
    call = from_tensors("flex_attention", q, k, v, mixed, split, float(given["scale"]))
    return call._replace(kernel="flex_attention, not compiled")


def _added(given: dict[str, Any], q: Tensor, k: Tensor) -> ScoreBlock | None:
    """What the score_mod adds to each score; None if nothing."""
    more = tuple(given.get("score_mod_other_buffers") or ())
    mod = over_pairs(given["score_mod"], scored=True, n_more=len(more))
    b, h, keys = (torch.arange(size, device=q.device) for size in (*q.shape[:2], k.shape[2]))

    def changed(scores: Tensor, rows: Tensor) -> Tensor:
        return asked(lambda: mod(scores, b, h, rows, keys, *more))

    def gained(of: Callable[[ScoreBlock, Tensor], ScoreBlock]) -> ScoreBlock:
        blocks = _scores(q, k, given["scale"])
        return gathered(((rows, of(scores, rows)) for rows, scores in blocks), q.shape[2])

    try:
        bias = gained(lambda scores, rows: _constant(scores, rows, changed))
    except _DependsOnScoreError:
        bias = gained(lambda scores, rows: changed(scores, rows) - scores)
    return bias if bool((bias != 0).any()) else None


def _constant(
    scores: ScoreBlock, rows: Tensor, changed: Callable[[Tensor, Tensor], Tensor]
) -> ScoreBlock:
    """The addend, if it is the same for any score."""
    now, added = changed(scores, rows), changed(torch.zeros_like(scores), rows)
    size = torch.maximum(scores.abs(), added.abs()).nan_to_num(0.0, 0.0, 0.0).clamp_min(1.0)
    banned = (now == -torch.inf) & (added == -torch.inf)
    same = (now - scores - added).abs() <= 4 * torch.finfo(scores.dtype).eps * size
    if not bool((same | banned).all()):
        raise _DependsOnScoreError
    return added


def _scores(q: Tensor, k: Tensor, scale: float) -> Iterator[tuple[Tensor, ScoreBlock]]:
    """Scores in blocks of rows, as in the kernel: float32 or wider, scaled after the product."""
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    keys = k.to(wide).repeat_interleave(q.shape[1] // k.shape[1], dim=1).mT
    step = max(1, ROWS_AT_ONCE // max(1, q.shape[0] * q.shape[1] * k.shape[2]))
    for rows in torch.arange(q.shape[2], device=q.device).split(step):
        yield rows, q[:, :, rows].to(wide) @ keys * scale
