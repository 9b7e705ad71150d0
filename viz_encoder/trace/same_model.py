"""Checks that a model made a run: its blocks must reproduce the kept states from each other.

Nothing is hashed during capture. Instead, the model is compared with the run at a few tokens: each
block, the scores and values inside it, and the final norm. That reads the weights once, however
long the run; it also works for saved runs and detects in-place changes. Embedding tables are not
checked: no number between the first hidden state and the output depends on them. For prediction
heads, a run keeps a digest of a sample.
"""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import SelectionError
from viz_encoder.model.attention import merge_heads, split_heads
from viz_encoder.model.positions import by_distance, rotate
from viz_encoder.trace.capture import heads_digest
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.recomputed import allowed, angles_of, apart, head_outputs, resting
from viz_encoder.trace.recorded_parts import RecordedParts, WeightSource, block_of
from viz_encoder.trace.trace import Trace

N_ROWS = 4  # tokens recomputed; reading the weights dominates the cost
RowNumbers = Int[Tensor, " row"]


def require_made_by(encoder: LoadedEncoder, trace: Trace) -> None:
    """Raise unless the model, with its current weights, made the run.

    Raises:
        SelectionError: the run is from another model or other weights, or kept no hidden states.
    """
    _require_sizes(encoder, trace)
    most, name = allowed(trace.output.dtype), encoder.card.name
    with resting(encoder):
        for part, found in _each_part(encoder, trace, _rows(trace)):
            if math.isnan(found):
                whose = f"{name} now gives NaN" if _is_finite(trace) else "This run holds NaN"
                raise SelectionError(
                    f"{whose}, first in its {part}, so nothing can be read from it. Look for NaN "
                    "in the model's weights; trace.proof says in which head it begins."
                )
            if not found <= most:
                raise SelectionError(
                    f"{name} does not have the weights that made this run: its {part}, recomputed, "
                    f"differs from what ran by {found:.2g} of the largest value (rounding would "
                    f"explain {most:.2g}). Capture the input again with this encoder, or give the "
                    "model that ran."
                )


def _is_finite(trace: Trace) -> bool:
    """Includes queries and keys: kernels may output 0 where all scores are NaN."""
    ran = (x for layer in trace.layers for x in (layer.q, layer.k, layer.v))
    return all(bool(x.isfinite().all()) for x in (trace.output, *ran))


def require_heads_of(encoder: LoadedEncoder, trace: Trace) -> None:
    """Like `require_made_by`, and check the prediction heads, which no hidden state depends on.

    Raises:
        SelectionError: as above, or the heads differ. A recorded run has no heads, so any fit.
    """
    require_made_by(encoder, trace)
    if trace.origin.heads not in ("", heads_digest(encoder)):
        raise SelectionError(
            f"The prediction heads of {encoder.card.name} do not have the weights that they had "
            "when this run was made. Capture the input again with this encoder, or give the model "
            "that ran."
        )


def require_model(encoder: WeightSource, trace: Trace) -> None:
    """Raise if the run cannot be from this model; for callers that compare their own numbers with
    it.

    Raises:
        SelectionError: the trace is from another model, of cross-attention, or without hidden
            states.
    """
    if any(layer.cross for layer in trace.layers):
        raise SelectionError(
            "A block is followed through self-attention; the keys of this run are other tokens "
            "than its queries, as in cross-attention."
        )
    if not isinstance(encoder, RecordedParts):
        _require_sizes(encoder, trace)
    elif encoder is not trace.parts:
        raise SelectionError(
            "These parts are from another recording; give trace.parts of this trace."
        )


def block_apart(
    encoder: WeightSource,
    trace: Trace,
    layer: int,
    rows: RowNumbers,
    outs: Float[Tensor, "head row d_value"],
) -> float:
    """Distance of a block's output, recomputed from its heads' outputs, from what ran."""
    block = block_of(encoder, layer)
    x, truth = (trace.hidden(at)[rows].to(encoder.device) for at in (layer, layer + 1))
    x = x.to(encoder.dtype)[None]
    attended = block.attn.o(merge_heads(outs[None]).to(x))
    after = block.after_attention(x, attended)[0]
    return apart(after, truth, added_to=x[0] if block.pre_norm else None)


def _require_sizes(encoder: LoadedEncoder, trace: Trace) -> None:
    config, ran = encoder.config, trace.layers[0]
    found = trace.n_layers, ran.n_heads, ran.v.shape[-1], trace.output.shape[-1]
    expected = config.n_layers, config.n_heads, config.d_head, config.d_model
    if found != expected:
        raise SelectionError(
            f"This run has {_sizes(*found)}, but {encoder.card.name} has {_sizes(*expected)}; "
            "give the model that ran."
        )
    if len(trace.hidden_states) != config.n_layers + 1:
        raise SelectionError(
            f"This run kept {'no' if not trace.hidden_states else 'other'} hidden states, which "
            f"tell whether {encoder.card.name} made it; capture the input again with this encoder."
        )


def _sizes(n_layers: int, n_heads: int, d_head: int, d_model: int) -> str:
    return f"{n_layers} layers of {n_heads} heads, d_head {d_head}, d_model {d_model}"


def _rows(trace: Trace) -> RowNumbers:
    real = trace.valid.nonzero()[:, 0]
    return real[torch.linspace(0, len(real) - 1, min(N_ROWS, len(real))).long()]


def _each_part(
    encoder: LoadedEncoder, trace: Trace, rows: RowNumbers
) -> Iterator[tuple[str, float]]:
    """Each part of the model in words, and how far its recomputed output is from what ran."""
    config, model, ran = encoder.config, encoder.model, trace.layers[0]
    if ran.relative is not None and config.relative_buckets:
        again = by_distance(model.relative, trace.n_tokens, config.relative_distance)
        yield "table of relative positions", apart(again, ran.relative)
    for layer in range(trace.n_layers):
        yield f"projection in layer {layer}", _projections_apart(encoder, trace, layer, rows)
        gone, its = [head for at, head in trace.removed if at == layer], trace.layers[layer]
        if its.put is not None:
            outs = its.put[:, rows]
        else:
            outs = head_outputs(its, its.weights(slice(0, its.n_heads), rows), gone)
        yield f"block {layer}", block_apart(encoder, trace, layer, rows, outs)
    last = trace.hidden_states[-1][rows].to(encoder.device, encoder.dtype)
    yield "final norm", apart(model.final_norm(last), trace.output[rows])


def _projections_apart(encoder: LoadedEncoder, trace: Trace, layer: int, rows: RowNumbers) -> float:
    """How far some tokens' values, and their scores with each other, are from what ran."""
    block, ran = block_of(encoder, layer), trace.layers[layer]
    x = trace.hidden(layer)[rows].to(encoder.device, encoder.dtype)[None]
    x = block.attn_norm(x) if block.pre_norm else x
    attn = block.attn
    q, k, v = (split_heads(part(x), attn.n_heads)[0] for part in (attn.q, attn.k, attn.v))
    off = apart(v, _of_each_head(ran.v[:, rows], ran))
    if ran.maps is not None:
        return off
    truth = _scores(ran.q[:, rows], _of_each_head(ran.k[:, rows], ran), ran.scale)
    ways = [_scores(q, k, attn.scale)]  # also unrotated: a run may lack its positions
    if (turns := angles_of(encoder, trace, layer)) is not None:
        turns = turns[rows.to(turns.device)]
        ways.append(_scores(rotate(q[None], turns)[0], rotate(k[None], turns)[0], attn.scale))
    scores = min(apart(way, truth) for way in ways)
    return math.nan if math.isnan(off + scores) else max(off, scores)  # max() may drop NaN


def _of_each_head(shared: Float[Tensor, "kv_head key d"], ran: LayerTrace) -> Tensor:
    return shared.repeat_interleave(ran.n_heads // len(shared), dim=0)


def _scores(q: Tensor, k: Tensor, scale: float) -> Float[Tensor, "head row row"]:
    """q · k · scale, independent of how a run rotates or scales its q and k."""
    return q.cpu().double() @ k.cpu().double().mT * scale
