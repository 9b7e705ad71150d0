"""Survey: thumbnails and statistics of every head, from one sweep over each layer's rows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.trace import Trace

SIZE = 64
STATISTICS = {  # name: unit
    "entropy": "entropy (nats)",
    "distance": "mean distance (tokens)",
    "diagonal": "share on the query itself",
    "previous": "share on the previous token",
    "next": "share on the next token",
    "first": "share on the first token",
    "special": "share on special tokens",
    "largest": "largest single weight",
}


@dataclass(frozen=True, eq=False)
class LayerSurvey:
    """One layer's heads; weights are shares of a query's total, NaN where all pairs are masked.

    Statistics are means over the real (not padding) queries: entropy in nats, distance in tokens,
    and the shares that go to the diagonal, the previous and next token, the first and the special
    tokens; `largest` is the largest single weight.
    """

    thumbnails_max: Float[np.ndarray, "head row col"]
    thumbnails_mean: Float[np.ndarray, "head row col"]
    statistics: dict[str, Float[np.ndarray, " head"]]


def survey(trace: Trace, size: int = SIZE) -> tuple[LayerSurvey, ...]:
    """All layers, in order."""
    return tuple(survey_layers(trace, size))


def survey_layers(trace: Trace, size: int = SIZE) -> Iterator[LayerSurvey]:
    """Each layer as soon as it is swept; never more than a block of rows is held."""
    for layer in range(trace.n_layers):
        yield _survey_layer(trace, layer, size)


def _survey_layer(trace: Trace, layer: int, size: int) -> LayerSurvey:
    n, n_heads = trace.n_tokens, trace.layers[layer].q.shape[0]
    step = -(-n // size)
    cells = -(-n // step)
    device = trace.layers[layer].q.device
    largest = torch.full((n_heads, cells, cells), -1.0, device=device)
    total = torch.zeros(n_heads, cells, cells, device=device)
    sums: dict[str, Tensor] = {}
    special = torch.tensor(trace.sample.special, device=device, dtype=torch.float32)
    position = torch.arange(n, device=device, dtype=torch.float32)
    valid = trace.valid.to(device)
    for rows, weights in trace.blocks(layer):
        tall = torch.arange(rows.start, rows.stop, device=device) // step
        wide = torch.nn.functional.pad(weights, (0, cells * step - n)).unflatten(2, (cells, step))
        index = tall[None, :, None].expand(n_heads, -1, cells)
        largest.scatter_reduce_(1, index, wide.amax(dim=3), "amax")
        total.scatter_add_(1, index, wide.sum(dim=3))
        for name, values in _row_statistics(weights, rows, special, position).items():
            kept = torch.where(valid[rows], values, 0.0)
            part = kept.amax(dim=1) if name == "largest" else kept.sum(dim=1)
            known = sums.get(name)
            if known is None:
                sums[name] = part
            else:
                sums[name] = torch.maximum(known, part) if name == "largest" else known + part
    count = int(valid.sum())
    statistics = {k: (v if k == "largest" else v / count).cpu().numpy() for k, v in sums.items()}
    forbidden = _forbidden(trace, layer, step, cells, n_heads)
    mean = total / step**2
    if forbidden is not None:
        largest, mean = (
            largest.masked_fill(forbidden, torch.nan),
            mean.masked_fill(forbidden, torch.nan),
        )
    return LayerSurvey(largest.cpu().numpy(), mean.cpu().numpy(), statistics)


def _row_statistics(
    weights: Float[Tensor, "head query key"],
    rows: slice,
    special: Float[Tensor, " key"],
    position: Float[Tensor, " key"],
) -> dict[str, Float[Tensor, "head query"]]:
    queries = position[rows]
    n = weights.shape[2]
    at = torch.arange(rows.start, rows.stop, device=weights.device)
    shifted = {
        name: weights.gather(
            2, (at + by).clamp(0, n - 1)[None, :, None].expand(len(weights), -1, 1)
        )[..., 0]
        * ((at + by >= 0) & (at + by < n))
        for name, by in (("diagonal", 0), ("previous", -1), ("next", 1))
    }
    return {
        "entropy": torch.special.entr(weights).sum(dim=2),
        "distance": (weights * (queries[:, None] - position[None, :]).abs()).sum(dim=2),
        **shifted,
        "first": weights[:, :, 0],
        "special": weights @ special,
        "largest": weights.amax(dim=2),
    }


def _forbidden(trace: Trace, layer: int, step: int, cells: int, n_heads: int) -> Tensor | None:
    """Thumbnail cells in which no pair at all may attend."""
    mask = trace.layers[layer].mask
    if mask is None:
        return None
    n = trace.n_tokens
    short = torch.nn.functional.pad(mask, (0, cells * step - n)) if mask.shape[2] > 1 else mask
    wide = short.unflatten(2, (-1, step)).any(dim=3) if mask.shape[2] > 1 else short
    if mask.shape[1] > 1:
        tall = torch.nn.functional.pad(wide, (0, 0, 0, cells * step - n))
        wide = tall.unflatten(1, (-1, step)).any(dim=2)
    return ~wide.expand(n_heads, cells, cells)
