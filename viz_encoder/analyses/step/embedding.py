"""The embedding of one token: table rows, their sum, the norm, and what enters the first block."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.analyses.step.norm_and_feed_forward import (
    NormStep,
    norm_step,
    numbers,
    numbers_or_none,
    state_of,
)
from viz_encoder.arguments import Token, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import EncoderConfig, Positions
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Inputs, TextReader
from viz_encoder.model.embed import TokenEmbedding
from viz_encoder.result import ArrayResult
from viz_encoder.trace import Trace
from viz_encoder.trace.capture import at_rest
from viz_encoder.trace.recomputed import apart, require_as_ran, shaped_as
from viz_encoder.trace.recorded_parts import RecordedParts, WeightSource
from viz_encoder.trace.same_model import require_model
from viz_encoder.trace.token_selection import query_of

ROTARY = "Rotary: nothing is added here; q and k are rotated by position in step 3."
RELATIVE = (
    "Relative positions: nothing is added here; each score gets a learned bias for the distance."
)
RECORDED = (
    "This model was recorded, and its embedding tables were not read: this is the vector that "
    "enters the first block."
)
NO_ORDER = "No positions: nothing is added here, so the model does not know the token order."


@dataclass(frozen=True, eq=False, repr=False)
class EmbeddingStep(ArrayResult, main="out"):
    """sum = token + segment + position, each None where the model has none; out: after the norm.

    id: the token's row in the word table; None for patches and vectors. norm: the embedding norm,
    None where there is none. projected: whether the sum is narrower than d_model and projected.
    """

    query: int
    id: int | None
    token: Float[np.ndarray, " d_embed"]
    segment: Float[np.ndarray, " d_embed"] | None
    position: Float[np.ndarray, " d_embed"] | None
    sum: Float[np.ndarray, " d_embed"]
    norm: NormStep | None
    projected: bool
    out: Float[np.ndarray, " d_model"]
    says: str
    apart: float  # distance of `out` from hidden state 0, relative to its largest value


@public
def embedding_step(
    encoder: WeightSource, trace: Trace, query: Token, inputs: Inputs | None = None
) -> EmbeddingStep:
    """The embedding of one token, by the model's own tables.

    Args:
        encoder: the model that ran, or `trace.parts` of a recorded one; of that, only the vector
            that enters the first block is known.
        trace: the run.
        query: the token.
        inputs: what entered the model, from `encoder.read`; needed for pictures and vectors. The
            ids of a text are looked up by the names of its tokens where it is not given.

    Raises:
        SelectionError: no such token, a trace of another model, or inputs that are needed.
        TraceError: an embedding that is not the one that ran.
    """
    require_model(encoder, trace)
    query = query_of(trace, query)
    if isinstance(encoder, RecordedParts):
        return _entering(trace, query)
    embed, config = encoder.model.embed, encoder.config
    with at_rest(encoder.model):
        values, segments = _entered(encoder, trace, inputs)
        number, token, segment = _looked_up(encoder, trace, query, values, segments)
        shape = shaped_as(trace, config) if values is None else values
        table = embed.position_table(shape, trace.n_tokens)
        position = None if table is None else table[query].to(token)
        total = token if segment is None else token + segment
        total = total if position is None else total + position
        normed, norm = norm_step(embed.norm, total)
        out = embed.project(normed)
    off = apart(out, state_of(encoder, trace, 0, query))
    require_as_ran(off, f"The embedding of token {query}", encoder.dtype)
    return EmbeddingStep(
        query=query,
        id=number,
        token=numbers(token),
        segment=numbers_or_none(segment),
        position=numbers_or_none(position),
        sum=numbers(total),
        norm=norm,
        projected=not isinstance(embed.project, nn.Identity),
        out=numbers(out),
        says=_says(config),
        apart=off,
    )


def _entering(trace: Trace, query: int) -> EmbeddingStep:
    """For a recorded model: the vector that enters its first block, however it was made."""
    x = numbers(trace.hidden(0)[query])
    nothing = (None, None)
    return EmbeddingStep(query, None, x, *nothing, x, None, False, x, RECORDED, 0.0)


def _entered(
    encoder: LoadedEncoder, trace: Trace, inputs: Inputs | None
) -> tuple[Tensor | None, Tensor | None]:
    """This run's row of the inputs and of their segments, each with its batch axis."""
    if inputs is None:
        return None, None
    rows = [at for at, sample in enumerate(inputs.samples) if sample is trace.sample]
    if not rows and len(inputs.samples) > 1:
        raise SelectionError("These inputs have several rows, and none belongs to this run.")
    row = slice(rows[0], rows[0] + 1) if rows else slice(0, 1)
    values = inputs.values[row].to(encoder.device)
    values = values.to(encoder.dtype) if values.is_floating_point() else values
    return values, None if inputs.segments is None else inputs.segments[row]


def _looked_up(
    encoder: LoadedEncoder,
    trace: Trace,
    query: int,
    values: Tensor | None,
    segments: Tensor | None,
) -> tuple[int | None, Tensor, Tensor | None]:
    tokens = encoder.model.embed.tokens
    if isinstance(tokens, TokenEmbedding):
        number = _id(encoder, trace, query) if values is None else int(values[0, query])
        token: Tensor = tokens.word(torch.tensor(number, device=encoder.device))
        if tokens.segment is None:
            return number, token, None
        which = trace.sample.segment_of(query)
        if values is not None:
            which = 0 if segments is None else int(segments[0, query])
        return number, token, tokens.segment(torch.tensor(which, device=encoder.device))
    if values is None:
        raise SelectionError(
            "A run keeps no pixels and no vectors of its input; give inputs=encoder.read(…) to see "
            "how they were embedded."
        )
    return None, (values if tokens is None else tokens(values))[0, query], None


def _id(encoder: LoadedEncoder, trace: Trace, query: int) -> int:
    """A token's id by its name, or by the number that stands for one without a tokenizer."""
    name, reader = trace.tokens[query], encoder.reader
    found = reader.id_of(name) if isinstance(reader, TextReader) else None
    if found is None and name.isascii() and name.isdigit():
        found = int(name)
    if found is None:
        raise SelectionError(
            f"The id of token {query} is not known by its name; give inputs=encoder.read(…)."
        )
    return found


def _says(config: EncoderConfig) -> str:
    if config.positions is not Positions.NONE:
        return ""
    if config.rotary_base is not None:
        return ROTARY
    return RELATIVE if config.relative_buckets else NO_ORDER
