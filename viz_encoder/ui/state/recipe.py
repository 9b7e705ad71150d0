"""Recipe: how a run is made: what is read, by which model, with which mask, padding and changes."""

import secrets
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects import AblationProof, prove
from viz_encoder.effects.change import Change, check_changes
from viz_encoder.effects.changed_capture import capture_entered, entered, joined_masks, removed
from viz_encoder.effects.word_order import as_switched
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Inputs
from viz_encoder.model.layer_masks import CustomMask
from viz_encoder.trace import Trace
from viz_encoder.trace.capture import arguments, at_rest, on_device
from viz_encoder.ui.state.built import WORDS, Built
from viz_encoder.ui.state.padding import Padding, of_first
from viz_encoder.ui.state.painted_mask import PaintedMask
from viz_encoder.ui.state.source import Source

ONE_PASS = threading.RLock()  # one forward pass at a time, whoever asks
ALONE: dict[str, Any] = {"mask": None, "pad": None, "changes": ()}  # the source as it is
OF_TEXT = (
    "Deleting or replacing a word gives the text new tokens, for which there is no mask and no "
    "padding; make the new text the input first."
)


class Reading(NamedTuple):
    """A source as its model reads it, before any padding or change."""

    encoder: LoadedEncoder
    inputs: Inputs


class Ran(NamedTuple):
    """A run, the model as it was switched for it, and what entered the model."""

    trace: Trace
    encoder: LoadedEncoder
    inputs: Inputs


@dataclass(frozen=True)
class Recipe:
    """How a run is made; equal recipes make the same run.

    source: what is read.
    model: the name of a listed model, or the axes of an untrained encoder.
    mask: a mask that a person gave; it is over the padding too.
    pad: [PAD] tokens beside the text.
    changes: heads, links, tokens and words taken away; tokens are counted in the padded text.
    """

    source: Source
    model: str | Built
    mask: PaintedMask | None = None
    pad: Padding | None = None
    changes: tuple[Change, ...] = ()

    @classmethod
    def from_link(cls, query: Mapping[str, str]) -> "Recipe":
        """What a link asks for."""
        built = query.get("build")
        return cls(
            Source.from_link(query),
            Built.of(dict(parse_qsl(built))) if built else query.get("model", ""),
            PaintedMask.from_link(query),
            Padding.parsed(query["pad"]) if query.get("pad") else None,
            as_changes(filter(None, query.get("cut", "").split(","))),
        )

    @classmethod
    def of_saved(cls, trace: Trace, texts: tuple[str, ...] = ()) -> "Recipe":
        """Of a run that was made elsewhere; with the texts that its link can hold."""
        kind = "image" if trace.grid else "pair" if len(texts) == 2 else "text"
        source = Source(kind, texts, held=secrets.token_hex(), of_file=not texts)
        return cls(source, trace.origin.model)

    def to_link(self) -> dict[str, str]:
        """The link that asks for it; run="" where the key of the run belongs into it."""
        model, pad, cut = self.model, self.pad, ",".join(each.code for each in self.changes)
        named = (
            {"model": model.name, "build": model.code}
            if isinstance(model, Built)
            else {"model": model}
        )
        made = {} if self.mask is None and pad is None else {"run": ""}
        made |= {} if self.mask is None else self.mask.to_link()
        made |= {} if pad is None else {"pad": pad.code}
        return {**self.source.to_link(), **named, **made, **({"cut": cut} if cut else {})}

    @property
    def of_new_text(self) -> bool:
        """Whether its changes make another text, with other tokens."""
        return any(change.of_text for change in self.changes)

    def untouched(self, reading: Reading) -> Inputs:
        """What is read, padded where it is to be, before any change."""
        return reading.inputs if self.pad is None else self.pad.beside(*reading)

    def run(self, reading: Reading) -> Ran:
        """Run the model as the recipe says.

        Raises:
            SelectionError: the input or model does not allow the mask, the padding or a change.
            TooLong: more tokens than the model reads.
        """
        config, before = reading.encoder.config, self.untouched(reading)
        check_changes(self.changes, before.samples[0], config.n_layers, config.n_heads)
        if self.of_new_text and (self.mask or self.pad):
            raise SelectionError(OF_TEXT)
        mask = self.passed(reading)
        with ONE_PASS:
            encoder = as_switched(reading.encoder, self.changes)
            inputs = entered(reading.encoder, before, self.changes)
            if self.pad is None:
                trace = capture_entered(encoder, inputs, self.changes, mask)
            else:
                batch = self.pad.batch(inputs)
                trace = capture_entered(encoder, batch, self.changes, of_first(mask))
                real = self.pad.real(trace.n_tokens)
                trace = replace(trace, valid=trace.valid & real.to(trace.valid.device))
        if isinstance(self.model, Built) and self.source.texts:
            trace = replace(trace, notes=(*trace.notes, WORDS))
        return Ran(trace, encoder, inputs)

    def proof(self, reading: Reading, ran: Ran) -> AblationProof | None:
        """Proof that of the heads only the removed ones were; None if no head was."""
        cuts = removed(self.changes)
        if not cuts:
            return None
        n_layers, model = reading.encoder.config.n_layers, ran.encoder.model
        masks = joined_masks(self.passed(reading), self.changes, ran.inputs.samples[0], n_layers)
        given = *arguments(ran.encoder, ran.inputs), on_device(masks, ran.encoder.device)
        with ONE_PASS, at_rest(model):
            return prove(model, lambda one: one(*given).output, dict.fromkeys(cuts, "zero"))

    def passed(self, reading: Reading) -> CustomMask | None:
        """The mask that the model is given, with the mistake in it."""
        if self.mask is None:
            return None
        config, n_tokens = reading.encoder.config, len(self.untouched(reading).samples[0].tokens)
        return self.mask.over(n_tokens, config.n_layers, config.n_heads).passed


def as_changes(codes: Iterable[Any]) -> tuple[Change, ...]:
    """The changes of these codes, none twice.

    Raises:
        SelectionError: an invalid code.
    """
    return tuple(dict.fromkeys(map(Change.parsed, codes)))
