"""Item weights: what a learned query weighs each token of each item of a set with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from viz_encoder.arguments import public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.inputs import Sample
from viz_encoder.model.pooling import attention_shares
from viz_encoder.result import ArrayResult, Columns, SeriesResult
from viz_encoder.trace.batches import TellItems, batches
from viz_encoder.trace.states import choose_states


@dataclass(frozen=True, eq=False, repr=False)
class ItemWeights(ArrayResult, main="weights"):
    """One item: its tokens, and each token's weight in the pooled vector; they sum to 1.

    Padding that is among its tokens has 0.
    """

    sample: Sample
    weights: Float[np.ndarray, " token"]

    def columns(self) -> Columns:
        """One line per token."""
        names, weights = list(self.sample.tokens), self.weights.tolist()
        return {"token": list(range(len(names))), "token_name": names, "weight": weights}


@dataclass(frozen=True, eq=False, repr=False)
class SetWeights(SeriesResult[ItemWeights], items="items", number="item"):
    """The weights of every item, in the order of the items."""

    items: tuple[ItemWeights, ...]


@public
def item_weights(
    encoder: LoadedEncoder,
    sources: Sequence[Any],
    query: Float[np.ndarray, " d_model"],
    *,
    state: int = -1,
    progress: TellItems | None = None,
) -> SetWeights:
    """softmax(hidden · query / √d_model) over each item's tokens, in the order of the items.

    Args:
        encoder: the model on whose hidden states the query was learned.
        sources: texts or pictures.
        query: as `attention_pooling` learns it.
        state: where it was learned; 0 = embeddings, -1 = the output.
        progress: called with the number of items done and of all; if it returns False, the run
            stops with a TraceError.
    """
    at, learned = choose_states([state], encoder.config.n_layers), torch.tensor(query)
    found: dict[int, ItemWeights] = {}
    for batch in batches(encoder, sources, at, progress=progress):
        states = batch.states
        shares = attention_shares(states.after[0], states.valid, learned.to(states.after[0]))
        for row, number in enumerate(batch.numbers):
            sample = batch.samples[row]
            weights = shares[row][: len(sample.tokens)].float().cpu().numpy()
            found[number] = ItemWeights(sample, weights)
    return SetWeights(tuple(found[number] for number in range(len(sources))))
