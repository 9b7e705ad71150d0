"""Examples: where each head's weight is strongest, the top k texts of each head."""

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from viz_encoder.inputs import Sample
from viz_encoder.result import Columns, SeriesResult
from viz_encoder.shown import OneLine

Span = tuple[int, int]
PLAIN = ("layer", "head", "score", "item", "query", "key", "query_token", "key_token")


@dataclass(frozen=True, repr=False)
class Example(OneLine):
    """A text in which a head's weight is strongest, and its position.

    score: the head's largest weight in this text from one token to another, or to itself, neither
        of them special.
    item: the text's number in the corpus, from 0. texts: the text, or both of a pair.
    query, key: token numbers, as in a trace of the text; spans are characters of the text that
        query_side and key_side name, 0 = text A.
    """

    layer: int
    head: int
    score: float
    item: int
    texts: tuple[str, ...]
    query: int
    key: int
    query_token: str
    key_token: str
    query_span: Span = (0, 0)
    key_span: Span = (0, 0)
    query_side: int = 0
    key_side: int = 0

    @property
    def marked(self) -> str:
        """The query's text with the query in [ ] and the key in { }, where both are in it."""
        text = self.texts[self.query_side] if self.texts else ""
        marks = [(self.query_span, "[", "]")]
        if self.key_side == self.query_side and self.key_span == self.query_span:
            marks = [(self.query_span, "[{", "}]")]
        elif self.key_side == self.query_side:
            marks.append((self.key_span, "{", "}"))
        for (start, stop), left, right in sorted(marks, reverse=True):
            if stop > start:
                text = text[:start] + left + text[start:stop] + right + text[stop:]
        return text


@dataclass(frozen=True, eq=False, repr=False)
class Examples(SeriesResult[Example], items="found"):
    """Examples, head by head, the strongest first."""

    found: tuple[Example, ...]

    def columns(self) -> Columns:
        """One line per example; text_b is "" except for pairs."""
        columns: Columns = {name: [getattr(one, name) for one in self] for name in PLAIN}
        columns["text"] = [one.texts[0] if one.texts else "" for one in self]
        columns["text_b"] = [one.texts[1] if len(one.texts) > 1 else "" for one in self]
        for side in ("query", "key"):
            spans = [getattr(one, f"{side}_span") for one in self]
            columns[f"{side}_side"] = [getattr(one, f"{side}_side") for one in self]
            columns[f"{side}_start"] = [start for start, _ in spans]
            columns[f"{side}_stop"] = [stop for _, stop in spans]
        return columns


@dataclass(eq=False)
class StrongestPlaces:
    """The k strongest places of each head, one per text, the strongest first.

    The same text twice counts as one, that of the lower number.
    """

    k: int
    places: dict[tuple[int, int], list[Example]] = field(default_factory=dict)

    def add(
        self,
        items: Sequence[int],
        samples: Sequence[Sample],
        score: Float[np.ndarray, "text layer head"],
        query: Int[np.ndarray, "text layer head"],
        key: Int[np.ndarray, "text layer head"],
    ) -> None:
        """Keep what is among the k strongest."""
        if not self.k:
            return
        for row, layer, head in self._candidates(np.asarray(items), score):
            at = row, layer, head
            where = layer, head, float(score[at]), items[row]
            self._keep(_example(*where, samples[row], int(query[at]), int(key[at])))

    def _candidates(
        self, items: Int[np.ndarray, " text"], score: Float[np.ndarray, "text layer head"]
    ) -> Iterator[tuple[int, int, int]]:
        order = np.lexsort((np.broadcast_to(items[:, None, None], score.shape), -score), axis=0)
        for layer, head in np.ndindex(score.shape[1:]):
            kept = self.places.setdefault((layer, head), [])
            for row in order[:, layer, head].tolist():
                value = score[row, layer, head]
                weaker = len(kept) >= self.k and (-value, items[row]) > _order(kept[-1])[:2]
                if value < 0 or weaker:  # below 0: a text of special tokens alone
                    break
                yield row, layer, head

    def _keep(self, place: Example) -> None:
        """Put a place among its head's, unless a better one is in the same text."""
        kept = self.places.setdefault((place.layer, place.head), [])
        same = next((one for one in kept if place.texts and one.texts == place.texts), None)
        if same is not None:
            if _order(same) <= _order(place):
                return
            kept.remove(same)
        insort(kept, place, key=_order)
        del kept[self.k :]

    def merge(self, other: "StrongestPlaces") -> None:
        """Add those of another part."""
        for place in other.examples():
            self._keep(place)

    def examples(self) -> Examples:
        """All of them, head by head."""
        return Examples(tuple(one for _, kept in sorted(self.places.items()) for one in kept))

    def as_data(self) -> dict[str, Any]:
        """Plain lists for JSON, each text once."""
        found = self.examples()
        numbers = {texts: at for at, texts in enumerate(dict.fromkeys(one.texts for one in found))}
        places = [[*(vars(one) | {"texts": numbers[one.texts]}).values()] for one in found]
        return {"k": self.k, "places": places, "texts": list(numbers)}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "StrongestPlaces":
        """Rebuild from `as_data`."""
        found, names = cls(data["k"]), [each.name for each in fields(Example)]
        for row in data["places"]:
            values = [tuple(each) if isinstance(each, list) else each for each in row]
            given: dict[str, Any] = dict(zip(names, values, strict=True))
            one = Example(**given | {"texts": tuple(data["texts"][given["texts"]])})
            found.places.setdefault((one.layer, one.head), []).append(one)
        return found


def _order(place: Example) -> tuple[float, int, int, int]:
    return -place.score, place.item, place.query, place.key


def _example(
    layer: int, head: int, score: float, item: int, sample: Sample, query: int, key: int
) -> Example:
    at, to = (sample.spans[at] if sample.spans else (0, 0) for at in (query, key))
    names = sample.tokens[query], sample.tokens[key]
    sides = sample.segment_of(query), sample.segment_of(key)
    return Example(layer, head, score, item, sample.texts, query, key, *names, at, to, *sides)
