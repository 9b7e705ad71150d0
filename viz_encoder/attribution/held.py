"""Steps of a model as they ran, each with the gradient of the linear map it was on this run.

A norm divides by a number, an activation multiplies by f(x) / x, attention mixes by its weights.
Held at what they were, all of these are linear, so a score splits exactly (Ali et al., 2022,
arXiv:2202.07304). The values are those of torch's own functions, bit for bit.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from viz_encoder.model.attention import attention_weights
from viz_encoder.trace.head_rows import row_blocks, rows_at_once

Back = Callable[[Tensor], tuple[Tensor | None, ...]]
TellGradient = Callable[[Tensor], None]  # is told what a constant adds to the score, in each place
BLOCK_BYTES = 4 * 2**20  # of all heads together: a fifth faster than 1 MiB at 2,048 tokens


class _Held(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, back: Back, *_: Tensor) -> Tensor:
        ctx.back = back
        ctx.mark_dirty(value)  # the value itself is given back, not a view that none may change
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, None, *ctx.back(gradients[0])


def held(value: Tensor, back: Back, *inputs: Tensor) -> Tensor:
    """The value, with `back` as its gradient: of the value's gradient, one for each input.

    It must be a tensor of its own, and `back` must not refer to it.
    """
    return _Held.apply(value, back, *inputs)  # type: ignore[no-untyped-call]


def added(g: Tensor, constant: Tensor | float) -> Tensor:
    """⟨gradient, constant⟩ in each place; a mask's −∞ adds nothing, as its weight is 0."""
    product = g * constant
    product = torch.where(torch.isfinite(product), product, 0.0)
    return product.sum(dim=-1) if product.ndim > 1 else product.sum()


def scaled(x: Tensor, factor: float) -> Tensor:
    """The same tensor; its gradient is multiplied by the factor."""
    same = x.view_as(x)
    same.register_hook(lambda g: g * factor)
    return same


def gate(x: Tensor, f: Callable[[Tensor], Tensor], tell: TellGradient) -> Tensor:
    """f(x) as x · (f(x) − f(0)) / x, with that factor held, plus the constant f(0)."""
    wide = x.detach()
    value, rest = f(wide), f(torch.zeros((), dtype=x.dtype, device=x.device))
    moves = bool(rest.any())
    if moves and bool(wide.isinf().any()):  # of masked scores, of which no part comes from x
        rest = torch.where(wide.isinf(), value, rest)
    factor = (value - rest if moves else value) / wide  # kept instead of both, which are as large
    factor.nan_to_num_(0.0)  # where x is 0

    def back(g: Tensor) -> tuple[Tensor]:
        if moves:
            tell(added(g, rest))
        return (g * factor,)

    return held(value, back, x)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None, tell: TellGradient) -> Tensor:
    """x · Wᵀ + b."""

    def back(g: Tensor) -> tuple[Tensor]:
        if bias is not None:
            tell(g @ _like(bias, g))
        return (g @ _like(weight, g),)

    return held(F.linear(x.detach(), weight, bias), back, x)


def _like(weight: Tensor, g: Tensor) -> Tensor:
    """In the gradient's precision, which under autocast is another than the weights'."""
    return weight if weight.dtype == g.dtype else weight.to(g.dtype)


def layer_norm(
    x: Tensor,
    shape: tuple[int, ...],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    tell: TellGradient,
) -> Tensor:
    """LayerNorm with its divisor held; its mean is linear and stays."""
    value, _, divisor = torch.native_layer_norm(x.detach(), shape, weight, bias, eps)
    axes = tuple(range(-len(shape), 0))

    def back(g: Tensor) -> tuple[Tensor]:
        if bias is not None:
            tell(g @ _like(bias, g) if bias.ndim == 1 else added(g, bias))
        g = g if weight is None else g * weight
        return ((g - g.mean(dim=axes, keepdim=True)) * divisor.to(g.dtype),)

    return held(value, back, x)


def rms_norm(x: Tensor, shape: tuple[int, ...], weight: Tensor | None, eps: float | None) -> Tensor:
    """RMSNorm with its divisor held."""
    wide, axes = x.detach(), tuple(range(-len(shape), 0))
    value = F.rms_norm(wide, shape, weight, eps)
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    whole = wide.to(torch.promote_types(x.dtype, torch.float32))
    divisor = (whole.square().mean(dim=axes, keepdim=True) + eps).rsqrt().to(x.dtype)

    def back(g: Tensor) -> tuple[Tensor]:
        return ((g if weight is None else g * weight) * divisor,)

    return held(value, back, x)


def mixed(
    value: Float[Tensor, "*axes head query d_value"],
    q: Float[Tensor, "*axes head query d_head"],
    k: Float[Tensor, "*axes head key d_head"],
    v: Float[Tensor, "*axes head key d_value"],
    mask: Tensor | None,
    bias: Tensor | None,
    scale: float,
) -> Tensor:
    """What attention gave, with its weights held: the values' gradient is weightsᵀ · gradient.

    The weights are computed again, some heads and rows at a time, and never held whole.
    """
    q, k = q.detach(), k.detach()

    def back(g: Tensor) -> tuple[Tensor]:
        found = torch.zeros_like(v, dtype=torch.promote_types(v.dtype, torch.float32))
        for heads, rows in _blocks(q, k.shape[-2]):
            weights = attention_weights(
                _cut(q, heads, rows), _cut(k, heads), _cut(mask, heads, rows), scale,
                _cut(bias, heads, rows),
            )  # fmt: skip
            part = _cut(found, heads)
            part += weights.mT @ _cut(g, heads, rows).to(weights.dtype)
        return (found.to(v.dtype),)

    return held(value, back, v)


def _blocks(q: Float[Tensor, "*axes query d_head"], n_keys: int) -> Iterator[tuple[slice, slice]]:
    """Heads and rows whose weights fit into a block: few heads of long rows."""
    n_heads = q.shape[-3] if q.ndim > 2 else 1
    n_cells = max(1, q.shape[:-3].numel()) * n_keys
    step = rows_at_once(n_cells * q.shape[-2], BLOCK_BYTES)
    for at in range(0, n_heads, step):
        for rows in row_blocks(q.shape[-2], min(step, n_heads - at) * n_cells, BLOCK_BYTES):
            yield slice(at, min(at + step, n_heads)), rows


def _cut(x: Any, heads: slice, rows: slice | None = None) -> Any:
    """Some heads and rows; an axis of one is for all of them."""
    if x is None:
        return None
    x = x[..., heads, :, :] if x.ndim > 2 and x.shape[-3] > 1 else x
    return x if rows is None or x.shape[-2] == 1 else x[..., rows, :]


MaskAndBias = tuple[Tensor | None, Tensor | None]


class CallMasks:
    """What scaled_dot_product_attention is given, as a mask and a bias.

    The last one is kept, so that layers which share a mask share what is made of it.
    """

    def __init__(self) -> None:
        self._last: tuple[Tensor, int, MaskAndBias] | None = None
        self._causal: Tensor | None = None

    def of(self, given: Tensor | None, is_causal: bool, q: Tensor, k: Tensor) -> MaskAndBias:
        """Which keys are allowed (True = may attend), and what is added to the scores, if any."""
        if is_causal:
            return self._below_diagonal(q, k), None
        if given is None or given.dtype == torch.bool:
            return given, None
        if self._last is None or self._last[0] is not given or self._last[1] != given._version:
            self._last = given, given._version, _split(given)
        return self._last[2]

    def _below_diagonal(self, q: Tensor, k: Tensor) -> Tensor:
        shape = q.shape[-2], k.shape[-2]
        if self._causal is None or self._causal.shape != shape:
            self._causal = torch.ones(shape, dtype=torch.bool, device=q.device).tril()
        return self._causal


def _split(given: Tensor) -> MaskAndBias:
    allowed = given != -torch.inf
    bias = given.masked_fill(~allowed, 0.0)
    return allowed, bias if bool(bias.any()) else None
