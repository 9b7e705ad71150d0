"""ModelShares: a score of a model that is not ours, split over tokens, heads and links."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from viz_encoder.arguments import Most, public, read_index
from viz_encoder.attribution.links import Links, WithLinks
from viz_encoder.attribution.seen import SeenCall
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult, largest


@dataclass(frozen=True, eq=False, repr=False)
class ModelShares(WithLinks, ArrayResult, main="tokens"):
    """A score of a model that is not ours, split; everything is in the unit of the score.

    Heads are those of each call of scaled_dot_product_attention, or of weights times values (also
    by einsum, the weights being a softmax, one written out by exp, or a sigmoid or other activation
    of scores), whose values come from the input embeddings; a layer is such a call, in the order in
    which they ran. Where a model computes its weights itself, its maps are kept as they ran.

    tokens: the share of each token's input embedding.
    biases: what all constants added together; tokens and biases add up to the score.
    unexplained: |tokens + biases − score| ÷ max(|score|, Σ|tokens|).
    notes: of weights that may be attention, and whose heads were not seen; a sentence each.
    """

    score: float
    tokens: Float[np.ndarray, " token"]
    biases: float
    unexplained: float
    calls: tuple[SeenCall, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def heads(self) -> Float[np.ndarray, "layer head"]:
        """What each head brought to the score, its values' biases included.

        Raises:
            SelectionError: no attention was seen, or layers differ in their number of heads.
        """
        each = [self.of_heads(layer) for layer in range(len(self._calls()))]
        numbers = sorted({len(heads) for heads in each})
        if len(numbers) > 1:
            raise SelectionError(
                f"Layers of this model have {' or '.join(map(str, numbers))} heads; ask for one "
                "layer by of_heads(layer)."
            )
        return np.stack(each)

    @public
    def of_heads(self, layer: int) -> Float[np.ndarray, " head"]:
        """What each head of a layer brought to the score.

        Raises:
            SelectionError: no such layer, or no attention was seen.
        """
        return self._call(layer).brought.sum(axis=1)

    @public
    def ranked(self, n: Most = 10) -> tuple[tuple[int, int], ...]:
        """The n heads that brought most, whatever the sign, as (layer, head)."""
        return largest(abs(self.heads), n)

    def _call(self, layer: int) -> SeenCall:
        calls = self._calls()
        return calls[read_index("layer", layer, len(calls))]

    def _calls(self) -> tuple[SeenCall, ...]:
        if not self.calls:
            raise SelectionError(
                "This model ran no scaled_dot_product_attention and no weights times values that "
                f"come from the input embeddings, so there are no heads; see tokens.{self._unseen}"
            )
        return self.calls

    @property
    def _unseen(self) -> str:
        return "".join(f" {note}" for note in self.notes)

    def _layers(self) -> list[tuple[int, int, int]]:
        return [(*call.brought.shape, call.ran.v.shape[1]) for call in self._calls()]

    def _links(self, layer: int, heads: slice, rows: slice) -> Links:
        return self.calls[layer].links(heads, rows)
