"""changed: a run with heads removed, links cut, or tokens or words changed, captured like any."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.arguments import public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.change import Change, changes_of
from viz_encoder.effects.joint import edits_of, replacement
from viz_encoder.effects.without_tokens import mask_id, mask_name
from viz_encoder.effects.word_order import as_switched
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Inputs, Sample
from viz_encoder.model.layer_masks import CustomMask
from viz_encoder.trace import Trace
from viz_encoder.trace.capture import captured
from viz_encoder.trace.mask_scope import note_of

NOTES = {
    "p": "Positions were switched off, which is not how this model was trained.",
    "c": "Attention was made causal, which is not how this model was trained.",
}
Masks = dict[tuple[int, int] | int, Bool[Tensor, "query key"]]


@public
def changed(encoder: LoadedEncoder, text: Any, codes: Iterable[str]) -> Trace:
    """Run an input with changes, and return the trace.

    The trace still has the map that a removed head computed; its output before W_O is zero, so it
    adds nothing to the residual stream. A cut link has weight exactly 0.

    Args:
        encoder: what `vz.load` returned, or a vz.Encoder.
        text: one input.
        codes: "h3.0" removes head 0 of layer 3; "l3.0:6-2" cuts the link from query 6 to key 2 in
            it, "l3:6-2" in all heads of layer 3, "l:6-2" in all layers; "t2" hides token 2
            from every token, in all layers; "m2" masks it (replaces it with [MASK]); "d2"
            deletes its word; "r2:word" replaces its word; "p" switches positions off and "c"
            makes attention causal, neither of which is how the model was trained. Tokens are
            counted from 0, in the untouched run.

    Raises:
        SelectionError: a code that is invalid, or names something that does not exist.
        InputError: an input that this encoder cannot read.
    """
    inputs = encoder.read(text)
    config = encoder.config
    made = changes_of(codes, inputs.samples[0], config.n_layers, config.n_heads)
    return capture_changed(encoder, inputs, made)[0]


def capture_changed(
    encoder: LoadedEncoder, inputs: Inputs, changes: Sequence[Change]
) -> tuple[Trace, Inputs]:
    """The run with these changes, and what entered the model."""
    inputs = entered(encoder, inputs, changes)
    return capture_entered(as_switched(encoder, changes), inputs, changes), inputs


def capture_entered(
    encoder: LoadedEncoder,
    inputs: Inputs,
    changes: Sequence[Change],
    mask: CustomMask | None = None,
) -> Trace:
    """Run inputs in which words and masked tokens are changed already; the trace is of row 0."""
    config, cuts = encoder.config, removed(changes)
    masks = joined_masks(mask, changes, inputs.samples[0], config.n_layers)
    edits = edits_of(cuts, replacement(encoder, "zero", None), encoder) if cuts else None
    trace = captured(encoder, inputs, masks, edits)[0]
    notes = note_of(mask, config.n_layers, config.n_heads)
    notes += tuple(_note(layer, head) for layer, head in cuts)
    notes += tuple(NOTES[change.kind] for change in changes if change.kind in NOTES)
    gone = (*trace.removed, *cuts)
    return replace(trace, notes=(*trace.notes, *notes), removed=gone)


def joined_masks(
    mask: CustomMask | None, changes: Sequence[Change], sample: Sample, n_layers: int
) -> CustomMask | None:
    """A custom mask and those that hide tokens and cut links; None where there is none."""
    made = _masks_of(changes, sample, n_layers)
    if mask is None or not made:
        return made or mask
    every = dict.fromkeys(range(n_layers), mask) if isinstance(mask, Tensor) else mask
    given: dict[Any, Tensor] = dict(every)
    return given | {at: one & given[at] if at in given else one for at, one in made.items()}


def removed(changes: Iterable[Change]) -> list[tuple[int, int]]:
    """The heads that are removed, as (layer, head)."""
    return [(c.layer, c.head) for c in changes if c.kind == "h" and None not in (c.layer, c.head)]  # type: ignore[misc]


def _masks_of(changes: Sequence[Change], sample: Sample, n_layers: int) -> Masks:
    """The masks that hide tokens and cut links, by layer or by layer and head."""
    if any(change.of_text for change in changes) and any(c.kind in "tml" for c in changes):
        raise SelectionError(
            "Deleting or replacing a word gives the text new tokens, so no token of the old text "
            "can be hidden, masked or cut as well; make the new text the input first."
        )
    n = len(sample.tokens)
    masks: Masks = defaultdict(lambda: torch.ones(n, n, dtype=torch.bool))
    for change in changes:
        layers = range(n_layers) if change.layer is None else (change.layer,)
        for layer in layers:
            place = layer if change.head is None else (layer, change.head)
            if change.kind == "t":
                masks[place][:, change.key] = False
            elif change.kind == "l":
                masks[place][change.query, change.key] = False
    return dict(masks)


def entered(encoder: LoadedEncoder, inputs: Inputs, changes: Sequence[Change]) -> Inputs:
    """The inputs with tokens masked, or the text with words deleted or replaced read again."""
    masked = [change.key for change in changes if change.kind == "m"]
    if masked:
        number = mask_id(encoder)
        values, sample = inputs.values.clone(), inputs.samples[0]
        values[0, masked] = number
        name = mask_name(encoder)
        tokens = tuple(name if at in masked else old for at, old in enumerate(sample.tokens))
        sample = replace(sample, tokens=tokens)
        inputs = replace(inputs, values=values, samples=(sample,))
    if not any(change.of_text for change in changes):
        return inputs
    texts = rewritten(inputs.samples[0], changes)
    return encoder.read(texts if len(texts) > 1 else texts[0])


def rewritten(sample: Sample, changes: Iterable[Change]) -> tuple[str, ...]:
    """The texts with words deleted or replaced."""
    edits: dict[int, dict[tuple[int, int], str]] = defaultdict(dict)
    for change in changes:
        if change.of_text and change.key is not None:
            segment = sample.segment_of(change.key)
            edits[segment][_span(sample, change.key)] = change.word
    texts = list(sample.texts)
    for segment, spans in edits.items():
        for start, stop in sorted(spans, reverse=True):
            word, text = spans[start, stop], texts[segment]
            before, after = text[:start], text[stop:]
            if not word:  # a deleted word takes a space along
                before, after = (
                    (before[:-1], after) if before[-1:] == " " else (before, after.lstrip(" "))
                )
            texts[segment] = before + word + after
    if not all(text.strip() for text in texts):
        raise SelectionError("Nothing would be left of the text; keep at least one word.")
    return tuple(texts)


def place_after(sample: Sample, changes: Iterable[Change], token: int, new: Sample) -> int | None:
    """Position of an old token after the changes; None if it is gone."""
    segment = sample.segment_of(token)
    start, stop = sample.spans[token]
    for change in changes:
        if not change.of_text or change.key is None:
            continue
        its = sample.segment_of(change.key)
        first, last = _span(sample, change.key)
        if its != segment or first >= stop:
            continue
        if last > sample.spans[token][0]:
            return None
        start -= len(sample.texts[segment]) - len(rewritten(sample, [change])[segment])
    for at, (begin, end) in enumerate(new.spans):
        if begin == start and end > begin and new.segment_of(at) == segment:
            return at
    return None


def _span(sample: Sample, token: int) -> tuple[int, int]:
    """The characters of the whole word that a token belongs to."""
    word, segment = sample.words[token], sample.segment_of(token)
    same = [
        span
        for at, span in enumerate(sample.spans)
        if at == token
        or (word is not None and sample.words[at] == word and sample.segment_of(at) == segment)
    ]
    return min(start for start, _ in same), max(stop for _, stop in same)


def _note(layer: int, head: int) -> str:
    return (
        f"Head {layer}.{head} was removed: its map is the one it computed, but its output was not "
        "added to the residual stream."
    )
