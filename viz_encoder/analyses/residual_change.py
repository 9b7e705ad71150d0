"""Residual change: what attention and the feed-forward network add to each token in a block."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.arguments import public
from viz_encoder.model.attention import merge_heads
from viz_encoder.result import Columns, TableResult, long_columns
from viz_encoder.shown import OneLine
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.recomputed import apart, head_outputs, require_as_ran, resting
from viz_encoder.trace.recorded_parts import RecordedParts, WeightSource, block_of
from viz_encoder.trace.same_model import require_model
from viz_encoder.trace.token_selection import n_states, real_token_numbers, state_of


@dataclass(frozen=True, eq=False, repr=False)
class HiddenChange(TableResult):
    """Lengths of the hidden states, and how each block turned and moved them.

    norms[l, i] is ‖hidden(l)‖ of token tokens[i], in the model's own units; 0 = embeddings.
    cosines[l, i] is the cosine of its state before and after block l: 1 = not turned at all.
    changes[l, i] is ‖after − before‖ / ‖before‖. NaN where a state has length 0.
    """

    norms: Float[np.ndarray, "state token"]
    cosines: Float[np.ndarray, "layer token"]
    changes: Float[np.ndarray, "layer token"]
    tokens: Int[np.ndarray, " token"]

    def columns(self) -> Columns:
        """One line per state and token; NaN for changes before the first block."""
        none = np.full((1, len(self.tokens)), np.nan)
        cosines, changes = (np.concatenate([none, part]) for part in (self.cosines, self.changes))
        axes = {"blocks": range(len(self.norms)), "token": self.tokens}
        return long_columns(axes, {"norm": self.norms, "cosine": cosines, "change": changes})


@dataclass(frozen=True, eq=False, repr=False)
class ResidualChange(
    TableResult,
    table={
        name: name
        for name in ("attention", "feed_forward", "attention_shares", "feed_forward_shares")
    },
):
    """Lengths of both parts that each block adds, alone and divided by what they are added to.

    attention[l, i] is the length of what the attention layer of block l adds to token tokens[i]
    (output projection, its bias and LayerScale included), feed_forward[l, i] that of the
    feed-forward network, in units of the hidden states. Shares are these lengths divided by the
    length of the residual they are added to, and may be above 1.

    Pre-norm: the parts are added to the stream itself, x + attention, then + feed_forward, and
    both sums are hidden states. Post-norm: each sum is normalized at once, which changes lengths
    and directions; what is measured is the sum *before* the norm, beside the state that entered it
    (for the feed-forward network, the attention norm's output).
    """

    attention: Float[np.ndarray, "layer token"]
    feed_forward: Float[np.ndarray, "layer token"]
    attention_shares: Float[np.ndarray, "layer token"]
    feed_forward_shares: Float[np.ndarray, "layer token"]
    tokens: Int[np.ndarray, " token"]
    pre_norm: bool
    apart: float  # largest difference of the blocks' outputs from those that ran, as a share


@dataclass(frozen=True, eq=False, repr=False)
class BlockParts(OneLine):
    """One block split into x, attention's addend, their sum, and the feed-forward addend."""

    x: Float[Tensor, "token d_model"]
    attention: Float[Tensor, "token d_model"]
    middle: Float[Tensor, "token d_model"]  # pre-norm: x + attention; post-norm: its norm
    feed_forward: Float[Tensor, "token d_model"]
    after: Float[Tensor, "token d_model"]  # the block's output, computed again
    apart: float  # largest difference of `after` from what ran, as a share, in real rows


@public
def hidden_change(trace: Trace, *, hide_special: bool = False) -> HiddenChange:
    """Norms of all hidden states and the change from block to block; no model is needed.

    Args:
        trace: the run.
        hide_special: whether special tokens such as [CLS] are left out.

    Raises:
        SelectionError: no token left, or the run kept no hidden states.
    """
    tokens = real_token_numbers(trace, hide_special=hide_special)
    before = state_of(trace, 0, tokens)
    norms, cosines, changes = [np.linalg.norm(before, axis=1)], [], []
    for layer in range(1, n_states(trace)):
        after = state_of(trace, layer, tokens)
        norms.append(np.linalg.norm(after, axis=1))
        inner = (before * after).sum(axis=1)
        cosines.append(np.clip(_by(inner, norms[-2] * norms[-1]), -1.0, 1.0))
        changes.append(_by(np.linalg.norm(after - before, axis=1), norms[-2]))
        before = after
    return HiddenChange(np.stack(norms), np.stack(cosines), np.stack(changes), tokens)


@public
def residual_change(
    encoder: WeightSource, trace: Trace, *, hide_special: bool = False
) -> ResidualChange:
    """Length of the attention part and of the feed-forward part of every block, token by token.

    Each block is computed again from the hidden states that ran: attention from the run's own
    weights and values, so that every mask and position counts as it ran, the rest by the model's
    own modules. The sum must be the hidden state that ran, or nothing is given. A long part need
    not be an important one: parts may cancel, and norms and later layers rescale them.

    Args:
        encoder: the model that ran, or `trace.parts` of a recorded one.
        trace: the run.
        hide_special: whether special tokens such as [CLS] are left out.

    Raises:
        SelectionError: a trace of another model, of cross-attention, or without hidden states;
            a recorded one whose blocks were not read whole or ran with dropout.
        TraceError: a block that does not come out as it ran.
    """
    tokens = real_token_numbers(trace, hide_special=hide_special)
    picked = torch.from_numpy(tokens)
    lengths: list[list[np.ndarray]] = []
    off = 0.0
    for layer in range(trace.n_layers):
        parts = block_parts(encoder, trace, layer)
        four = (parts.attention, parts.feed_forward, parts.x, parts.middle)
        lengths.append([each.cpu()[picked].double().norm(dim=-1).numpy() for each in four])
        off = max(off, parts.apart)
    attention, feed_forward, x, middle = (np.stack(each) for each in zip(*lengths, strict=True))
    return ResidualChange(
        attention=attention,
        feed_forward=feed_forward,
        attention_shares=_by(attention, x),
        feed_forward_shares=_by(feed_forward, middle),
        tokens=tokens,
        pre_norm=block_of(encoder, 0).pre_norm,
        apart=off,
    )


@public
def block_parts(encoder: WeightSource, trace: Trace, layer: int) -> BlockParts:
    """The vectors of one block, of all tokens, padding included; faults as of `residual_change`.

    Pre-norm: after = x + attention + feed_forward. Post-norm: after = norm(norm(x + attention) +
    feed_forward).
    """
    ran = _layer(encoder, trace, layer)
    gone = {head for at, head in trace.removed if at == layer}
    maps = ran.blocks(slice(0, ran.n_heads))
    mixed = merge_heads(torch.cat([head_outputs(ran, each, gone) for _, each in maps], dim=1)[None])
    block, dtype = block_of(encoder, layer), encoder.dtype
    x, truth = (trace.hidden(at).to(encoder.device, dtype) for at in (layer, layer + 1))
    with resting(encoder):
        attention = block.attn.o(mixed.to(encoder.device, dtype))[0]
        total = x + attention
        middle = total if block.pre_norm else block.attn_norm(total)
        into = block.ff_norm(middle) if block.pre_norm else middle
        feed_forward = block.ff(into[None])[0]
        after = middle + feed_forward
        after = after if block.pre_norm else block.ff_norm(after)
    real = trace.valid.to(encoder.device)
    off = apart(after[real], truth[real], added_to=x[real] if block.pre_norm else None)
    require_as_ran(off, f"Block {layer}", trace.output.dtype)
    return BlockParts(x, attention, middle, feed_forward, after, off)


def _layer(encoder: WeightSource, trace: Trace, layer: int) -> LayerTrace:
    trace.attention(layer, rows=slice(0, 0))  # says so if there is no such layer
    require_model(encoder, trace)
    if isinstance(encoder, RecordedParts):
        encoder.require_whole()
        encoder.require_no_dropout(layer)
    return trace.layers[layer]


def _by(lengths: np.ndarray, of: np.ndarray) -> np.ndarray:
    """lengths / of; NaN where that is 0."""
    return np.where(of > 0, lengths / np.where(of > 0, of, 1.0), np.nan)
