"""WithoutTokens: one text, run as it is, and with some of its tokens removed."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measure import Answer, Logits, Measure, MeasureArguments
from viz_encoder.effects.measures import Measured, measure_of, require_number
from viz_encoder.effects.rerun import BATCH_TOKENS, Rerun
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import TextReader
from viz_encoder.trace.capture import arguments, at_rest
from viz_encoder.trace.prediction_heads import MASKS

RemoveHow = Literal["attention", "mask"]


class Away(NamedTuple):
    """Result without some tokens: the measure, the answer and its share, and both shares."""

    places: tuple[int, ...]
    value: float
    said: Answer
    pair: Sequence[float]


class WithoutTokens:
    """One text, run unchanged and with some tokens removed."""

    def __init__(
        self,
        encoder: LoadedEncoder,
        text: Any,
        how: str,
        measure: Measured | None,
        asked: MeasureArguments,
    ) -> None:
        self.how, self._inputs = how, encoder.read(text)
        self._run = Rerun(encoder, self._inputs)
        self.measure: Measure = measure_of(measure, self._run, asked)
        self._place = self.measure.place if isinstance(self.measure, Logits) else None
        self.mask_id = mask_id(encoder) if how == "mask" else None
        self.names = self._run.sample.tokens
        self.before = require_number(float(self.measure.read(self._run.output)[0]))
        self.untouched = self.measure.said(self._run.output)[0]

    def removable(self) -> list[int]:
        """All tokens but the queried one; with [MASK], no special tokens either."""
        special, real = self._run.sample.special, self._run.valid[0].tolist()
        places = (place for place in range(len(self.names)) if real[place] and place != self._place)
        return [place for place in places if self.how == "attention" or not special[place]]

    @property
    def labels(self) -> tuple[str, str]:
        """The two answers that are compared."""
        measure = self.measure
        if not isinstance(measure, Logits):
            return "", ""
        return measure.name(measure.answer), measure.name(measure.other)

    def without(self, sets: Sequence[tuple[int, ...]]) -> Iterator[Away]:
        """Each set of places taken away."""
        step = max(1, BATCH_TOKENS // len(self.names))
        for start in range(0, len(sets), step):
            part = sets[start : start + step]
            outputs = self._outputs(self._away(part))
            values, said = self.measure.read(outputs), self.measure.said(outputs)
            pairs = [(float("nan"),) * 2] * len(part)
            if isinstance(self.measure, Logits):
                pairs = self.measure.pair(outputs).tolist()
            yield from map(Away, part, values.tolist(), said, pairs)

    def _away(self, sets: Sequence[tuple[int, ...]]) -> Bool[Tensor, "variant token"]:
        away = torch.zeros(len(sets), len(self.names), dtype=torch.bool)
        for number, places in enumerate(sets):
            away[number, list(places)] = True
        return away.to(self._run.encoder.device)

    def _outputs(self, away: Bool[Tensor, "variant token"]) -> Tensor:
        run = self._run

        def of_each(given: Tensor) -> Tensor:
            return given.expand(len(away), *given.shape[1:])

        values, *rest = arguments(run.encoder, self._inputs)
        values = of_each(values)
        valid, segments = (None if each is None else of_each(each) for each in rest)
        mask = None
        if self.how == "mask":
            values = torch.where(away, torch.tensor(self.mask_id, device=away.device), values)
        else:
            mask = ~away[:, None].expand(-1, away.shape[1], -1)
        with at_rest(run.model):
            output: Tensor = run.model(values, valid, segments, mask).output
        return output


def mask_name(encoder: LoadedEncoder) -> str:
    """This model's spelling of [MASK]."""
    reader = encoder.reader
    if isinstance(reader, TextReader):
        for spelling in MASKS:
            for name in (spelling, spelling.upper()):
                if reader.id_of(name) is not None:
                    return name
    raise SelectionError(f'{encoder.card.name} has no [MASK]; use how="attention".')


def mask_id(encoder: LoadedEncoder) -> int:
    """The id of [MASK]."""
    name, reader = mask_name(encoder), encoder.reader
    assert isinstance(reader, TextReader)
    number = reader.id_of(name)
    assert number is not None
    return int(number)
