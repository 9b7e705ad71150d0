"""Relation hits: how often each head, and each fixed offset, points along an arc to its word."""

from collections import Counter
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.corpora.treebank import TreeSentence
from viz_encoder.inputs import Inputs, Sample
from viz_encoder.trace import Trace
from viz_encoder.trace.batches import by_length, joined
from viz_encoder.trace.capture import captured

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
