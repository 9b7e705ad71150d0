"""Statistics of a corpus: what each number of a head is, in words, and which measure it is of."""

import zlib
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from viz_encoder.analyses.similar_heads import some_queries
from viz_encoder.attribution import attribute
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects import effect
from viz_encoder.inputs import Inputs
from viz_encoder.trace import Trace
from viz_encoder.trace.capture import captured
from viz_encoder.trace.head_statistics import STATISTICS as OF_ONE_TEXT
from viz_encoder.trace.head_statistics import Statistic
from viz_encoder.trace.row_measures import entropies, js_distances, shares

FARTHEST = 8  # tokens before or after the query
OFFSETS = tuple(range(-FARTHEST, FARTHEST + 1))
NAMED_OFFSETS = {-1: "previous", 0: "same", 1: "next"}  # those of `survey`
WORDS = "special tokens and punctuation do not count as words. A pair needs words in both texts."


def offset_name(offset: int) -> str:
    """The statistic of an offset: "offset_-2", "previous", "same", "next", "offset_+2"."""
    return NAMED_OFFSETS.get(offset, f"offset_{offset:+d}")


def _offset(offset: int) -> Statistic:
    where = f"{abs(offset)} tokens {'after' if offset > 0 else 'before'}"
    return Statistic(
        f"Weight on the token {where}",
        "share",
        f"heads that look at the token {where}",
        "Queries that have no such token are left out.",
    )


CONFIDENCE = Statistic(
    "Confidence", "share", "how much of its weight a query gives to one key (Voita et al., 2019)"
)
KEY_ROLES = {
    "delimiter": Statistic(
        "Weight on delimiters", "share", "heads that look at special tokens other than the first"
    ),
    "sink": Statistic(
        "Weight on sinks", "share", "heads that look at the first token or at special tokens"
    ),
    "punctuation": Statistic(
        "Weight on punctuation", "share", "heads that look at punctuation; 0 if the text has none"
    ),
}
PAIR_ROLES = {
    "across": Statistic(
        "Weight on the other text of a pair",
        "share",
        "heads that look from words to words of the other text",
        over=f"Over the words of both texts; {WORDS}",
    ),
    "a_to_b": Statistic(
        "Weight from text A to text B",
        "share",
        "heads that look from words of text A to words of text B",
        over=f"Over the words of that text; {WORDS}",
    ),
    "b_to_a": Statistic(
        "Weight from text B to text A",
        "share",
        "heads that look from words of text B to words of text A",
        over=f"Over the words of that text; {WORDS}",
    ),
}
OFFSET_ROLES = {offset_name(at): _offset(at) for at in OFFSETS if at not in NAMED_OFFSETS}
OF_MEASURE: dict[str, dict[str, Statistic]] = {
    "statistics": OF_ONE_TEXT | {"confidence": CONFIDENCE},
    "roles": KEY_ROLES | PAIR_ROLES | OFFSET_ROLES,
}
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
OF_MEASURE |= {"effect": {"effect": EFFECT}, "share": {"share": SHARE}}
STATISTICS = {name: each for found in OF_MEASURE.values() for name, each in found.items()}


SOME_QUERIES = 16  # of a text, evenly spaced
FINE = 10_000
PerHead = Float[np.ndarray, "layer head"]


def is_sampled(item: int, share: float) -> bool:
    """Whether an item is in the sample, by its number alone, so that any engine takes the same."""
    return zlib.crc32(str(item).encode()) % FINE < share * FINE


def head_distances(trace: Trace) -> Float[np.ndarray, "one other"]:
    """The mean Jensen–Shannon distance of every head to every other, layer by layer.

    That of `vz.analyses.similar_heads` with most_queries=16.
    """
    rows = some_queries(trace, SOME_QUERIES)
    with torch.no_grad():
        maps = torch.cat(
            [
                layer.weights(slice(0, layer.n_heads), rows.to(layer.q.device))
                for layer in trace.layers
            ]
        )
        placed = shares(maps.float())
        own = entropies(placed)
        found = [
            js_distances((one, entropy), (placed, own)).double().mean(dim=-1)
            for one, entropy in zip(placed, own, strict=True)
        ]
    return torch.stack(found).cpu().numpy()


def sampled_distances(
    encoder: LoadedEncoder, inputs: Sequence[Inputs]
) -> tuple[Float[np.ndarray, "one other"], int]:
    """The sum of `head_distances` over some inputs, and of how many."""
    n = encoder.config.n_layers * encoder.config.n_heads
    total = np.zeros((n, n))
    for one in inputs:
        total += head_distances(captured(encoder, one)[0])
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
