"""Examples: where each head's weight is strongest, the top k texts of each head."""

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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


class Candidate(NamedTuple):
    """An example without its text; the order is that of the list: strongest first, then by item."""

    minus_score: float
    item: int
    query: int
    key: int
    query_token: str
    key_token: str
    spans: tuple[Span, Span]
    sides: tuple[int, int]


@dataclass(eq=False)
class StrongestPlaces:
    """The k strongest places of each head, one per text, and the texts that they are in.

    The same text twice counts as one, that of the lower number.
    """

    k: int
    places: dict[tuple[int, int], list[Candidate]] = field(default_factory=dict)
    texts: dict[int, tuple[str, ...]] = field(default_factory=dict)

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
            where = float(score[at]), int(query[at]), int(key[at])
            self.texts.setdefault(items[row], samples[row].texts)
            self._keep((layer, head), _place(items[row], samples[row], *where))
        self._forget()

    def _candidates(
        self, items: Int[np.ndarray, " text"], score: Float[np.ndarray, "text layer head"]
    ) -> Iterator[tuple[int, int, int]]:
        """Candidates for a head's k strongest, by text number, layer and head."""
        order = np.lexsort((np.broadcast_to(items[:, None, None], score.shape), -score), axis=0)
        for layer, head in np.ndindex(score.shape[1:]):
            kept = self.places.setdefault((layer, head), [])
            for row in order[:, layer, head].tolist():
                value = score[row, layer, head]
                weaker = len(kept) >= self.k and (-value, items[row]) > kept[-1][:2]
                if value < 0 or weaker:  # below 0: a text of special tokens alone
                    break
                yield row, layer, head

    def _keep(self, head: tuple[int, int], place: Candidate) -> None:
        """Put a place among its head's, unless a better one is in the same text."""
        kept = self.places.setdefault(head, [])
        text = self.texts[place.item]
        same = next((one for one in kept if text and self.texts[one.item] == text), None)
        if same is not None:
            if same <= place:
                return
            kept.remove(same)
        insort(kept, place)
        del kept[self.k :]

    def _forget(self) -> None:
        """Let go of texts that no place is in."""
        used = {place.item for kept in self.places.values() for place in kept}
        self.texts = {item: self.texts[item] for item in sorted(used)}

    def merge(self, other: "StrongestPlaces") -> None:
        """Add those of another part."""
        self.texts |= other.texts
        for head, places in other.places.items():
            for place in places:
                self._keep(head, place)
        self._forget()

    def examples(self) -> Examples:
        """Examples in readable form."""
        return Examples(
            tuple(
                _example(*head, place, self.texts[place.item])
                for head, places in sorted(self.places.items())
                for place in places
            )
        )

    def as_data(self) -> dict[str, Any]:
        """Plain lists for JSON."""
        places = [[*head, *map(list, kept)] for head, kept in sorted(self.places.items())]
        return {"k": self.k, "places": places, "texts": [[i, *t] for i, t in self.texts.items()]}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "StrongestPlaces":
        """Rebuild from `as_data`."""
        places = {
            (layer, head): [_from_list(*values) for values in kept]
            for layer, head, *kept in data["places"]
        }
        return cls(data["k"], places, {item: tuple(texts) for item, *texts in data["texts"]})


def _place(item: int, sample: Sample, score: float, query: int, key: int) -> Candidate:
    spans = [sample.spans[at] if sample.spans else (0, 0) for at in (query, key)]
    sides = sample.segment_of(query), sample.segment_of(key)
    names = sample.tokens[query], sample.tokens[key]
    return Candidate(-score, item, query, key, *names, (spans[0], spans[1]), sides)


def _from_list(
    minus_score: float,
    item: int,
    query: int,
    key: int,
    query_token: str,
    key_token: str,
    spans: list[list[int]],
    sides: list[int],
) -> Candidate:
    at, to = ((start, stop) for start, stop in spans)
    names = query_token, key_token
    return Candidate(minus_score, item, query, key, *names, (at, to), (sides[0], sides[1]))


def _example(layer: int, head: int, place: Candidate, texts: tuple[str, ...]) -> Example:
    return Example(
        layer=layer,
        head=head,
        score=-place.minus_score,
        item=place.item,
        texts=texts,
        query=place.query,
        key=place.key,
        query_token=place.query_token,
        key_token=place.key_token,
        query_span=place.spans[0],
        key_span=place.spans[1],
        query_side=place.sides[0],
        key_side=place.sides[1],
    )
