"""Jensen–Shannon distance between rows of attention, normalized to sum to 1 over the keys.

√JSD with logarithms of base 2: 0 = the same rows, 1 = no key in common. The divergence is from Lin,
1991, "Divergence measures based on the Shannon entropy"; Endres & Schindelin, 2003, "A new metric
for probability distributions", show that its root is a metric.
"""

from math import log

import torch
from jaxtyping import Float
from torch import Tensor

SMALLEST = torch.finfo(torch.float32).tiny
OneHead = tuple[Float[Tensor, "query key"], Float[Tensor, " query"]]
RowsAndEntropies = tuple[
    Float[Tensor, "*head query key"], Float[Tensor, "*head query"]
]  # with their entropies


def shares(weights: Float[Tensor, "*head query key"]) -> Float[Tensor, "*head query key"]:
    """Normalize rows to sum to 1, without any sink; rows of zeros stay zero."""
    return weights / weights.sum(dim=-1, keepdim=True).clamp_min(SMALLEST)


def entropies(rows: Float[Tensor, "*head query key"]) -> Float[Tensor, "*head query"]:
    """Entropy of each row, in nats."""
    return torch.special.entr(rows).sum(dim=-1)


def js_distances(one: OneHead, others: RowsAndEntropies) -> Float[Tensor, "*head query"]:
    """√JSD between each row of one head and that of the others; 0 for two rows of zeros."""
    middle = entropies((one[0] + others[0]) / 2)
    bits = (middle - (one[1] + others[1]) / 2).clamp_min(0) / log(2)
    return bits.sqrt()
