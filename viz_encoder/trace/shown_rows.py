"""Shown rows: one query's weights in every head of a layer, over the shown tokens."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.trace.map_view import AS_IT_RAN, MapView
from viz_encoder.trace.token_selection import place_of, shown_tokens
from viz_encoder.trace.trace import Trace


def shown_row(
    trace: Trace, layer: int, query: int, view: MapView = AS_IT_RAN
) -> Float[np.ndarray, "head key"]:
    """One column per entry of `shown_keys`; NaN where the mask forbids the key altogether.

    Args:
        trace: the run.
        layer: counted from 0.
        query: the query token; with words, any token of the word.
        view: what is hidden, renormalized and merged; its layer and head are ignored.

    Raises:
        SelectionError: there is no such token, or it is a hidden special token.
    """
    return row_of(trace, layer, shown_unit(trace, query, view), view)


def row_of(
    trace: Trace, layer: int, unit: Sequence[int], view: MapView = AS_IT_RAN
) -> Float[np.ndarray, "head key"]:
    """The same for these queries, merged, whether they are shown or not.

    Rows are renormalized before subwords are merged: the mean over a word's queries of the sum
    over a word's keys (Clark et al., 2019, arXiv:1906.04341).
    """
    ran = trace.layers[layer]
    queries = torch.tensor(unit, device=ran.q.device)
    weights = ran.weights(slice(None), queries).float()
    if ran.mask is not None:
        mask = ran.mask[:, queries] if ran.mask.shape[1] > 1 else ran.mask
        weights = weights.masked_fill(~mask, torch.nan)
    found: Float[Tensor, "head query key"] = weights.cpu()
    keys = shown_keys(trace, layer, view)
    kept = torch.tensor([at for key in keys for at in key], dtype=torch.int64)
    found = found[:, :, kept]
    if view.renormalize:
        sums = found.nansum(dim=2, keepdim=True)
        found = found / sums.masked_fill(sums == 0, 1.0)
    if not view.words:
        return np.asarray(found[:, 0].numpy())
    sizes = torch.tensor([len(key) for key in keys])
    owners = torch.arange(len(keys)).repeat_interleave(sizes)
    merged, seen = torch.zeros(len(found), len(keys)), torch.zeros(len(found), len(keys))
    merged.index_add_(1, owners, found.nan_to_num(0.0).mean(dim=1))
    seen.index_add_(1, owners, (~found.isnan()).float().sum(dim=1))
    return np.asarray(merged.masked_fill(seen == 0, torch.nan).numpy())


def shown_keys(trace: Trace, layer: int, view: MapView) -> list[tuple[int, ...]]:
    """Tokens of each column: all of another sequence, otherwise the shown ones."""
    ran = trace.layers[layer]
    if ran.cross:
        return [(at,) for at in range(ran.k.shape[1])]
    return shown_tokens(trace, hide_special=view.hide_special, words=view.words)


def shown_unit(trace: Trace, query: int, view: MapView) -> list[int]:
    """Tokens merged into a query's row; without words, only the query itself.

    Raises:
        SelectionError: there is no such token, or it is a hidden special token.
    """
    units = shown_tokens(trace, hide_special=view.hide_special, words=view.words)
    return list(units[place_of(units, query, trace, "query")])
