"""Survey: thumbnails and statistics of every head, from one sweep over each layer's rows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from viz_encoder.trace import LayerTrace, Trace

SIZE = 64
BLOCK_BYTES = 4 * 2**20  # one head's rows at a time, few enough to stay in the processor's cache
SMALLEST = torch.finfo(torch.float32).tiny
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

    A thumbnail has at most `size` cells a side, the largest or the mean weight of a block each.
    Statistics are means over the real (not padding) queries, in the units of STATISTICS;
    `largest` is the largest single weight of any of them.
    """

    thumbnails_max: Float[np.ndarray, "head row col"]
    thumbnails_mean: Float[np.ndarray, "head row col"]
    statistics: dict[str, Float[np.ndarray, " head"]]


@dataclass(frozen=True, eq=False)
class _Plan:
    """What is the same for all heads and layers of a run."""

    n: int
    step: int  # tokens a side of a thumbnail cell
    cells: int
    rows: int  # queries in one block, a multiple of step
    valid: Float[Tensor, " query"]
    columns: Float[Tensor, "key column"]  # weights times this: cell sums, then the special share


def survey(trace: Trace, size: int = SIZE) -> tuple[LayerSurvey, ...]:
    """All layers, in order."""
    return tuple(survey_layers(trace, size))


def survey_layers(trace: Trace, size: int = SIZE) -> Iterator[LayerSurvey]:
    """Each layer as soon as it is swept; never more than a block of one head's rows is held."""
    plan = _plan(trace, size)
    for layer in trace.layers:
        heads = [_survey_head(layer, head, plan) for head in range(layer.n_heads)]
        largest, mean = (torch.stack([head[i] for head in heads]) for i in (0, 1))
        forbidden = _forbidden(layer, plan)
        if forbidden is not None:
            largest = largest.masked_fill(forbidden, torch.nan)
            mean = mean.masked_fill(forbidden, torch.nan)
        numbers = torch.stack([head[2] for head in heads], dim=1).cpu().numpy()
        statistics = dict(zip(STATISTICS, numbers, strict=True))
        yield LayerSurvey(largest.cpu().numpy(), mean.cpu().numpy(), statistics)


def _plan(trace: Trace, size: int) -> _Plan:
    n, device = trace.n_tokens, trace.layers[0].q.device
    step = -(-n // size)
    cells = -(-n // step)
    columns = torch.zeros(n, cells + 1, device=device)
    columns[torch.arange(n), torch.arange(n) // step] = 1
    columns[:, cells] = torch.tensor(trace.sample.special, dtype=torch.float32)
    rows = step * max(1, BLOCK_BYTES // (4 * n * step))
    return _Plan(n, step, cells, rows, trace.valid.to(device, torch.float32), columns)


def _survey_head(
    layer: LayerTrace, head: int, plan: _Plan
) -> tuple[Float[Tensor, "row col"], Float[Tensor, "row col"], Float[Tensor, " statistic"]]:
    tops, sums, statistics = [], [], []
    for start in range(0, plan.n, plan.rows):
        rows = slice(start, min(start + plan.rows, plan.n))
        weights = layer.weights(slice(head, head + 1), rows)[0].float()
        products = weights @ plan.columns
        tall = -len(weights) % plan.step
        tops.append(_shrink(F.pad(weights, (0, 0, 0, tall)), plan))
        cells = F.pad(products[:, : plan.cells], (0, 0, 0, tall))
        sums.append(cells.unflatten(0, (-1, plan.step)).sum(dim=1))
        statistics.append(
            _statistics(weights, rows.start, products[:, plan.cells], plan.valid[rows])
        )
    every = torch.stack(statistics)
    means = every[:, :-1].sum(dim=0) / plan.valid.sum()
    blocks = _block_sizes(plan, plan.columns.device)
    return torch.cat(tops), torch.cat(sums) / blocks, torch.cat([means, every[:, -1].amax()[None]])


def _shrink(weights: Float[Tensor, "query key"], plan: _Plan) -> Float[Tensor, "row col"]:
    """The largest of each cell: rows first, for those lie apart in memory and go fast."""
    fewer = weights.unflatten(0, (-1, plan.step)).amax(dim=1)
    wide = F.pad(fewer, (0, plan.cells * plan.step - plan.n))
    return wide.unflatten(1, (plan.cells, plan.step)).amax(dim=2)


def _block_sizes(plan: _Plan, device: torch.device) -> Float[Tensor, "row col"]:
    """Pairs in each cell; the last row and column of cells may hold fewer."""
    sides = torch.full((plan.cells,), float(plan.step), device=device)
    sides[-1] = plan.n - plan.step * (plan.cells - 1)
    return sides[:, None] * sides[None, :]


def _statistics(
    weights: Float[Tensor, "query key"],
    start: int,
    special: Float[Tensor, " query"],
    valid: Float[Tensor, " query"],
) -> Float[Tensor, " statistic"]:
    """Sums over this block's real queries, in the order of STATISTICS; the last is a maximum."""
    entropy = -torch.linalg.vecdot(weights, weights.clamp_min(SMALLEST).log())
    per_row = torch.stack(
        [
            entropy,
            _distance(weights, start),
            *(_band(weights, start + shift) for shift in (0, -1, 1)),
            weights[:, 0],
            special,
        ]
    )
    largest = (weights.amax(dim=1) * valid).amax()
    return torch.cat([per_row @ valid, largest[None]])


def _band(weights: Float[Tensor, "query key"], offset: int) -> Float[Tensor, " query"]:
    """Each row's weight on the key that stands `offset` further right than the row; 0 outside."""
    n_rows, n_keys = weights.shape
    keys = torch.arange(n_rows, device=weights.device) + offset
    inside = (keys >= 0) & (keys < n_keys)
    found = weights.gather(1, keys.clamp(0, n_keys - 1)[:, None])[:, 0]
    return torch.where(inside, found, 0.0)


def _distance(weights: Float[Tensor, "query key"], start: int) -> Float[Tensor, " query"]:
    """Σ weight · |query − key|; left and right of the block's own square it is a matrix product."""
    n_rows, n_keys = weights.shape
    stop = start + n_rows
    keys = torch.arange(n_keys, device=weights.device, dtype=weights.dtype)
    queries = keys[start:stop]
    total = (weights[:, start:stop] * (queries[:, None] - queries[None, :]).abs()).sum(dim=1)
    for part, sign in ((slice(0, start), 1.0), (slice(stop, n_keys), -1.0)):
        moments = weights[:, part] @ torch.stack([torch.ones_like(keys[part]), keys[part]], dim=1)
        total = total + sign * (queries * moments[:, 0] - moments[:, 1])
    return total


def _forbidden(layer: LayerTrace, plan: _Plan) -> Tensor | None:
    """Thumbnail cells in which no pair at all may attend."""
    if layer.mask is None:
        return None
    mask = layer.mask
    if mask.shape[2] > 1:
        padded = F.pad(mask, (0, plan.cells * plan.step - plan.n))
        mask = padded.unflatten(2, (-1, plan.step)).any(dim=3)
    if mask.shape[1] > 1:
        padded = F.pad(mask, (0, 0, 0, plan.cells * plan.step - plan.n))
        mask = padded.unflatten(1, (-1, plan.step)).any(dim=2)
    return ~mask.expand(layer.n_heads, plan.cells, plan.cells)
