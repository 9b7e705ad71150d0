"""MiniLM: how far a sentence moves from its neighbor without the words that a method names."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

import viz_encoder as vz
from benchmarks.faithfulness.asked import Asked
from benchmarks.faithfulness.methods import Method, methods
from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder

EVERY = 4  # of the shipped corpus of 240 sentences
TOPS = (1, 2, 3)  # words that are taken away
SETTINGS = ("toward the other vector", "against the other text", "the vector")


@dataclass(frozen=True)
class Case:
    """A sentence and what is asked: the cosine to its nearest neighbor among the others.

    known: the cosine without some tokens, masked and removed; methods often name the same words.
    """

    asked: Asked
    known: dict[tuple[int, ...], tuple[float, float]] = field(default_factory=dict)

    def drops(self, values: np.ndarray) -> np.ndarray:
        """What the cosine loses without the words of the largest values: "way top"."""
        units = self.asked.units
        order = np.argsort([-values[list(unit)].sum() for unit in units], kind="stable")
        gone = [tuple(sorted(at for unit in order[:top] for at in units[unit])) for top in TOPS]
        untouched = np.array(self._without(()))
        return np.stack([untouched - self._without(each) for each in gone], axis=1)

    @torch.no_grad()
    def _without(self, gone: tuple[int, ...]) -> tuple[float, float]:
        if gone not in self.known:
            asked = self.asked
            kept = [at for at in range(asked.n_tokens) if at not in gone]
            removed = asked.encoder.model.embed(asked.inputs.values[:, kept])
            both = asked.score(asked.replaced(gone)), asked.score(removed)
            self.known[gone] = float(both[0]), float(both[1])
        return self.known[gone]


def corpus() -> list[str]:
    """The shipped corpus, a sentence a line."""
    return asset("examples/corpus/sentences.txt").read_text(encoding="utf-8").splitlines()


def cases(encoder: LoadedEncoder, texts: Sequence[str], every: int = EVERY) -> list[Case]:
    """Some of the sentences; the neighbor of each is looked for among all of them."""
    outputs = [vz.capture(encoder, text).output for text in texts]
    vectors = F.normalize(torch.stack([output.mean(dim=0) for output in outputs]), dim=-1)
    near = (vectors @ vectors.T).fill_diagonal_(-1.0).argmax(dim=1).tolist()
    chosen = range(0, len(texts), every)
    return [_case(encoder, texts[at], texts[near[at]], vectors[near[at]]) for at in chosen]


def _case(encoder: LoadedEncoder, text: str, other: str, vector: Tensor) -> Case:
    inputs = encoder.read(text)
    words = inputs.samples[0].words
    units = [
        tuple(at for at, its in enumerate(words) if its == word)
        for word in sorted({*words} - {None})
    ]
    asked = ({"toward": vector.numpy()}, {"of": "pooled", "against": other}, {"of": "pooled"})
    settings = dict(zip(SETTINGS, asked, strict=True))
    effect = {"measure": "pooled"}
    return Case(Asked(encoder, inputs, vector, units, unit=True, settings=settings, effect=effect))


def mean_drops(method: Method, cases: Sequence[Case]) -> np.ndarray:
    """Mean over the sentences, masked and removed: "way top"."""
    return np.mean([case.drops(method.measure(case.asked)) for case in cases], axis=0)


def measured() -> dict[str, list[str]]:
    """The cells of the table, by the name of the row."""
    each = cases(vz.load("all-MiniLM-L6-v2", device="cpu"), corpus())
    found = {method: mean_drops(method, each) for method in methods(*SETTINGS)}
    return {method.name: [f"{drop:.3f}" for drop in found[method].ravel()] for method in found}
