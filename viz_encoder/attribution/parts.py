"""Parts of a score: what one run added to it, or took from it, with its tokens at columns."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.attribution.frozen_run import Flow
from viz_encoder.attribution.links import links_of

TINY = float(np.finfo(np.float32).tiny)


class ScorePart(NamedTuple):
    """One run's part in the score, added or subtracted; each token stands at a column, or none."""

    sign: float
    flow: Flow
    columns: Int[np.ndarray, " token"]  # −1: none, as for padding of one of two runs

    def links(
        self, layer: int, heads: slice, rows: slice, n_columns: int
    ) -> Float[Tensor, "head query column"]:
        """Its links between columns, signed; 0 where it has no token."""
        ran, gradients = self.flow.trace.layers[layer], self.flow.gradients[layer]
        if self.sign > 0 and np.array_equal(self.columns, np.arange(n_columns)):
            return links_of(ran, gradients, heads, rows).cpu()  # one run: each token is a column
        tokens = np.full(n_columns + 1, -1)  # of each column; what stands at none goes to the last
        tokens[self.columns] = np.arange(len(self.columns))
        keys = torch.from_numpy(tokens[:-1]).to(ran.q.device)
        queries = keys[rows]
        there = (queries >= 0)[:, None] & (keys >= 0)
        moved = links_of(ran, gradients, heads, queries)
        return self.sign * moved[..., keys].masked_fill(~there, 0.0).cpu()


def at_columns(
    parts: tuple[ScorePart, ...], name: str, n_columns: int
) -> Float[np.ndarray, "*row column"]:
    """A flow's field of all runs together, each token at its column."""
    fields = [getattr(part.flow, name) for part in parts]
    found = np.zeros((*fields[0].shape[:-1], n_columns))
    for part, shares in zip(parts, fields, strict=True):
        there = part.columns >= 0
        found[..., part.columns[there]] += part.sign * shares[..., there]
    return found


def unexplained(score: float, tokens: Float[np.ndarray, " token"], biases: float) -> float:
    """What the shares leave of the score, as a part of what is added up."""
    largest = max(abs(score), abs(tokens).sum(), TINY)
    return float(abs(tokens.sum() + biases - score) / largest)
