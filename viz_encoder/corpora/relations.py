"""Relations: which head looks along which relation of a treebank, beside what needs no head."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from viz_encoder.checkpoints import LoadedEncoder, as_loaded, load
from viz_encoder.corpora.treebank import TreeSentence, read_treebank
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import Inputs, Sample
from viz_encoder.result import Columns, TableResult
from viz_encoder.trace import Trace
from viz_encoder.trace.batches import by_length, joined
from viz_encoder.trace.capture import captured

DIRECTIONS = ("to_head", "to_dependent")
AT_ONCE = 256  # sentences
Told = Callable[[int], bool | None]


@dataclass(frozen=True, eq=False, repr=False)
class Relations(TableResult):
    """How often each head looks along each relation, beside a fixed offset and random weights.

    The best head is chosen on the sentences it is measured on, and so are the best offset and the
    best head with random weights; a head that is not clearly above both says nothing about syntax
    (Htut et al., 2019, arXiv:1911.12246).

    accuracy: share of the arcs of a relation for which, of all other words of the sentence, the
        head gives the most to the right one.
    random: the same of this encoder with random weights.
    offsets: the fixed offset in words that is right most often; offset_accuracy: how often.
    n_arcs: arcs of each relation; n_left_out counts those cut off or not seen by the tokenizer.
    """

    relations: tuple[str, ...]
    n_arcs: tuple[int, ...]
    accuracy: Float[np.ndarray, "relation layer head"]
    random: Float[np.ndarray, "relation layer head"]
    offsets: tuple[int, ...]
    offset_accuracy: tuple[float, ...]
    direction: str
    n_sentences: int
    n_left_out: int

    def best(self, relation: str) -> tuple[int, int]:
        """The head that is right most often, as (layer, head).

        Raises:
            SelectionError: no such relation.
        """
        if relation not in self.relations:
            names = ", ".join(self.relations)
            raise SelectionError(f"There is no relation {relation!r}; choose one of {names}.")
        return _best(self.accuracy[self.relations.index(relation)])

    def columns(self) -> Columns:
        """One line per relation, the most frequent first."""
        best, random = ([_best(one) for one in array] for array in (self.accuracy, self.random))
        return {
            "relation": list(self.relations),
            "arcs": list(self.n_arcs),
            "layer": [layer for layer, _ in best],
            "head": [head for _, head in best],
            "accuracy": self.accuracy.max(axis=(1, 2)).tolist(),
            "offset": list(self.offsets),
            "offset_accuracy": list(self.offset_accuracy),
            "random_layer": [layer for layer, _ in random],
            "random_head": [head for _, head in random],
            "random_accuracy": self.random.max(axis=(1, 2)).tolist(),
        }


def relations(
    encoder: Any,
    sentences: str | Path | Iterable[TreeSentence],
    *,
    direction: str = "to_head",
    least: int = 10,
    seed: int = 0,
    progress: Told | None = None,
) -> Relations:
    """Which head looks along which relation (after Clark et al., 2019, arXiv:1906.04341).

    From a word to a word, attention is the mean over the one's tokens of the sum over the other's;
    special tokens do not count. The encoder runs twice: as it is, and with random weights.

    Args:
        encoder: what `vz.load` returned, with its tokenizer.
        sentences: a CoNLL-U file, "grammar" (built in, for the model of that name), or sentences.
        direction: "to_head", from a word to the one it depends on, or "to_dependent", back.
        least: relations with fewer arcs are left out.
        seed: of the random weights.
        progress: called with the number of sentences done; if it returns False, what was done
            so far is the result.

    Raises:
        InputError: no sentence, a file that is not CoNLL-U, or an encoder without a tokenizer.
        SelectionError: no such direction, or no relation with so many arcs.
    """
    loaded = as_loaded(encoder)
    if loaded is None or loaded.kind != "text" or loaded.reader is None:
        raise InputError("relations needs an encoder of texts with its tokenizer: vz.load(name).")
    if direction not in DIRECTIONS:
        raise SelectionError(f"direction is {direction!r}; choose one of {', '.join(DIRECTIONS)}.")
    given = read_treebank(sentences) if isinstance(sentences, str | Path) else iter(sentences)
    hits = Hits(loaded, with_random_weights(loaded, seed), direction)
    while part := tuple(islice(given, AT_ONCE)):
        hits.add(part)
        if progress is not None and progress(hits.n_sentences) is False:
            break
    return hits.result(least)


class Hits:
    """Counts of right guesses, by relation, of two encoders and of every fixed offset."""

    def __init__(self, *encoders_and_direction: Any) -> None:
        """Nothing is counted yet."""
        *self.encoders, self.direction = encoders_and_direction
        self.right: list[dict[str, np.ndarray]] = [{} for _ in self.encoders]
        self.offsets: dict[str, Counter[int]] = {}
        self.n_sentences = self.n_left_out = 0

    def add(self, sentences: tuple[TreeSentence, ...]) -> None:
        """Some sentences, run in batches of like length."""
        first: LoadedEncoder = self.encoders[0]
        read = {at: first.read(one.text) for at, one in enumerate(sentences) if one.text.strip()}
        for group in by_length(first, read):
            inputs = joined(first, [read[at] for at in group])
            self._count([sentences[at] for at in group], inputs)
        self.n_sentences += len(sentences)

    def _count(self, sentences: list[TreeSentence], inputs: Inputs) -> None:
        known = [
            _known(one, _tokens_of(one, sample), self.direction)
            for one, sample in zip(sentences, inputs.samples, strict=True)
        ]
        for sentence, (_, arcs) in zip(sentences, known, strict=True):
            self.n_left_out += len(sentence.arcs) - len(arcs)
            for query, key, name in arcs:
                self.offsets.setdefault(name, Counter())[key - query] += 1
        for encoder, right in zip(self.encoders, self.right, strict=True):
            traces = captured(encoder, inputs)
            for trace, (of_token, arcs) in zip(traces, known, strict=True):
                if arcs:
                    _add_hits(right, trace, of_token, arcs)

    def result(self, least: int) -> Relations:
        """The relations with at least so many arcs, the most frequent first."""
        if not self.n_sentences:
            raise InputError("The treebank holds no sentence.")
        counts = {name: found.total() for name, found in self.offsets.items()}
        names = sorted(counts, key=lambda name: (-counts[name], name))
        names = [name for name in names if counts[name] >= least]
        if not names:
            raise SelectionError(f"No relation has {least} arcs; give more sentences or least=1.")
        shares = [np.stack([of[name] / counts[name] for name in names]) for of in self.right]
        common = [min(self.offsets[name].items(), key=lambda one: (-one[1], one)) for name in names]
        return Relations(
            relations=tuple(names),
            n_arcs=tuple(counts[name] for name in names),
            accuracy=shares[0],
            random=shares[1],
            offsets=tuple(offset for offset, _ in common),
            offset_accuracy=tuple(
                n / counts[name] for name, (_, n) in zip(names, common, strict=True)
            ),
            direction=self.direction,
            n_sentences=self.n_sentences,
            n_left_out=self.n_left_out,
        )


Arcs = list[tuple[int, int, str]]


def _add_hits(
    right: dict[str, np.ndarray],
    trace: Trace,
    of_token: Float[np.ndarray, "word token"],
    arcs: Arcs,
) -> None:
    """Of each arc, the heads that give the most to the right word of all the others."""
    sums = torch.from_numpy(of_token).float()
    means = sums / sums.sum(dim=1, keepdim=True).clamp_min(1)
    for number, layer in enumerate(trace.layers):
        n = sums.shape[1]  # without padding
        weights = layer.weights(slice(0, layer.n_heads), slice(0, n))[:, :, :n].cpu()
        between = means @ weights @ sums.T
        between.diagonal(dim1=1, dim2=2).fill_(-1)
        between[:, :, sums.sum(dim=1) == 0] = -1  # words that no token is of
        guessed = between.argmax(dim=2).numpy()
        for query, key, name in arcs:
            found = right.setdefault(name, np.zeros((trace.n_layers, trace.n_heads)))
            found[number] += guessed[:, query] == key


def _known(
    sentence: TreeSentence, of_token: Float[np.ndarray, "word token"], direction: str
) -> tuple[Float[np.ndarray, "word token"], Arcs]:
    """The arcs both of whose words have tokens, from the word that looks to the one looked at."""
    there = of_token.sum(axis=1) > 0
    back = direction == "to_dependent"
    arcs = [
        (head, word, name) if back else (word, head, name)
        for word, head, name in sentence.arcs
        if there[word] and there[head]
    ]
    return of_token, arcs


def _tokens_of(sentence: TreeSentence, sample: Sample) -> Float[np.ndarray, "word token"]:
    """1 where a token is of a word: where their characters meet."""
    found = np.zeros((len(sentence.spans), len(sample.tokens)))
    for at, ((start, stop), special) in enumerate(zip(sample.spans, sample.special, strict=True)):
        if special or stop <= start:
            continue
        for word, (first, last) in enumerate(sentence.spans):
            if first < stop and start < last:
                found[word, at] = 1
    return found


def with_random_weights(encoder: LoadedEncoder, seed: int) -> LoadedEncoder:
    """The same encoder and reader with seeded random weights."""
    random = load(encoder.config, seed=seed, device=str(encoder.device), dtype=encoder.dtype)
    return replace(encoder, model=random.model, card=random.card, declared=None)


def _best(shares: Float[np.ndarray, "layer head"]) -> tuple[int, int]:
    layer, head = np.unravel_index(int(shares.argmax()), shares.shape)
    return int(layer), int(head)
