"""Handlers for the torch functions that make up attention, and what each keeps.

scaled_dot_product_attention has everything in its arguments. nn.MultiheadAttention with
need_weights and eager models call softmax(…) and then multiply by the values; a softmax that is
never multiplied (a classifier's) is not attention.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from viz_encoder.trace.attention_call import (
    AttentionCall,
    CallKind,
    LaterCall,
    from_maps,
    from_tensors,
)
from viz_encoder.trace.capture import kernel_name
from viz_encoder.trace.flex import from_flex
from viz_encoder.trace.mask_parsing import GivenMasks
from viz_encoder.trace.mixing import met_by_einsum
from viz_encoder.trace.softmax import Rest, SeenSoftmax, Softmax, Weights

Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
SDPA = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
MHA = inspect.signature(F.multi_head_attention_forward)


class Operations(TorchFunctionMode):
    """Handles each torch function while it runs, without changing its result."""

    def __init__(self) -> None:
        super().__init__()
        self.masks = GivenMasks()
        self.softmax: Softmax | None = None
        self.rest: Rest | None = None  # from the softmax before
        self.n_heads: int | None = None  # inside multi_head_attention_forward
        self.cross: bool | None = None
        self.scores: tuple[Any, ...] = ()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run `func`, through a handler if it is part of attention."""
        handler = self.handler(func)
        return handler(func, args, kwargs or {}) if handler else func(*args, **(kwargs or {}))

    @property
    def eager(self) -> bool:
        """Whether maps of models that compute their own softmax are wanted."""
        return True

    def tell(self, make: Callable[[], AttentionCall | LaterCall], part: str = "") -> None:
        """Called for each attention call, which make() gives."""

    def softened(self, seen: SeenSoftmax) -> None:
        """Called for a softmax that may be attention, followed or not."""

    @property
    def busy(self) -> bool:
        """Whether a softmax is pending, or multi_head_attention_forward is running."""
        if self.softmax is not None or self.n_heads is not None:
            return True
        if self.rest is not None and not self.rest.is_held:
            self.rest = None
        return self.rest is not None

    def handler(self, func: Any) -> Handler | None:
        """Handler for this function in the current state; most functions have none."""
        name = STARTS.get(func)
        if name is None and self.busy:
            name = FOLLOWS.get(func, "alter" if self.softmax is not None else None)
        found: Handler | None = None if name is None else getattr(self, name)
        return found

    def sdpa(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """scaled_dot_product_attention: everything is in its arguments."""
        mixed = func(*args, **kwargs)
        given = {**dict(zip(SDPA, args, strict=False)), **kwargs}
        self.tell(lambda: self._from_sdpa(given, mixed))
        return mixed

    def _from_sdpa(self, given: dict[str, Any], mixed: Tensor) -> AttentionCall:
        q, k, v = (given[name].to(mixed.dtype) for name in SDPA[:3])  # in autocast's dtype
        mask, is_causal = given.get("attn_mask"), bool(given.get("is_causal"))
        if is_causal:
            split = self.masks.causal(q.shape[-2], k.shape[-2], q.device)
        else:
            split = self.masks.split(_all_axes(mask, q), q.ndim)
        kind: CallKind = "sdpa" if self.n_heads is None else "multi_head_attention"
        return from_tensors(kind, q, k, v, mixed, split, given.get("scale"))._replace(
            dropout=float(given.get("dropout_p") or 0.0),
            cross=self.cross,
            kernel=kernel_name(q, k, v, mask, is_causal=is_causal),
        )

    def flex(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """flex_attention, uncompiled or with a backend that runs torch's own operators."""
        outputs = func(*args, **kwargs)
        self.tell(lambda: from_flex(args, kwargs, outputs[0], self.masks))
        return outputs

    def multi_head(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """multi_head_attention_forward: the same code, but with our mode on inside it.

        A handler runs with the mode off, and with the mode on the function would call the handler
        again; so it runs as a copy whose has_torch_function returns False.
        """
        if self.n_heads is not None:
            return func(*args, **kwargs)
        given = MHA.bind(*args, **kwargs).arguments
        self.n_heads, self.cross = given["num_heads"], _differ(given["query"], given["key"])
        names = {**F.__dict__, "has_torch_function": lambda _: False}
        body = FunctionType(
            func.__code__, names, func.__name__, func.__defaults__, func.__closure__
        )
        try:
            with self:
                return body(*args, **kwargs)
        finally:
            self.n_heads, self.cross, self.scores, self.softmax = None, None, (), None

    def soften(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A softmax over the last of three or more axes may become attention."""
        weights = func(*args, **kwargs)
        if weights.ndim >= 3 and over_last_axis(weights, args, kwargs):
            seen = SeenSoftmax(tuple(weights.shape), self.n_heads is not None or self.eager)
            self.softened(seen)
            if seen.followed:
                self.softmax, self.rest = Softmax(weights, seen), None
        return weights

    def drop(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Dropout on the weights: the map before it is kept, with the dropout rate."""
        found = self._weights_in(args)
        rate = kwargs.get("p", args[1] if len(args) > 1 else 0.5)
        on = kwargs.get("training", kwargs.get("train", args[2] if len(args) > 2 else True))
        dropped: dict[str, Any] = {}
        if found is not None and on and rate > 0:
            dropped = {"maps": found[1].maps.detach().clone(), "dropout": float(rate)}
        out = func(*args, **kwargs)
        if found is not None:
            found[0].follow(replace(found[1], now=out, **dropped))
        return out

    def reshape(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Follow the same numbers into another shape or dtype."""
        found = self._weights_in(args)
        out = func(*args, **kwargs)
        if found is not None:
            found[0].follow(replace(found[1], now=out))
        self._take_rest(args, out)
        return out

    def change(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Follow changed weights: masked after the softmax, sliced, or times a head mask."""
        found = self._weights_in(args)
        out = func(*args, **kwargs)
        self._take_rest(args, out)
        if found is not None and isinstance(out, Tensor) and out.ndim >= 3:
            found[0].change(found[1], out)
        return out

    def alter(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Follow whatever else gives a number for each weight, such as one divided by a sum."""
        found = self._weights_in(args)
        out = func(*args, **kwargs)
        if found is None or not isinstance(out, Tensor) or not out.is_floating_point():
            return out
        softmax, weights = found
        as_large = [one for one in _flat(args) if getattr(one, "shape", None) == out.shape]
        if out.shape == weights.now.shape and len(as_large) == 1:  # not two maps, as a difference
            softmax.change(weights, out)
        return out

    def turn(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Follow weights with queries and keys exchanged, which stand after values "… d key"."""
        found = self._weights_in(args)
        out = func(*args, **kwargs)
        if found is not None and isinstance(out, Tensor):
            found[0].turn(found[1], out)
        self._take_rest(args, out)
        return out

    @property
    def _rest(self) -> Any:
        return self.rest if self.softmax is None else self.softmax.rest

    def _take_rest(self, args: tuple[Any, ...], out: Any) -> None:
        if (rest := self._rest) is not None:
            rest.take(_flat(args), out)

    def multiply(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Handle the scores of multi_head_attention_forward, or weights times values."""
        out = func(*args, **kwargs)
        if (found := self._weights_in(args)) is not None:
            softmax, weights = found
            v, mixed = args[1] if len(args) == 2 and isinstance(args[1], Tensor) else None, out
            if func is torch.einsum:
                met = met_by_einsum(_flat(args), weights.now, out, turned=weights.turned)
                if met is None:
                    return out
                v, mixed = met
            elif weights.turned != (v is weights.now):
                return out  # rows are keys here: what is mixed is not what the softmax weighs
            elif weights.turned:
                v, mixed = args[0].mT, out.mT
            self.tell(lambda: self._from_product(weights, softmax.seen, v, mixed))
            softmax.seen.met_values = True
            self.softmax, self.rest = None, None if weights.whole is None else softmax.rest
            return out
        if (rest := self._rest) is not None:
            rest.multiply(_flat(args))
        if self.n_heads is not None and self.softmax is None:
            self.scores = args
        return out

    def _from_product(
        self, weights: Weights, seen: SeenSoftmax, v: Tensor | None, mixed: Tensor
    ) -> AttentionCall:
        found: dict[str, Any] = {"dropout": weights.dropout, "kernel": "softmax by hand"}
        if self.n_heads is None or v is None:
            call = from_maps(weights.maps, v, mixed, weights.sink)
            return call._replace(**found, softmax=seen)
        *bias, q, k = self.scores  # q is already scaled; k is transposed
        heads = (-1, self.n_heads)
        split = self.masks.split(_heads_of(bias[0], heads) if bias else None)
        q, k, v, mixed = (x.unflatten(0, heads) for x in (q, k.mT, v, mixed))
        return from_tensors("multi_head_attention", q, k, v, mixed, split, 1.0)._replace(
            **found, cross=self.cross, softmax=seen
        )

    def _weights_in(self, args: tuple[Any, ...]) -> tuple[Softmax, Weights] | None:
        if self.softmax is None or (weights := self.softmax.among(_flat(args))) is None:
            return None
        return self.softmax, weights


def over_last_axis(weights: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the softmax that gave these weights, called with these arguments, went over it."""
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    return dim in (-1, weights.ndim - 1)


def _flat(args: tuple[Any, ...]) -> list[Any]:
    flat: list[Any] = []
    for arg in args:
        flat.extend(arg if isinstance(arg, list | tuple) else [arg])
    return flat


def _heads_of(bias: Tensor, heads: tuple[int, int]) -> Tensor:
    return bias[None] if bias.shape[0] == 1 else bias.unflatten(0, heads)


def _all_axes(mask: Tensor | None, q: Tensor) -> Tensor | None:
    """Expand a mask's leading axes that will be folded into the batch."""
    if mask is None or q.ndim < 5:
        return mask
    return mask.expand(*q.shape[:-3], *torch.broadcast_shapes(mask.shape, (1, 1, 1))[-3:])


def _differ(query: Tensor, key: Tensor) -> bool:
    if query is key:
        return False
    return query.shape != key.shape or not (torch.equal(query, key) or _one_is_normed(query, key))


def _one_is_normed(query: Tensor, key: Tensor) -> bool:
    """Whether one is a LayerNorm or RMSNorm of the other, or both are norms of the same rows."""
    x, y = (one.detach().double().flatten(0, -2) for one in (query, key))
    if len(x) < FEWEST_ROWS or x.shape[-1] < 2:
        return False
    apart = max(4 * torch.finfo(query.dtype).eps ** 2, 1e-10)
    normed = (one(side) for one in (F.normalize, _standardized) for side in (x, y))
    pairs = ((x, y), *zip(normed, (y, x, y, x), strict=True))
    return any(_is_rescaled(*pair, apart) for pair in pairs)


def _standardized(x: Tensor) -> Tensor:
    return F.normalize(x - x.mean(dim=-1, keepdim=True))


def _is_rescaled(x: Tensor, y: Tensor, apart: float) -> bool:
    """Whether each channel of one is that of the other, times a number and plus another."""
    x, y = (F.normalize(one - one.mean(dim=0), dim=0) for one in (x, y))
    return bool(((x * y).sum(dim=0).abs() > 1 - apart).all())


FEWEST_ROWS = 4  # through fewer, a line fits too easily
SOFTMAX = (F.softmax, torch.softmax, Tensor.softmax, torch.special.softmax)
STARTS: dict[Any, str] = {  # function → the Operations method that handles it
    F.scaled_dot_product_attention: "sdpa",
    F.multi_head_attention_forward: "multi_head",
    **dict.fromkeys(SOFTMAX, "soften"),
    torch.ops.higher_order.flex_attention: "flex",
}
FOLLOWS: dict[Any, str] = {  # while a softmax is pending, or inside multi_head
    **dict.fromkeys((F.dropout, torch.dropout), "drop"),
    **dict.fromkeys(
        (Tensor.view, Tensor.reshape, Tensor.contiguous, Tensor.flatten, torch.reshape),
        "reshape",
    ),
    **dict.fromkeys((Tensor.to, Tensor.type, Tensor.type_as, Tensor.float), "reshape"),
    **dict.fromkeys((Tensor.expand, Tensor.unsqueeze, Tensor.squeeze), "reshape"),
    **dict.fromkeys((Tensor.transpose, torch.transpose, Tensor.permute, torch.permute), "turn"),
    **dict.fromkeys((Tensor.swapaxes, torch.swapaxes, Tensor.mT.__get__), "turn"),  # type: ignore
    **dict.fromkeys((Tensor.masked_fill, Tensor.mul, Tensor.__mul__), "change"),
    **dict.fromkeys((torch.masked_fill, torch.mul, torch.where, Tensor.where), "change"),
    **dict.fromkeys((Tensor.__getitem__, Tensor.narrow, torch.narrow), "change"),
    **dict.fromkeys((torch.bmm, torch.baddbmm, torch.matmul, torch.einsum), "multiply"),
    **dict.fromkeys((Tensor.bmm, Tensor.matmul, Tensor.__matmul__), "multiply"),
}
