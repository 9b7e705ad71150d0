"""On request: what costs more than a forward pass, on a sample of the items."""

import zlib
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from viz_encoder.analyses.similar_heads import some_queries
from viz_encoder.attribution import attribute
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.corpora.statistics import STATISTICS
from viz_encoder.effects import effect
from viz_encoder.inputs import Inputs
from viz_encoder.trace import Trace
from viz_encoder.trace.capture import captured
from viz_encoder.trace.jensen_shannon import entropies, js_distances, shares

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
    found: PerHead = effect(encoder, one, measure="pooled").values[0]
    return found


def carried_shares(encoder: LoadedEncoder, one: Inputs) -> PerHead:
    """What each head brought to the pooled vector's length, as a part of it; see `vz.attribute`."""
    (found,) = attribute(encoder, one, of="pooled")
    shares: PerHead = abs(found.heads) / found.score
    return shares


# By measure: its place among the statistics, and how it is found for one text.
ON_TEXTS = {
    name: (list(STATISTICS).index(name), find)
    for name, find in (("effect", removal_effects), ("share", carried_shares))
}
