"""Starts: what is asked about, as it enters the first block."""

from collections.abc import Collection
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import Inputs, Sample
from viz_encoder.model.attention import Given
from viz_encoder.trace.capture import arguments, is_several
from viz_encoder.trace.recomputed import angles_of
from viz_encoder.trace.run_facts import require_no_knock
from viz_encoder.trace.same_model import require_made_by
from viz_encoder.trace.trace import Trace


def require_ready(model: nn.Module, name: str, itself: str = "model") -> None:
    """Raise unless a score of the model can be split."""
    if model.training:
        raise SelectionError(
            f"{name} is in training mode, where dropout changes its answers; call "
            f"{itself}.eval() first."
        )
    modules = list(model.modules())
    kinds = set(map(type, modules))
    if any(issubclass(kind, torch.jit.ScriptModule) for kind in kinds):
        raise SelectionError(
            f"{name} is TorchScript, whose functions cannot be followed; give the model from which "
            "it was made."
        )
    if _is_quantized(modules, kinds):
        raise SelectionError(
            f"{name} has quantized weights, through which no score can be split; give it as it was "
            "before, in floating point."
        )


def _is_quantized(modules: Collection[nn.Module], kinds: Collection[type]) -> bool:
    """By torch's own modules, or by what is held: integers, or tensors of torchao."""
    # Its own dicts, for parameters() takes as long as a block does on a few tokens.
    own = [vars(each) for each in modules]
    weights = [x for each in own for x in each["_parameters"].values() if x is not None]
    return (
        any("quantized" in kind.__module__.split(".") for kind in kinds)
        or any(not (x.is_floating_point() or x.is_complex()) for x in weights)
        or any(kind.__module__.startswith("torchao.") for kind in {type(x.data) for x in weights})
        or any("qweight" in each["_buffers"] for each in own)
    )


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
