"""Pair: which heads link one token to another; the weight of one cell in every head."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import Most, OneOf, Token, public
from viz_encoder.result import ArrayResult, largest
from viz_encoder.trace import Trace
from viz_encoder.trace.head_rows import row_blocks
from viz_encoder.trace.map_view import MapView
from viz_encoder.trace.row_walk import head_walks
from viz_encoder.trace.shown_map import shown_keys, shown_row
from viz_encoder.trace.token_selection import kept_tokens, key_of, place_of, query_of

SMALLEST = torch.finfo(torch.float32).tiny
BY = ("weight", "ratio")
By = Annotated[str, OneOf(BY)]


@dataclass(frozen=True, eq=False, repr=False)
class Pair(
    ArrayResult,
    main="weights",
    table={"weight": "weights", "mean": "means", "ratio": "ratios"},
):
    """One cell in every head. np.asarray(pair) gives the weights, columns() one line per head.

    weights: the query's weight on the key, a share of the query's total; NaN where the mask
        forbids the pair, and where a layer has no such head or key.
    means: the mean weight that the key gets over all real queries; a query that may not attend to
        it counts as 0. Where special tokens are hidden, over the queries that are shown; where
        sub-words are merged, over words.
    ratios: weights / means. A head that gives the key as much from everywhere has 1, however large
        its weight is.
    """

    weights: Float[np.ndarray, "layer head"]
    means: Float[np.ndarray, "layer head"]
    query: int
    key: int

    @property
    def ratios(self) -> Float[np.ndarray, "layer head"]:
        """The weight, as a multiple of what the key gets on average; NaN where either is not."""
        known = np.where(self.means > 0, self.means, np.nan)
        return self.weights / known

    @public
    def ranked(self, n: Most = 10, by: By = "weight") -> tuple[tuple[int, int], ...]:
        """The n heads with the largest "weight" or "ratio", as (layer, head), the largest first.

        Heads that have no such number are left out. A high ratio of a tiny weight says little:
        read both.

        Raises:
            SelectionError: another measure.
        """
        values = self.weights if by == "weight" else self.ratios
        return largest(values, n)


@public
def pair(
    trace: Trace,
    query: Token,
    key: Token,
    *,
    means: Float[np.ndarray, "layer head"] | None = None,
    hide_special: bool = False,
    renormalize: bool = False,
    words: bool = False,
) -> Pair:
    """Find the heads that link a query to a key: that cell in every head, and its usual weight.

    The weight alone misleads, for some heads give a key much from everywhere; so its ratio to the
    mean over all queries stands beside it. The means walk through all maps, block by block, and
    hold none.

    Args:
        trace: the run.
        query: the token that looks, counted from 0.
        key: the token that is looked at; in cross-attention, among the other sequence.
        means: the means of this key, where they are known; computed if not given.
        hide_special: whether special tokens such as [CLS] are left out, as queries of the means
            and as keys of rows that are renormalized.
        renormalize: whether rows are divided by their sum over the kept keys.
        words: whether the two tokens stand for their words: the mean over a word's queries of the
            sum over its keys.

    Raises:
        SelectionError: no such token, or a special token while these are hidden.
    """
    most = max(range(trace.n_layers), key=lambda layer: trace.layers[layer].k.shape[1])
    query, key = query_of(trace, query), key_of(trace, key, most)
    view = MapView(hide_special=hide_special, renormalize=renormalize, words=words)
    if means is None:
        means = _stacked([_means(trace, layer, key, view) for layer in range(trace.n_layers)])
    cells = [_cell(trace, layer, query, key, view) for layer in range(trace.n_layers)]
    return Pair(_stacked(cells), means, query, key)


def _cell(trace: Trace, layer: int, query: int, key: int, view: MapView) -> Float[Tensor, " head"]:
    """One cell in each head; NaN where the mask forbids it or the layer has no such key."""
    ran = trace.layers[layer]
    if key >= ran.k.shape[1]:
        return torch.full((ran.n_heads,), torch.nan)
    keys = shown_keys(trace, layer, view)
    place = key if ran.cross else place_of(keys, key, trace, "key")
    return torch.from_numpy(shown_row(trace, layer, query, view)[:, place])


def _means(trace: Trace, number: int, key: int, view: MapView) -> Float[Tensor, " head"]:
    """The mean over the shown real queries of each head's weight on one key."""
    layer = trace.layers[number]
    n_keys, device = layer.k.shape[1], layer.q.device
    if key >= n_keys:
        return torch.full((layer.n_heads,), torch.nan)
    keys = shown_keys(trace, number, view)
    unit = list(keys[key if layer.cross else place_of(keys, key, trace, "key")])
    kept = kept_tokens(trace, layer, hide_special=view.hide_special, words=view.words)
    shares = kept.shares_of_mean()
    counts = (kept.real if shares is None else shares)[0]
    sums = torch.zeros(layer.n_heads, device=device)
    for walk in head_walks(layer):
        for rows in row_blocks(len(counts), n_keys, device):
            weights = walk.weights(rows if kept.queries is None else kept.queries[rows]).float()
            on_key = weights[:, :, unit].sum(dim=2)
            if view.renormalize:
                shown = weights if kept.keys is None else weights[:, :, kept.keys]
                on_key = on_key / shown.sum(dim=2).clamp_min(SMALLEST)
            sums[walk.heads] += on_key @ counts[rows]
    return (sums / counts.sum()).cpu()


def _stacked(layers: list[Tensor]) -> Float[np.ndarray, "layer head"]:
    """Stack all layers; NaN where a layer has fewer heads than another."""
    stacked = np.full((len(layers), max(map(len, layers))), np.nan, dtype=np.float32)
    for number, heads in enumerate(layers):
        stacked[number, : len(heads)] = heads.numpy()
    return stacked
