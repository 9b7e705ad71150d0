"""The vectors of a set of items, by every pooling at every state, in length-sorted batches."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.analyses.collection.separation import (
    COLUMNS,
    ItemPlane,
    Separation,
    SeparationTable,
    Square,
    cosines,
    item_plane,
    separation,
)
from viz_encoder.arguments import Most, OneOf, public, read_index
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import Sample
from viz_encoder.inputs.items import Item
from viz_encoder.result import Columns, SeriesResult, TableResult
from viz_encoder.shown import OneLine, facts_html, one_line
from viz_encoder.trace.batches import Batch, TellItems, batches
from viz_encoder.trace.states import choose_methods, choose_states, left_out

WORD = "word"  # the mean over the tokens of each item's own word


@dataclass(frozen=True, repr=False)
class Neighbor(OneLine):
    """An item, and its cosine with the one that was asked about."""

    item: int
    cosine: float
    same_label: bool | None  # None: the set has no labels


@dataclass(frozen=True, repr=False)
class Neighbors(SeriesResult[Neighbor], items="nearest"):
    """The nearest items of one, the nearest first."""

    nearest: tuple[Neighbor, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Collection(TableResult):
    """Vectors of all items; methods differ in width, so each has an array of its own."""

    model: str
    items: tuple[Item, ...]
    methods: tuple[str, ...]
    states: tuple[int, ...]  # 0 = embeddings, the model's number of layers = the output
    vectors: dict[str, Float[np.ndarray, "state item d_pooled"]]
    n_tokens: tuple[int, ...]  # per item, including special tokens
    notes: tuple[str, ...]  # what was cut or replaced, per item
    left_out: dict[str, str]  # method: why this model has none

    def __repr__(self) -> str:
        """One line: the model, how many items, the methods and states."""
        labels = f", {len(set(self.labels))} labels" if self.labels else ""
        made = f"{len(self.methods)} poolings × {len(self.states)} states"
        return one_line(f"<Collection of {self.model}: {len(self.items):,} items{labels}, {made}>")

    def _repr_html_(self) -> str:
        counts = Counter(self.labels)
        facts = {
            "Items": f"{len(self.items):,}, {sum(self.n_tokens):,} tokens",
            "Labels": ", ".join(f"{label} ({count})" for label, count in counts.most_common(8)),
            "Poolings": ", ".join(self.methods),
            "States": ", ".join(map(str, self.states)),
            "Notes": " ".join(self.notes),
        }
        return facts_html(f"Collection of {self.model}", facts)

    def columns(self) -> Columns:
        """One line per item; `table()` is what compares the poolings."""
        return {
            "item": list(range(len(self.items))),
            "name": list(self.names),
            "label": [item.label for item in self.items],
            "word": [item.word for item in self.items],
            "n_tokens": list(self.n_tokens),
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The texts, or the pictures' file names."""
        return tuple(item.name for item in self.items)

    @property
    def labels(self) -> tuple[str, ...]:
        """One per item; () if the set has none."""
        return tuple(item.label for item in self.items) if self.items[0].label else ()

    @public
    def of(self, method: str, state: int) -> Float[np.ndarray, "item d_pooled"]:
        """The vectors of one method at one state; -1 = the model's last, if it was run."""
        if method not in self.vectors:
            raise SelectionError(
                f"There is no pooling {method!r} here; choose one of {', '.join(self.methods)}."
            )
        wanted = self.states[-1] if state == -1 else state
        if wanted not in self.states:
            raise SelectionError(
                f"State {state} was not run; choose one of {', '.join(map(str, self.states))}."
            )
        return self.vectors[method][self.states.index(wanted)]

    def cosine(self, method: str, state: int = -1) -> Square:
        """Cosine of every two items; NaN in the row and column of a zero vector."""
        return cosines(self.of(method, state))

    @public
    def neighbors(self, method: str, state: int = -1, *, item: int, k: Most = 5) -> Neighbors:
        """The k items of the largest cosine with this one, itself left out; ties by number."""
        read_index("item", item, len(self.items))
        row = cosines(self.of(method, state), item)[0]
        order = [i for i in np.argsort(-row, kind="stable") if i != item and not np.isnan(row[i])]
        labels = self.labels
        nearest = (
            Neighbor(int(i), float(row[i]), labels[i] == labels[item] if labels else None)
            for i in order[:k]
        )
        return Neighbors(tuple(nearest))

    def plane(self, method: str, state: int = -1) -> ItemPlane:
        """Project all items onto the first two principal components of their vectors."""
        return item_plane(self.of(method, state))

    @public
    def table(self, by: Annotated[str, OneOf(COLUMNS)] = "silhouette") -> SeparationTable:
        """Every method at every state, the best first; NaN comes last.

        Raises:
            SelectionError: the set has no labels, or there is no such column to sort by.
        """
        if not self.labels:
            raise SelectionError("The set has no labels; give each item one to compare poolings.")
        rows = sorted(self._rows, key=lambda row: -np.nan_to_num(getattr(row, by), nan=-2))
        return SeparationTable(tuple(rows))

    @cached_property
    def _rows(self) -> list[Separation]:
        return [
            separation(method, state, self.of(method, state), self.labels)
            for method in self.methods
            for state in self.states
        ]


@public
def collection(
    encoder: LoadedEncoder,
    items: Sequence[Item | str],
    *,
    methods: Sequence[str] | None = None,
    states: Sequence[int] | None = None,
    queries: Mapping[int, Float[np.ndarray, " d_model"]] | None = None,
    prompt: str | None = None,
    progress: TellItems | None = None,
) -> Collection:
    """Run all items in length-sorted batches and pool each by every method at every state.

    With "declared" among the methods, all texts are read as sentence-transformers reads them: cut
    where the model declares it, after its default prompt; `notes` say what that changed.

    Args:
        encoder: the model; hidden states are read through its final norm, if it has one.
        items: what `read_set` returned, or texts.
        methods: all that this model has if not given; "word" = the mean over the tokens of
            each item's word.
        states: 0 = embeddings, -1 = the output; all if not given.
        prompt: the name of one of `encoder.declared.prompts`, which goes before each text.
        queries: for "attention": state → the query learned there; it is needed for each.
        progress: called with the number of items done and of all; if it returns False, the run
            stops with a TraceError.

    Raises:
        InputError: an item that cannot be read, by its number; a word that is not in its text.
        SelectionError: no such state, method or prompt.
    """
    given = tuple(Item(each) if isinstance(each, str) else each for each in items)
    extra = [WORD] if given and all(item.word for item in given) else []
    chosen = choose_methods(encoder, methods, [*extra, *(["attention"] if queries else [])])
    at = choose_states(states, encoder.config.n_layers)
    learned = {layer: torch.tensor(query) for layer, query in (queries or {}).items()}
    if "attention" in chosen and not set(at) <= set(learned):
        missing = sorted(set(at) - set(learned))
        raise SelectionError(
            f"No query was learned for state {missing[0]}; choose a state that has one."
        )
    found: dict[tuple[str, int], Float[np.ndarray, "item d_pooled"]] = {}
    samples: dict[int, Sample] = {}
    lengths: dict[int, int] = {}
    sources = [item.source for item in given]
    reads = partial(encoder.read, prompt=prompt, declared="declared" in chosen)
    for batch in batches(encoder, sources, at, methods=chosen, read=reads, progress=progress):
        samples |= dict(zip(batch.numbers, batch.samples, strict=True))
        lengths |= dict(zip(batch.numbers, batch.states.valid.sum(dim=1).tolist(), strict=True))
        words = _words(batch, given) if WORD in chosen else None
        for place, layer in enumerate(at):
            for method in chosen:
                pooled = _pooled(batch, method, place, learned.get(layer), words)
                key = method, layer
                if key not in found:
                    found[key] = np.empty((len(given), pooled.shape[1]), np.float32)
                found[key][list(batch.numbers)] = pooled.cpu().numpy()
    read = [samples[number] for number in range(len(given))]
    return Collection(
        model=encoder.card.name,
        items=given,
        methods=chosen,
        states=at,
        vectors={name: np.stack([found[name, layer] for layer in at]) for name in chosen},
        n_tokens=tuple(lengths[number] for number in range(len(given))),
        notes=tuple(f"Item {n}: {s}" for n, sample in enumerate(read, 1) for s in sample.notes),
        left_out=left_out(encoder),
    )


def _pooled(
    batch: Batch, method: str, place: int, query: Tensor | None, words: Tensor | None
) -> Float[Tensor, "batch d_pooled"]:
    if method == WORD:
        return batch.states.pooled("mean", place, within=words)
    return batch.states.pooled(method, place, query=query)


def _words(batch: Batch, items: Sequence[Item]) -> Bool[Tensor, "batch token"]:
    """True at the tokens of each item's word, where it first stands as a whole word."""
    within = torch.zeros_like(batch.states.valid)
    for row, (number, sample) in enumerate(zip(batch.numbers, batch.samples, strict=True)):
        at = _tokens_of(items[number].word, sample)
        if not at:
            raise InputError(
                f"Item {number + 1}: the word {items[number].word!r} is not among the tokens "
                "read from this text; write it as it appears there."
            )
        within[row, at] = True
    return within


def _tokens_of(word: str, sample: Sample) -> list[int]:
    """The tokens of its first stand as a whole word, after a prompt."""
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    for found in whole.finditer(sample.texts[0]):
        start, end = found.span()
        tokens = [
            at
            for at, (first, stop) in enumerate(sample.spans)
            if at >= sample.n_prompt and not sample.special[at] and first < end and start < stop
        ]
        if tokens:
            return tokens
    return []
