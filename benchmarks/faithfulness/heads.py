"""Heads: shares and attention weights beside what removing each head of MiniLM does to one score."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

import viz_encoder as vz
from viz_encoder.attribution import Attribution
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.trace import Trace


@dataclass(frozen=True)
class Example:
    """Two texts that differ in one word, and the token whose final states are compared."""

    name: str
    text: str
    word: str
    other: str
    token: str


EXAMPLES = (
    Example("it, tired / wide", "The animal didn't cross the street because it was too tired", "tired", "wide", "it"),
    Example("it, big / small", "The trophy does not fit into the suitcase because it is too big", "big", "small", "it"),
    Example("nurse, she / he", "The nurse told the patient that she would be late", "she", "he", "nurse"),
    Example("bank, river / city", "They sat on the bank of the river and watched the boats", "river", "city", "bank"),
)  # fmt: skip
COLUMNS = (
    *("example", "shares", "first text alone", "first 3 layers", "last 3 layers"),
    *("weight on the word", "first text alone", "largest weight"),
    *("shares, without the 2 largest effects", "weight on the word, the same"),
    *("first by share: share, effect", "first by effect: share, effect"),
)


@dataclass(frozen=True)
class Compared:
    """Of each head, "layer head", for the distance of the two states along a fixed direction.

    found: the distance, split.
    effects: what it loses with the head removed: in the first run, and in the second.
    to_word: the token's weight on the word that differs, in the first run.
    largest: the largest weight in that row.
    """

    found: Attribution
    effects: tuple[np.ndarray, np.ndarray]
    to_word: np.ndarray
    largest: np.ndarray

    @property
    def together(self) -> np.ndarray:
        """The effect of removing the head in both runs."""
        return self.effects[0] - self.effects[1]

    def cells(self) -> list[str]:
        shares, both = self.found.heads, self.together
        alone = self.found.parts[0].flow.brought.sum(axis=-1)
        middle, rest = len(shares) // 2, np.argsort(-abs(both), axis=None)[2:]
        near = (
            *((shares, both), (alone, self.effects[0])),
            *((shares[:middle], both[:middle]), (shares[middle:], both[middle:])),
            *((self.to_word, both), (self.to_word, self.effects[0]), (self.largest, both)),
            *((each.ravel()[rest], both.ravel()[rest]) for each in (shares, self.to_word)),
        )
        return [*(f"{pearson(*pair):.2f}" for pair in near), self._first(shares), self._first(both)]

    def _first(self, values: np.ndarray) -> str:
        """The head with the largest value, and its share and effect as parts of the distance."""
        at = np.unravel_index(values.argmax(), values.shape)
        parts = (each[at] / self.found.score for each in (self.found.heads, self.together))
        return f"{at[0]}.{at[1]}: " + ", ".join(f"{part:.2f}" for part in parts)


def pearson(one: np.ndarray, two: np.ndarray) -> float:
    return float(np.corrcoef(one.ravel(), two.ravel())[0, 1])


def compared(encoder: LoadedEncoder, example: Example) -> Compared:
    """Each head alone removed from both runs, the direction held."""
    texts = example.text, example.text.replace(example.word, example.other)
    runs = [vz.capture(encoder, text) for text in texts]
    token, word = (runs[0].tokens.index(each) for each in (example.token, example.word))
    found = vz.attribute(encoder, runs[0], of="state", token=token, against=runs[1])
    states = [run.output[token] for run in runs]
    direction = (states[0] - states[1]) / (states[0] - states[1]).norm()
    effects = np.zeros((2, *found.heads.shape))
    for layer, head in product(*map(range, found.heads.shape)):
        with vz.ablate(encoder.model, {(layer, head): "zero"}):
            changed = [vz.capture(encoder, text).output[token] for text in texts]
        for which in range(2):
            effects[which, layer, head] = (states[which] - changed[which]) @ direction
    rows = _rows(runs[0], token)
    return Compared(found, (effects[0], effects[1]), rows[..., word], rows.max(axis=-1))


def _rows(run: Trace, token: int) -> np.ndarray:
    """The token's row in each head: "layer head key"."""
    return torch.stack([run.attention(layer)[:, token] for layer in range(run.n_layers)]).numpy()


def measured(n: int | None = None) -> dict[str, list[str]]:
    """The cells of the table, by the name of the example."""
    encoder = vz.load("all-MiniLM-L6-v2", device="cpu")
    return {each.name: compared(encoder, each).cells() for each in EXAMPLES[:n]}
