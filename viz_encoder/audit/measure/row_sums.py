"""Row sums: the rows of a layer's maps that do not sum to 1, and whether a mask can be why."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

FACTOR = 20  # times the dtype's tolerance, because a row adds many weights


class RowSums(NamedTuple):
    """The row of a layer that is farthest from 1."""

    sample: int
    head: int
    query: int
    total: float
    open_hold: bool  # in these heads, rows to which no key is forbidden sum to 1; there are some


def broken_rows(
    sums: Float[Tensor, "batch head query"],
    judged: Bool[Tensor, "batch query"],
    allowed: Bool[Tensor, "batch query key"],
    tolerance: float,
) -> RowSums | None:
    """Rows that do not sum to 1, among those judged; None if there are none.

    Args:
        sums: of each row's weights, a sink's with them where it is known.
        judged: rows of real tokens that may attend to anything.
        allowed: what each query is meant to look at.
        tolerance: of one weight, by its dtype.
    """
    apart = (sums - 1).abs().nan_to_num(0.0).masked_fill(~judged[:, None], 0.0)
    broken = apart > FACTOR * tolerance
    if not bool(broken.any()):
        return None
    heads = broken.any(dim=2).any(dim=0)
    open_ = (judged & allowed.all(dim=-1))[:, None].expand_as(broken)[:, heads]
    hold = bool(open_.any()) and not bool((broken[:, heads] & open_).any())
    sample, head, query = (int(n) for n in torch.unravel_index(apart.argmax(), apart.shape))
    return RowSums(sample, head, query, float(sums[sample, head, query]), hold)
