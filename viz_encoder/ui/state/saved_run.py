"""Saved runs: of a file or of Python, with their model where it is here and gives the same run."""

from dataclasses import replace

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import CheckpointError, InputError, SelectionError, VizEncoderError
from viz_encoder.inputs import ImageReader, Inputs, Sample, TextReader
from viz_encoder.trace import Trace
from viz_encoder.trace.run_difference import why_another_run
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
    """Encoder inputs from the text or image of a saved run.

    Raises:
        InputError: it reads other tokens from it than the run has.
    """
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
