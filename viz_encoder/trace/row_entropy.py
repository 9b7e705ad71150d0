"""Entropy of map rows, from their scores, without a logarithm of each weight."""

from jaxtyping import Float
from torch import Tensor


def row_entropy(
    weights: Float[Tensor, "*rows key"],
    scores: Float[Tensor, "*rows key"],
    sums: Float[Tensor, "*rows"],
    largest: Float[Tensor, "*rows"],
) -> Float[Tensor, "*rows"]:
    """−Σ_j w_ij ln w_ij, in nats; 0 for a row of zeros.

    With s the scores minus their row's largest, ln w_ij = s_ij + ln max_j w_ij. Subtracting the
    largest avoids cancellation for scores of 1,000 and more.

    Args:
        weights: the softmax of the scores.
        scores: finite; overwritten.
        sums: sum of each row's weights.
        largest: largest of each row's weights.
    """
    scores.sub_(scores.amax(dim=-1, keepdim=True))
    entropy = -largest.log() * sums - scores.mul_(weights).sum(dim=-1)
    return entropy.masked_fill_(largest == 0, 0.0)
