"""Methods: all that are compared, by the name of their row, with what each costs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np

import viz_encoder as vz
from benchmarks.faithfulness import references
from benchmarks.faithfulness.asked import Asked


@dataclass(frozen=True)
class Method:
    """One row: tokens with the largest values are those that carried the score.

    ours: the setting of `asked.settings` by which vz.attribute is asked; None for other methods.
    """

    name: str
    cost: str
    measure: Callable[[Asked], np.ndarray]
    ours: str | None = None


class Shares(NamedTuple):
    """What vz.attribute finds, of which the tables need no more."""

    tokens: np.ndarray
    heads: np.ndarray


@cache
def shares(asked: Asked, setting: str, through: str = "values") -> Shares:
    """Kept, since a sentence's tokens and its heads are in two tables."""
    found = vz.attribute(asked.encoder, asked.inputs, through=through, **asked.settings[setting])
    found = found[0] if isinstance(found, list) else found
    return Shares(found.tokens, found.heads)


def _tokens(asked: Asked, setting: str, through: str) -> np.ndarray:
    return shares(asked, setting, through).tokens


def ours(settings: tuple[str, ...], through: str) -> Iterator[Method]:
    """A row for each way to ask, with the cost of one or two runs."""
    rules = "" if through == "values" else ', through="attention"'
    for setting in settings:
        cost = "2 backward" if setting.endswith("text") else "1 backward"
        measure = partial(_tokens, setting=setting, through=through)
        yield Method(f"vz.attribute, {setting}{rules}", cost, measure, setting)


REFERENCES = (
    Method("AttnLRP by lxt", "1 backward", references.attn_lrp),
    Method("integrated gradients by captum", "20 backward", references.integrated_gradients),
    Method("gradient × input", "1 backward", references.gradient_times_input),
    Method("leave one out ([MASK], gray)", "T forwards", references.leave_one_out),
    Method("vz.effects.tokens (hidden from all)", "T forwards", references.hidden),
    Method("relevance (Chefer)", "1 backward", references.chefer),
    Method("attention rollout", "no run more", references.rollout),
    Method("mean attention of all heads", "no run more", references.mean_attention),
    Method("attention received, last layer", "no run more", references.received),
    Method("random", "none", references.chance),
)


def methods(*settings: str) -> tuple[Method, ...]:
    """Ours, asked in each of these ways and by both rules, then the others."""
    return (*ours(settings, "values"), *ours(settings, "attention"), *REFERENCES)
