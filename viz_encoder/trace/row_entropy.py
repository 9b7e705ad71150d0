"""The entropy of rows of a map, from their scores: no logarithm of each weight is needed."""

from jaxtyping import Float
from torch import Tensor


def row_entropy(
    weights: Float[Tensor, "*rows key"],
    scores: Float[Tensor, "*rows key"],
    sums: Float[Tensor, "*rows"],
    largest: Float[Tensor, "*rows"],
) -> Float[Tensor, "*rows"]:
    """−Σ_j w_ij ln w_ij, in nats; 0 for a row of zeros.

    With s the scores less their row's largest, ln w_ij = s_ij + ln max_j w_ij. Less the largest,
    for beside scores of 1,000 and more the entropy would be the small rest of two large numbers.

    Args:
        weights: the softmax of the scores.
        scores: finite; they are overwritten.
        sums: of each row's weights.
        largest: of each row's weights.
    """
    scores.sub_(scores.amax(dim=-1, keepdim=True))
    entropy = -largest.log() * sums - scores.mul_(weights).sum(dim=-1)
    return entropy.masked_fill_(largest == 0, 0.0)
