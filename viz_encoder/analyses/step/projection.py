"""Query, key and value of one head: rows of a weight matrix times one token's vector."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.analyses.step.attention_row import attention_step
from viz_encoder.analyses.step.norm_and_feed_forward import (
    layer_of,
    norm_step,
    numbers,
    require_ran,
    state_of,
)
from viz_encoder.arguments import Token, public
from viz_encoder.errors import SelectionError
from viz_encoder.model.block import Block
from viz_encoder.model.positions import rotate
from viz_encoder.result import ArrayResult
from viz_encoder.trace import Trace
from viz_encoder.trace.recomputed import angles_of, apart, require_as_ran, resting
from viz_encoder.trace.recorded_parts import RecordedParts, WeightSource, block_of
from viz_encoder.trace.same_model import require_model
from viz_encoder.trace.token_selection import query_of

TURNED = (
    "Rotary: q and k are rotated by an angle that grows with the token's position; both are "
    "shown before and after."
)

DIVIDED = (
    "With need_weights=True, torch divides q by √d_head before the product; q is shown before and "
    "after the division."
)

NO_QUERIES = "This run kept only its maps, without queries and keys."


@dataclass(frozen=True, eq=False, repr=False)
class ProjectionStep(ArrayResult, main="q"):
    """q_before = weight · x + bias, and q is it turned by the token's place, or q_before itself.

    x: what enters the projections at the query (normalized where the block is pre-norm), x_key at
    the key. weight and bias are the head's rows of W_q and b_q. q, k and v are those that ran;
    q_before and k_before, before they were turned, are None where nothing is turned. Where torch
    divided q by √d_head before the product, q_before is q before that division.
    """

    layer: int
    head: int
    query: int
    key: int
    x: Float[np.ndarray, " d_model"]
    x_key: Float[np.ndarray, " d_model"]
    weight: Float[np.ndarray, "d_head d_model"]
    bias: Float[np.ndarray, " d_head"] | None
    sums: Float[np.ndarray, " d_head"]  # weight · x + bias, computed again
    q: Float[np.ndarray, " d_head"]
    k: Float[np.ndarray, " d_head"]
    v: Float[np.ndarray, " d_head"]
    q_before: Float[np.ndarray, " d_head"] | None
    k_before: Float[np.ndarray, " d_head"] | None
    says: str
    apart: float  # distance of recomputed q, k, v from those that ran, relative to their maximum


@public
def projection_step(
    encoder: WeightSource, trace: Trace, layer: int, head: int, query: Token, key: Token
) -> ProjectionStep:
    """q of one token, and k and v of another, by the model's own projections.

    Args:
        encoder: the model that ran, or `trace.parts` of a recorded one.
        trace: the run.
        layer: counted from 0.
        head: counted from 0.
        query: the token whose q it is.
        key: the token whose k and v it is.

    Raises:
        SelectionError: no such layer, head or token, a trace of another model, or one without
            queries and keys.
        TraceError: a projection that is not the one that ran.
    """
    require_model(encoder, trace)
    layer_of(trace, layer, head)
    query, key = query_of(trace, query), query_of(trace, key, "key")
    for token in (query, key):
        require_ran(encoder, trace, token)
    row, block = attention_step(trace, layer, head, query), block_of(encoder, layer)
    attn, config = block.attn, encoder.config
    if row.q is None or row.k is None:
        raise SelectionError(NO_QUERIES)
    own = slice(head * config.d_head, (head + 1) * config.d_head)
    with resting(encoder):
        x, x_key = (_entering(encoder, block, trace, layer, at) for at in (query, key))
        sums, k_sums = attn.q(x)[own], attn.k(x_key)[own]
        q, k = (_turned(encoder, trace, layer, *one) for one in ((sums, query), (k_sums, key)))
        if divided := _divided_before(encoder, trace, layer):
            q = sums / config.d_head**0.5
        pairs = ((q, row.q), (k, row.k[key]), (attn.v(x_key)[own], row.v[key]))
        off = max(apart(again, torch.from_numpy(ran)) for again, ran in pairs)
    require_as_ran(off, f"The projection of head {layer}.{head}", trace.output.dtype)
    turned = q is not sums
    return ProjectionStep(
        layer=layer,
        head=head,
        query=query,
        key=key,
        x=numbers(x),
        x_key=numbers(x_key),
        weight=numbers(attn.q.weight[own]),
        bias=None if attn.q.bias is None else numbers(attn.q.bias[own]),
        sums=numbers(sums),
        q=row.q,
        k=row.k[key],
        v=row.v[key],
        q_before=numbers(sums) if turned else None,
        k_before=numbers(k_sums) if turned and not divided else None,
        says=DIVIDED if divided else TURNED if turned else "",
        apart=off,
    )


def _entering(encoder: WeightSource, block: Block, trace: Trace, layer: int, token: int) -> Tensor:
    """A token's input to the projections: its state, normalized if the block is pre-norm."""
    if isinstance(encoder, RecordedParts) and (entered := encoder.entered[layer]) is not None:
        return entered[token].to(encoder.device, encoder.dtype)
    x = state_of(encoder, trace, layer, token)
    return norm_step(block.attn_norm, x)[0] if block.pre_norm else x


def _divided_before(encoder: WeightSource, trace: Trace, layer: int) -> bool:
    """Whether nn.MultiheadAttention divided q itself, as it does when asked for its weights."""
    return isinstance(encoder, RecordedParts) and trace.layers[layer].scale == 1.0


def _turned(
    encoder: WeightSource, trace: Trace, layer: int, x: Float[Tensor, " d_head"], token: int
) -> Float[Tensor, " d_head"]:
    """x turned by its token's place; itself where the model turns nothing."""
    angles = None if isinstance(encoder, RecordedParts) else angles_of(encoder, trace, layer)
    return x if angles is None else rotate(x[None, None, None], angles[token][None])[0, 0, 0]
