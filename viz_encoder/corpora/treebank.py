"""Treebank: sentences with a head and a relation for each word (CoNLL-U), and heads that hit it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError
from viz_encoder.inputs import Inputs, Sample
from viz_encoder.shown import OneLine
from viz_encoder.trace import Trace
from viz_encoder.trace.batches import by_length, joined
from viz_encoder.trace.capture import captured
from viz_encoder.whole_file import shortened

BUILT_IN = {"grammar": "examples/grammar.conllu"}
N_COLUMNS = 10
ID, FORM, HEAD, RELATION, MISC = 0, 1, 6, 7, 9


@dataclass(frozen=True, repr=False)
class TreeSentence(OneLine):
    """One sentence: its text, the position of each word, and each word's head.

    heads: the number of the word that each depends on, from 0; None for the root, and where no
        head is annotated.
    relations: the name of the relation, without its subtype: "nsubj" for "nsubj:pass".
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    heads: tuple[int | None, ...]
    relations: tuple[str, ...]

    @property
    def arcs(self) -> tuple[tuple[int, int, str], ...]:
        """(word, the word it depends on, relation) of each word that depends on one."""
        found = zip(self.heads, self.relations, strict=True)
        return tuple((at, head, name) for at, (head, name) in enumerate(found) if head is not None)


def read_treebank(source: str | Path) -> Iterator[TreeSentence]:
    """The sentences of a CoNLL-U file (Nivre et al., 2020), or of a built-in one: "grammar".

    Words of a multiword token ("du" = "de" + "le") are read as words; empty nodes are left out.

    Raises:
        InputError: no such file, or a line that is not CoNLL-U.
    """
    name = str(source)
    path = Path(asset(BUILT_IN[name])) if name in BUILT_IN else Path(source)
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from _sentences(file, path.name)
    except OSError as fault:
        raise InputError(f"{shortened(path)} cannot be read: {fault.strerror}.") from fault
    except UnicodeDecodeError as fault:
        raise InputError(f"{path.name} is not UTF-8; save it as UTF-8 first.") from fault


def _sentences(lines: Iterable[str], name: str) -> Iterator[TreeSentence]:
    rows: list[list[str]] = []
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        if not line.strip():
            if rows:
                yield _sentence(rows, f"{name}, before line {number}")
            rows = []
        elif not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) != N_COLUMNS:
                raise InputError(
                    f"Line {number} of {name} has {len(cells)} columns; CoNLL-U has {N_COLUMNS}, "
                    "divided by tabs."
                )
            if cells[ID].isdigit():  # not 3-4, a multiword token, nor 5.1, an empty node
                rows.append(cells)
    if rows:
        yield _sentence(rows, f"the end of {name}")


def _sentence(rows: list[list[str]], where: str) -> TreeSentence:
    text, spans = "", []
    for row in rows:
        spans.append((len(text), len(text) + len(row[FORM])))
        text += row[FORM] if "SpaceAfter=No" in row[MISC].split("|") else f"{row[FORM]} "
    heads = tuple(_head(row[HEAD], len(rows), where) for row in rows)
    relations = tuple(row[RELATION].partition(":")[0] for row in rows)
    return TreeSentence(text.rstrip(), tuple(spans), heads, relations)


def _head(cell: str, n_words: int, where: str) -> int | None:
    if cell in ("0", "_"):
        return None
    if not cell.isdigit() or int(cell) > n_words:
        raise InputError(
            f"A head at {where} is {cell[:20]!r}; it must be the number of a word, up to {n_words}."
        )
    return int(cell) - 1


Arcs = list[tuple[int, int, str]]


class Hits:
    """Counts of right guesses, by relation, of two encoders and of every fixed offset."""

    def __init__(self, *encoders_and_direction: Any) -> None:
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


def _add_hits(
    right: dict[str, np.ndarray],
    trace: Trace,
    of_token: Float[np.ndarray, "word token"],
    arcs: Arcs,
) -> None:
    """Count, for each arc, the heads that give the right word the most weight of all others."""
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
