"""Starts: what is asked about, as it enters the first block."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.attribution.ready import require_ready
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError
from viz_encoder.inputs import Inputs, Sample
from viz_encoder.model.attention import Given
from viz_encoder.trace.capture import arguments, is_several
from viz_encoder.trace.recomputed import angles_of
from viz_encoder.trace.run_facts import require_no_knock
from viz_encoder.trace.same_model import require_made_by
from viz_encoder.trace.trace import Trace


class Start(NamedTuple):
    """A sequence as it enters the first block."""

    x: Float[Tensor, "1 token d_model"]
    given: list[Given]
    valid: Bool[Tensor, "1 token"]
    sample: Sample
    inputs: Inputs | None = None  # what was read, if it has not run yet
    trace: Trace | None = None  # the run, if it has


def starts_of(encoder: LoadedEncoder, text: Any) -> tuple[list[Start], bool]:
    """Each input, and whether there is one alone."""
    if isinstance(text, Trace):
        return [_of_run(encoder, text)], True
    if isinstance(text, list) and text and all(isinstance(each, Trace) for each in text):
        return [_of_run(encoder, each) for each in text], False
    inputs = encoder.read(text)
    return _of_rows(encoder, inputs), len(inputs.samples) == 1 and not is_several(text)


def one_of(found: Any, name: str) -> Any:
    """The only one of a list, or what is no list."""
    each = found if isinstance(found, list) else [found]
    if len(each) != 1:
        raise InputError(f"{name} has {len(each)} inputs; give one.")
    return each[0]


def require_at_rest(encoder: LoadedEncoder) -> None:
    """Raise unless a score of the encoder can be split.

    Raises:
        SelectionError: it is in training mode or quantized, or a head of it is being ablated.
    """
    require_no_knock(encoder.model, "attribute")
    require_ready(encoder.model, encoder.card.name, "encoder.model")


def _of_rows(encoder: LoadedEncoder, inputs: Inputs) -> list[Start]:
    """Each row of a batch, as it enters the first block."""
    values, valid, segments = arguments(encoder, inputs)
    found = []
    for at, sample in enumerate(inputs.samples):
        row = slice(at, at + 1)
        mine = None if valid is None else valid[row]
        with torch.no_grad():
            x = encoder.model.embed(values[row], None if segments is None else segments[row])
            given = encoder.model.given(x, values[row], mine)
        whole = inputs.valid[row].to(encoder.device)
        alone = Inputs(inputs.values[row], inputs.valid[row], (sample,))
        found.append(Start(x, given, whole, sample, inputs=alone))
    return found


def _of_run(encoder: LoadedEncoder, trace: Trace) -> Start:
    """A run of this encoder again, from its own embeddings, under its own masks.

    Raises:
        SelectionError: a run of another model or of other weights.
    """
    require_made_by(encoder, trace)
    x = trace.hidden(0)[None].to(encoder.device, encoder.dtype)
    given = [
        Given(
            None if layer.mask is None else layer.mask[None].to(encoder.device),
            angles_of(encoder, trace, number),
            None if layer.relative is None else layer.relative.to(encoder.device),
        )
        for number, layer in enumerate(trace.layers)
    ]
    return Start(x, given, trace.valid[None].to(encoder.device), trace.sample, trace=trace)
