"""Saved runs: of a file or of Python, with their model where it is here and gives the same run.

What differs between a saved run and the model's own is said in one sentence.
"""

from dataclasses import replace

import torch
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import CheckpointError, InputError, SelectionError, VizEncoderError
from viz_encoder.inputs import ImageReader, Inputs, Sample, TextReader
from viz_encoder.shown import small
from viz_encoder.trace import Trace
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.recipe import Reading, Recipe
from viz_encoder.ui.state.store import Entry, TraceStore

READ_THE_SAME = ("tokens", "segments", "words", "spans", "grid")  # fields of a sample


def keep_saved(store: TraceStore, models: Models, saved: Trace) -> str:
    """Keep a run that was made elsewhere, and return its key.

    It is a run of its model only if that model is offered here and gives it again, for whatever
    needs the model would otherwise speak of another run. A run with a mask, with changes or of
    other weights stays without its model, and says why.
    """
    try:
        trace, recipe, reading = _run_again(models, saved)
    except SelectionError as why:
        return store.keep(Entry(saved, Recipe.of_saved(saved), why_alone=str(why)))
    return store.keep(Entry(trace, recipe, reading.encoder, reading.inputs, reading))


def _run_again(models: Models, saved: Trace) -> tuple[Trace, Recipe, Reading]:
    """The run where its model is, how it is made, and what was read; or why not, a clause."""
    name, sample = saved.origin.model, saved.sample
    if name not in models.names("image" if saved.grid else "text"):
        raise SelectionError  # nothing more is known of it
    if not sample.texts and sample.picture is None:
        raise SelectionError(f"The run holds no text or picture that {name} could read again")
    try:
        encoder = models.get(name)
        reading = Reading(encoder, _read_again(encoder, sample))
        # No link can hold a picture, or a model's prompt.
        texts = () if saved.grid or sample.n_prompt else sample.texts
        recipe = Recipe.of_saved(saved, texts)
        again = recipe.run(reading).trace
    except CheckpointError as fault:
        raise SelectionError(f"{name} cannot be loaded here: {str(fault).rstrip('.')}") from fault
    except VizEncoderError as fault:
        raise SelectionError(f"{name} cannot read it again: {str(fault).rstrip('.')}") from fault
    if why := why_another_run(saved, again):
        raise SelectionError(f"This is not the run that {name} gives for its input: {why}")
    held, made = saved.output, again.output
    alike = (held.device, held.dtype) == (made.device, made.dtype)
    return (saved if alike else replace(again, notes=saved.notes)), recipe, reading


def _read_again(encoder: LoadedEncoder, sample: Sample) -> Inputs:
    """Encoder inputs from the text or image of a saved run."""
    if isinstance(encoder.reader, TextReader):
        texts = sample.texts
        inputs = encoder.reader.read(texts if len(texts) == 2 else texts[0])
    elif isinstance(encoder.reader, ImageReader):
        inputs = encoder.reader.cut_up(sample)
    else:
        raise InputError("it has no tokenizer")
    (found,) = inputs.samples
    if any(getattr(found, each) != getattr(sample, each) for each in READ_THE_SAME):
        raise InputError(
            "it reads other tokens from the text, as where the run has padding, a masked token or "
            "another tokenizer's tokens"
        )
    return replace(inputs, samples=(sample,))


# Relative to each tensor's largest value: other processors round float32 by 1e-6 of it, while
# removing a head changes all-MiniLM-L6-v2 by at least 8e-3. Masks are compared exactly.
TOLERANCE = 1e-5
NUMBERS = ("q", "k", "v", "bias", "relative", "sink", "maps")


def why_another_run(saved: Trace, again: Trace) -> str:
    """How two runs differ, as the end of a sentence; "" if they do not."""
    mine, theirs = _tensors(saved), _tensors(again)
    one, other = ([None if each is None else each.shape for each in run] for run in (mine, theirs))
    if one != other:
        return "its sizes are others"
    layers = list(zip(saved.layers, again.layers, strict=True))
    if not torch.equal(saved.valid.cpu(), again.valid.cpu()) or not all(
        _same_mask(one, other) for one, other in layers
    ):
        return "it ran with a mask of its own"
    if any(one.scale != other.scale for one, other in layers):
        return "its scores were divided by another number"
    apart = max(map(_apart, mine, theirs))
    if apart <= TOLERANCE:
        return ""
    return (
        f"its numbers differ by up to {small(apart, 0)} of the largest, as with other weights or "
        "after a change"
    )


def _tensors(trace: Trace) -> list[Tensor | None]:
    parts = (getattr(layer, part) for layer in trace.layers for part in NUMBERS)
    return [*trace.hidden_states, trace.output, *parts]


def _same_mask(one: LayerTrace, other: LayerTrace) -> bool:
    if one.mask is None or other.mask is None:
        return one.mask is other.mask
    return torch.equal(*torch.broadcast_tensors(one.mask.cpu(), other.mask.cpu()))


def _apart(one: Tensor | None, other: Tensor | None) -> float:
    """Largest difference relative to the largest value; inf if one is NaN."""
    if one is None or other is None or not other.numel():
        return 0.0
    expected = other.double().cpu()
    apart = float((one.double().cpu() - expected).abs().max())
    return apart / max(float(expected.abs().max()), 1e-12) if apart == apart else float("inf")
