"""Each head's addend to one token: its output through its part of W_O."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.analyses.step.norm_and_feed_forward import (
    layer_of,
    numbers,
    numbers_or_none,
    require_ran,
)
from viz_encoder.arguments import Token, public, read_index
from viz_encoder.result import ArrayResult
from viz_encoder.trace import Trace
from viz_encoder.trace.recomputed import head_outputs, require_as_ran, resting
from viz_encoder.trace.recorded_parts import RecordedParts, WeightSource, block_of
from viz_encoder.trace.same_model import block_apart, require_model
from viz_encoder.trace.token_selection import query_of


@dataclass(frozen=True, eq=False, repr=False)
class HeadsStep(ArrayResult, main="parts"):
    """sum = Σ_h parts[h] + bias, with parts[h] = W_O[:, head h] · outs[h].

    outs[h] is Σ_j α[j] · v[j] of head h; side by side they are what W_O takes (concat). lengths[h]
    is ‖parts[h]‖. Where a family has LayerScale, it is multiplied into W_O, as it ran. The parts
    of a removed head are 0.
    """

    layer: int
    query: int
    outs: Float[np.ndarray, "head d_head"]
    parts: Float[np.ndarray, "head d_model"]
    lengths: Float[np.ndarray, " head"]
    bias: Float[np.ndarray, " d_model"] | None
    sum: Float[np.ndarray, " d_model"]
    removed: tuple[int, ...]


@public
def heads_step(
    encoder: WeightSource,
    trace: Trace,
    layer: int,
    query: Token,
    removed: Iterable[tuple[int, int]] = (),
) -> HeadsStep:
    """Each head's part of what the attention layer adds to a token, by the model's own W_O.

    Args:
        encoder: the model that ran, or `trace.parts` of a recorded one.
        trace: the run.
        layer: counted from 0.
        query: the token that it is added to.
        removed: heads that were removed from this run, as (layer, head), besides those that the
            run itself names.

    Raises:
        SelectionError: no such layer or token, a trace of another model, or a recorded one
            whose weights were not read or that ran with dropout.
        TraceError: a block that does not come out as it ran.
    """
    found = heads_of(encoder, trace, layer, query, removed)[1]
    if not isinstance(encoder, RecordedParts) or not encoder.unread:
        ran, rows = trace.layers[layer], torch.tensor([found.query])
        with resting(encoder):
            outs = head_outputs(ran, ran.weights(slice(0, ran.n_heads), rows), found.removed)
            off = block_apart(encoder, trace, layer, rows, outs)
        require_as_ran(off, f"Block {layer} of token {query}", trace.output.dtype)
    return found


def heads_of(
    encoder: WeightSource,
    trace: Trace,
    layer: int,
    query: Token,
    removed: Iterable[tuple[int, int]],
) -> tuple[Float[Tensor, " d_model"], HeadsStep]:
    """The sum as a tensor of the model's own type, and all its numbers."""
    require_model(encoder, trace)
    ran, query = layer_of(trace, layer), query_of(trace, query)
    require_ran(encoder, trace, query)
    if isinstance(encoder, RecordedParts):
        encoder.require_no_dropout(layer)
    every = (*trace.removed, *removed)
    places = {_removed(trace, *place) for place in every}
    gone = tuple(sorted(head for at, head in places if at == layer))
    attn = block_of(encoder, layer).attn
    with resting(encoder):
        row = ran.weights(slice(0, ran.n_heads), slice(query, query + 1))
        outs = head_outputs(ran, row, gone)[:, 0].to(encoder.device, encoder.dtype)
        total = attn.out(outs[None, :, None])[0, 0]
        weight = attn.o.weight.unflatten(1, (ran.n_heads, -1)).transpose(0, 1)
        parts = (weight @ outs[:, :, None])[:, :, 0]
        bias = numbers_or_none(attn.o.bias)
        lengths = numbers(parts.norm(dim=-1))
    found = (numbers(outs), numbers(parts), lengths, bias, numbers(total), gone)
    return total, HeadsStep(layer, query, *found)


def _removed(trace: Trace, layer: int, head: int) -> tuple[int, int]:
    layer = read_index("removed layer", layer, trace.n_layers)
    return layer, read_index("removed head", head, trace.layers[layer].n_heads)
