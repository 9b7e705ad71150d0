"""Jensen–Shannon distance between rows of attention, as shares of what each row gives to keys.

√JSD with logarithms of base 2: 0 = the same rows, 1 = no key in common. The divergence is of Lin,
1991, "Divergence measures based on the Shannon entropy"; that its root is a metric was shown by
Endres & Schindelin, 2003, "A new metric for probability distributions".
"""

from math import log

import torch
from jaxtyping import Float
from torch import Tensor

SMALLEST = torch.finfo(torch.float32).tiny
OneHead = tuple[Float[Tensor, "query key"], Float[Tensor, " query"]]
Rows = tuple[Float[Tensor, "*head query key"], Float[Tensor, "*head query"]]  # and their entropies


def shares(weights: Float[Tensor, "*head query key"]) -> Float[Tensor, "*head query key"]:
    """Rows that sum to 1, also where a sink takes a part; a row of zeros stays as it is."""
    return weights / weights.sum(dim=-1, keepdim=True).clamp_min(SMALLEST)


def entropies(rows: Float[Tensor, "*head query key"]) -> Float[Tensor, "*head query"]:
    """The entropy of each row, in nats."""
    return torch.special.entr(rows).sum(dim=-1)


def js_distances(one: OneHead, others: Rows) -> Float[Tensor, "*head query"]:
    """√JSD of each of one head's rows to the same row of others; two rows of zeros are the same."""
    middle = entropies((one[0] + others[0]) / 2)
    bits = (middle - (one[1] + others[1]) / 2).clamp_min(0) / log(2)
    return bits.sqrt()
