"""Empty rows: what each way of computing attention gives a query that may attend to no key.

Nothing settles it, so nothing here is looked up: a tiny example runs on every way when asked.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from viz_encoder.model.attention import attention_weights

N_TOKENS, D_MODEL, EMPTY = 4, 8, 2
TOLERANCE = 1e-5
TokenVectors = Float[Tensor, "token d_model"]
AllowedPairs = Bool[Tensor, "query key"]
Way = Callable[[TokenVectors, AllowedPairs], TokenVectors]


@dataclass(frozen=True)
class EmptyRow:
    """Result for a query without any key: "NaN", "zeros", "uniform" or "other"."""

    way: str
    gives: str

    @property
    def words(self) -> str:
        """Readable form."""
        return _WORDS[self.gives]


_WORDS = {
    "NaN": "NaN, which can spread to every token in the next layer",
    "zeros": "zeros: nothing is mixed in",
    "uniform": "uniform: the plain mean of all tokens, as if nothing were masked",
    "other": "something else: a mixture of some tokens",
}


def empty_rows() -> tuple[EmptyRow, ...]:
    """Result of each implementation in the installed torch."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(N_TOKENS, D_MODEL, generator=generator)
    allowed = torch.ones(N_TOKENS, N_TOKENS, dtype=torch.bool)
    allowed[EMPTY] = False
    with torch.no_grad():
        return tuple(EmptyRow(name, _kind(way(x, allowed), x)) for name, way in WAYS.items())


def _kind(mixed: TokenVectors, x: TokenVectors) -> str:
    row = mixed[EMPTY]
    if bool(row.isnan().any()):
        return "NaN"
    if not bool(row.any()):
        return "zeros"
    return "uniform" if float((row - x.mean(dim=0)).abs().max()) < TOLERANCE else "other"


def _ours(x: TokenVectors, allowed: AllowedPairs) -> TokenVectors:
    return attention_weights(x, x, allowed) @ x


def _kernel(x: TokenVectors, mask: Tensor) -> TokenVectors:
    return F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=mask)[0]


def _filled(allowed: AllowedPairs, value: float) -> Float[Tensor, "query key"]:
    return torch.zeros(allowed.shape).masked_fill(~allowed, value)


def _by_hand(x: TokenVectors, allowed: AllowedPairs) -> TokenVectors:
    return (x @ x.mT).masked_fill(~allowed, -torch.inf).softmax(dim=-1) @ x


def _layer(x: TokenVectors, allowed: AllowedPairs, *, need_weights: bool) -> TokenVectors:
    """nn.MultiheadAttention whose projections leave everything as it is."""
    layer = nn.MultiheadAttention(D_MODEL, 1, batch_first=True).eval()
    layer.in_proj_weight.copy_(torch.eye(D_MODEL).repeat(3, 1))
    layer.out_proj.weight.copy_(torch.eye(D_MODEL))
    for bias in (layer.in_proj_bias, layer.out_proj.bias):
        bias.zero_()
    batch = x[None]
    mixed: Tensor = layer(batch, batch, batch, attn_mask=~allowed, need_weights=need_weights)[0]
    return mixed[0]


LOWEST = torch.finfo(torch.float32).min
WAYS: dict[str, Way] = {
    "this encoder": _ours,
    "scaled_dot_product_attention, bool": _kernel,
    "scaled_dot_product_attention, float -inf": lambda x, m: _kernel(x, _filled(m, -torch.inf)),
    "scaled_dot_product_attention, float finfo.min": lambda x, m: _kernel(x, _filled(m, LOWEST)),
    "nn.MultiheadAttention, need_weights=True": lambda x, m: _layer(x, m, need_weights=True),
    "nn.MultiheadAttention, need_weights=False": lambda x, m: _layer(x, m, need_weights=False),
    "softmax written out, -inf": _by_hand,
}
