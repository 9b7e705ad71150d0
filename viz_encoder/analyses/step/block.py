"""One token through one block: every stage, in this model's own order."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.analyses.step.heads import HeadsStep, heads_of
from viz_encoder.analyses.step.norm_and_feed_forward import (
    FeedForwardStep,
    NormStep,
    feed_forward,
    norm_step,
    numbers,
    state_of,
)
from viz_encoder.arguments import Token, public
from viz_encoder.result import Columns, SeriesResult
from viz_encoder.shown import OneLine
from viz_encoder.trace import Trace
from viz_encoder.trace.recomputed import apart, require_as_ran, resting
from viz_encoder.trace.recorded_parts import RecordedParts, WeightSource, block_of
from viz_encoder.trace.token_selection import query_of

TITLES = {
    "x": "x",
    "norm_attention": "norm",
    "qkv": "q, k, v",
    "scores": "scores",
    "softmax": "softmax",
    "values": "Σ α · v",
    "output": "W_O",
    "residual_attention": "+ residual",
    "norm_ffn": "norm",
    "ffn": "FFN",
    "residual_ffn": "+ residual",
    "norm_final": "final norm",
}
INSIDE = ("qkv", "scores", "softmax")  # steps of one head, without a vector of the token
NO_FIRST_NORM = (
    "The first block has no norm before its attention: the embedding norm takes its place."
)


@dataclass(frozen=True, eq=False, repr=False)
class Stage(OneLine):
    """One stage; vector is the token's after it, or None for one head's steps.

    At "values" it is the heads' outputs side by side, "n_heads · d_head" wide.
    """

    name: str
    title: str
    vector: Float[np.ndarray, " width"] | None = None
    norm: NormStep | None = None
    says: str = ""

    @property
    def length(self) -> float | None:
        """‖vector‖."""
        return None if self.vector is None else float(np.linalg.norm(self.vector))


@dataclass(frozen=True, eq=False, repr=False)
class BlockStep(SeriesResult[Stage], items="stages"):
    """All stages of one block for one token, in this model's order.

    Pre-norm: x → norm → attention → + x → norm → FFN → + residual. Post-norm: each norm comes
    after its residual sum. The final norm, if there is one, follows the last block.
    """

    layer: int
    query: int
    pre_norm: bool
    stages: tuple[Stage, ...]
    heads: HeadsStep
    feed_forward: FeedForwardStep
    apart: float  # from the hidden state that ran, relative to its largest value

    def columns(self) -> Columns:
        """One line per stage."""
        lengths = [np.nan if one.length is None else one.length for one in self.stages]
        return {
            "stage": [one.name for one in self.stages],
            "title": [one.title for one in self.stages],
            "length": lengths,
        }


@public
def block_step(
    encoder: WeightSource,
    trace: Trace,
    layer: int,
    query: Token,
    removed: Iterable[tuple[int, int]] = (),
) -> BlockStep:
    """Follow one token through one block, between the states that ran.

    Attention comes from the run's own weights and values, all else from the model's own modules
    on that one token; what comes out must be the hidden state that ran.

    Args:
        encoder: the model that ran, or `trace.parts` of a recorded one.
        trace: the run.
        layer: counted from 0.
        query: the token.
        removed: heads that were removed from this run, as (layer, head), besides those that the
            run itself names.

    Raises:
        SelectionError: no such layer or token, a trace of another model, or a recorded one
            whose blocks were not read whole or ran with dropout.
        TraceError: a block that does not come out as it ran.
    """
    if isinstance(encoder, RecordedParts):
        encoder.require_whole()
    query = query_of(trace, query)
    attended, heads = heads_of(encoder, trace, layer, query, removed)
    config = encoder.config
    block, last = block_of(encoder, layer), layer == trace.n_layers - 1
    pre, stages = block.pre_norm, _Stages()
    with resting(encoder):
        x = stages.put("x", state_of(encoder, trace, layer, query))
        if pre:
            stages.norm("norm_attention", block.attn_norm, x)
        stages.attention(heads, attended)
        middle = stages.put("residual_attention", x + attended)
        if not pre:
            middle = stages.norm("norm_attention", block.attn_norm, middle)
        into = stages.norm("norm_ffn", block.ff_norm, middle) if pre else middle
        added, network = feed_forward(block.ff, into, config.activation)
        stages.put("ffn", added)
        after = stages.put("residual_ffn", middle + added)
        if not pre:
            after = stages.norm("norm_ffn", block.ff_norm, after)
        off = apart(after, trace.hidden(layer + 1)[query], added_to=x if pre else None)
        if last and (final := _final_norm(encoder)) is not None:
            output = stages.norm("norm_final", final, after)
            off = max(off, apart(output, trace.output[query]))
    require_as_ran(off, f"Block {layer} of token {query}", trace.output.dtype)
    return BlockStep(layer, query, pre, tuple(stages.all), heads, network, off)


def _final_norm(encoder: WeightSource) -> nn.Module | None:
    if isinstance(encoder, RecordedParts):
        return encoder.final_norm
    return encoder.model.final_norm if encoder.config.final_norm else None


class _Stages:
    """The stages so far; each gives the vector that goes on."""

    def __init__(self) -> None:
        self.all: list[Stage] = []

    def put(
        self, name: str, vector: Tensor, norm: NormStep | None = None, says: str = ""
    ) -> Tensor:
        self.all.append(Stage(name, TITLES[name], numbers(vector), norm, says))
        return vector

    def norm(self, name: str, norm: nn.Module, before: Tensor) -> Tensor:
        after, found = norm_step(norm, before)
        return self.put(name, after, found, "" if found else NO_FIRST_NORM)

    def attention(self, heads: HeadsStep, attended: Tensor) -> None:
        self.all += [Stage(name, TITLES[name]) for name in INSIDE]
        self.all.append(Stage("values", TITLES["values"], heads.outs.ravel()))
        self.put("output", attended)
