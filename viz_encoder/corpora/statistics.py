"""Statistics of a corpus: what each number of a head is, in words, and which measure it is of."""

import zlib
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from viz_encoder.attribution import attribute
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects import effect
from viz_encoder.inputs import Inputs
from viz_encoder.trace.capture import captured
from viz_encoder.trace.head_statistics import CONFIDENCE, ROLES, Statistic
from viz_encoder.trace.head_statistics import STATISTICS as OF_ONE_TEXT
from viz_encoder.trace.row_measures import head_distances, some_queries

EFFECT = Statistic(
    "Effect of removing the head",
    "1 − cosine",
    "how far the pooled vector turns when the head's output is set to zero (Michel et al., 2019)",
    over="Over the whole text.",
    most=lambda n_tokens: 2.0,
)
SHARE = Statistic(
    "What the head carried",
    "of the length",
    "how much of the pooled vector's length came through the head, up or down (its contribution)",
    over="Over the whole text.",
)
OF_MEASURE: dict[str, dict[str, Statistic]] = {
    "statistics": OF_ONE_TEXT | {"confidence": CONFIDENCE},
    "roles": ROLES,
    "effect": {"effect": EFFECT},
    "share": {"share": SHARE},
}
STATISTICS = {name: each for found in OF_MEASURE.values() for name, each in found.items()}


SOME_QUERIES = 16  # of a text, evenly spaced
FINE = 10_000
PerHead = Float[np.ndarray, "layer head"]


def is_sampled(item: int, share: float) -> bool:
    """Whether an item is in the sample, by its number alone, so that any engine takes the same."""
    return zlib.crc32(str(item).encode()) % FINE < share * FINE


def sampled_distances(
    encoder: LoadedEncoder, inputs: Sequence[Inputs]
) -> tuple[Float[np.ndarray, "one other"], int]:
    """The distance of every head to every other, summed over some inputs, and of how many.

    That of `vz.analyses.similar_heads` with most_queries=16.
    """
    n = encoder.config.n_layers * encoder.config.n_heads
    total = np.zeros((n, n))
    for one in inputs:
        trace = captured(encoder, one)[0]
        rows = some_queries(trace.valid, SOME_QUERIES)
        maps = [ran.weights(slice(0, ran.n_heads), rows.to(ran.q.device)) for ran in trace.layers]
        total += head_distances(torch.cat(maps).float()).numpy()
    return total, len(inputs)


def removal_effects(encoder: LoadedEncoder, one: Inputs) -> PerHead:
    """Angle by which the pooled vector turns without each head; see `vz.effect`."""
    return effect(encoder, one, measure="pooled").values[0]


def carried_shares(encoder: LoadedEncoder, one: Inputs) -> PerHead:
    """What each head brought to the pooled vector's length, as a part of it; see `vz.attribute`."""
    (found,) = attribute(encoder, one, of="pooled")
    return abs(found.heads) / found.score


# By measure: its place among the statistics, and how it is found for one text.
ON_TEXTS = {
    name: (list(STATISTICS).index(name), find)
    for name, find in (("effect", removal_effects), ("share", carried_shares))
}
