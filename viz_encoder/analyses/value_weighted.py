"""Value-weighted maps: how long a vector each key really adds to a query, not only its weight."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.head_rows import row_blocks, rows_at_once
from viz_encoder.trace.same_model import require_made_by

BLOCK_BYTES = 16 * 2**20  # weights or transformed values; a few copies are held at once


@dataclass(frozen=True, eq=False, repr=False)
class ValueWeighted(ArrayResult, main="norms"):
    """norms[h, i, j] is ‖α · v · W_O‖ of head heads[h], from key j to query first_query + i.

    It is in the units of the layer's hidden states and at least 0; where the mask forbids a key, it
    is 0. value_norms[h, j] is ‖v · W_O‖, what the key would add at a weight of 1. Of one head that
    was asked for, both are without their first axis.
    """

    norms: Float[np.ndarray, "*head query key"]
    value_norms: Float[np.ndarray, "*head key"]
    layer: int
    heads: tuple[int, ...]
    first_query: int


@dataclass(frozen=True, eq=False, repr=False)
class ValueWeightedSum(ArrayResult, main="norms"):
    """norms[i, j] is ‖Σ over heads of α · v · W_O‖, from key j to query first_query + i."""

    norms: Float[np.ndarray, "query key"]
    layer: int
    first_query: int


@public
def value_weighted(
    encoder: LoadedEncoder,
    trace: Trace,
    layer: int,
    head: int | None = None,
    rows: slice | None = None,
) -> ValueWeighted:
    """Length of what each key adds to a query, head by head (Kobayashi et al., 2020).

    A large weight on a short value adds little (arXiv:2004.10102). As ‖α·v·W_O‖ = α·‖v·W_O‖, the
    length is taken once a key and the map's rows are scaled by it. v holds the bias of the value
    projection, as in the paper; the bias of W_O belongs to no key and is left out. So are the
    residual stream, the norms and the feed-forward network: this measures one attention layer's
    sum before any of them, not what the model made of it.

    A head that was removed from the run adds 0. In families with LayerScale (DINOv2, DINOv3, some
    models of timm), W_O is the one that ran, with the scale multiplied into it; the projection of
    the file alone gives other lengths.

    Args:
        encoder: the model that ran; its output projection is needed.
        trace: the run.
        layer: counted from 0.
        head: one head, counted from 0; all if not given.
        rows: which queries, as a forward slice such as slice(0, 8); all if not given.

    Raises:
        SelectionError: no such layer, head or rows, a trace of another model or of other weights,
            cross-attention.
    """
    ran, weight = _projection(encoder, trace, layer)
    chosen = trace.attention(layer, head, rows=slice(0, 0))  # says so if there is no such head
    heads = tuple(range(len(chosen))) if head is None else (int(head),)
    first, stop = _range(trace, layer, rows)
    lengths = torch.stack([_lengths(_values(ran, each), weight[each]) for each in heads])
    norms = np.empty((len(heads), stop - first, trace.n_tokens), dtype=np.float32)
    for at, which in enumerate(heads):
        for part, weights in _blocks(ran, slice(which, which + 1), first, stop):
            norms[at, part] = (weights[0] * lengths[at]).cpu().numpy()
    of_each = lengths.float().cpu().numpy()
    if head is not None:
        norms, of_each = norms[0], of_each[0]
    return ValueWeighted(norms, of_each, layer, heads, first)


@public
def value_weighted_sum(
    encoder: LoadedEncoder, trace: Trace, layer: int, rows: slice | None = None
) -> ValueWeightedSum:
    """Length of what each key adds to a query through all heads together.

    The heads' vectors may cancel, so this is not the sum of their lengths. It stays cheap: with
    G[j] the heads' inner products of key j's transformed values (head × head), the square of the
    length is αᵀ·G[j]·α, so d_model is gone before queries and keys meet.

    Args:
        encoder: the model that ran.
        trace: the run.
        layer: counted from 0.
        rows: which queries, as a forward slice; all if not given.

    Raises:
        SelectionError: as of `value_weighted`.
    """
    ran, weight = _projection(encoder, trace, layer)
    first, stop = _range(trace, layer, rows)
    inner = _inner_products(ran, weight)
    norms = np.empty((stop - first, trace.n_tokens), dtype=np.float32)
    for part, weights in _blocks(ran, slice(0, ran.n_heads), first, stop):
        alpha = weights.to(inner.dtype).permute(2, 1, 0)  # "key query head"
        squares = ((alpha @ inner) * alpha).sum(dim=-1).T
        norms[part] = squares.clamp_min(0).sqrt().float().cpu().numpy()
    return ValueWeightedSum(norms, layer, first)


def _projection(
    encoder: LoadedEncoder, trace: Trace, layer: int
) -> tuple[LayerTrace, Float[Tensor, "head d_model d_value"]]:
    """The layer as it ran and each head's part of W_O, if both are of one model."""
    trace.attention(layer, rows=slice(0, 0))  # says so if there is no such layer
    ran = trace.layers[layer]
    if ran.cross:
        raise SelectionError(
            "Value-weighted maps need a key for each query; the keys of this run are other tokens "
            "than its queries, as in cross-attention."
        )
    require_made_by(encoder, trace)
    weight = encoder.model.get_parameter(f"layers.{layer}.attn.o.weight").detach()
    wide = torch.promote_types(torch.promote_types(weight.dtype, ran.v.dtype), torch.float32)
    weight = weight.to(ran.v.device, wide)
    parts = weight.unflatten(1, (ran.n_heads, -1)).transpose(0, 1)
    there = parts.new_ones(ran.n_heads, 1, 1)
    there[[head for at, head in trace.removed if at == layer]] = 0.0
    return ran, parts * there


def _range(trace: Trace, layer: int, rows: slice | None) -> tuple[int, int]:
    """First query and the one after the last; a slice with steps would leave some out."""
    trace.attention(layer, 0, slice(0, 0) if rows is None else slice(rows.start, 0, rows.step))
    first, stop, step = (rows or slice(None)).indices(trace.n_tokens)
    if step != 1:
        raise SelectionError(f"rows is {rows!r}; give a forward slice without steps.")
    return first, max(first, stop)


def _values(ran: LayerTrace, head: int) -> Float[Tensor, "key d_value"]:
    """A head's values; in grouped-query attention several heads share them."""
    shared = ran.v[head * ran.v.shape[0] // ran.n_heads]
    return shared.to(torch.promote_types(shared.dtype, torch.float32))


def _lengths(
    values: Float[Tensor, "key d_value"], weight: Float[Tensor, "d_model d_value"]
) -> Float[Tensor, " key"]:
    step = rows_at_once(weight.shape[0], BLOCK_BYTES)
    return torch.cat([(part.to(weight) @ weight.T).norm(dim=-1) for part in values.split(step)])


def _inner_products(
    ran: LayerTrace, weight: Float[Tensor, "head d_model d_value"]
) -> Float[Tensor, "key head head"]:
    """G[j, h, g]: the inner product of what heads h and g would add of key j at a weight of 1.

    In float64 where the device has it: where heads cancel, float32 would keep but half its digits.
    """
    wide = torch.float32 if weight.device.type == "mps" else torch.float64
    every = torch.stack([_values(ran, head) for head in range(ran.n_heads)]).to(wide)
    step = rows_at_once(2 * weight.shape[0] * weight.shape[1], BLOCK_BYTES)
    parts = []
    for values in every.split(step, dim=1):
        added = (values @ weight.to(wide).mT).transpose(0, 1)  # "key head d_model"
        parts.append(added @ added.mT)
    return torch.cat(parts)


def _blocks(
    ran: LayerTrace, heads: slice, first: int, stop: int
) -> Iterator[tuple[slice, Float[Tensor, "head query key"]]]:
    """The maps of some heads, some rows at a time, and where these stand in the answer."""
    n_heads = len(range(*heads.indices(ran.n_heads)))
    for rows in row_blocks(stop, 2 * n_heads * ran.k.shape[1], BLOCK_BYTES, first):
        yield slice(rows.start - first, rows.stop - first), ran.weights(heads, rows)
