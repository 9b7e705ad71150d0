"""Detects torch's fused whole-layer kernels, and recomputes what they ran on.

nn.TransformerEncoder and nn.MultiheadAttention run one fused kernel when they can (eval, no
gradients, batch_first …), but not under a TorchFunctionMode. So our mode is suspended while such a
module decides, and a TorchDispatchMode, which does not affect the decision, watches instead. The
kernel exposes no queries or keys: they are recomputed on demand from copies of its inputs, and the
result is checked against the layer's real output.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from viz_encoder.errors import TraceError
from viz_encoder.model.attention import merge_heads, split_heads
from viz_encoder.trace.attention_call import (
    AttentionCall,
    LastCopy,
    LaterCall,
    from_tensors,
)
from viz_encoder.trace.callers_state import detached_from_caller
from viz_encoder.trace.kept_weights import KeptWeights
from viz_encoder.trace.mask_parsing import GivenMasks, SplitMask
from viz_encoder.trace.proof import TOLERANCE

LAYER = torch.ops.aten._transformer_encoder_layer_fwd.default
HEADS = torch.ops.aten._native_multi_head_attention.default


class KernelWatch(TorchDispatchMode):
    """Reports each fused kernel that runs to `seen`, without changing the run."""

    def __init__(self, seen: Callable[[Any, dict[str, Any], Any], None]) -> None:
        """`seen` is called with the kernel, its arguments by name, and its output."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = seen

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run the operator, then report it."""
        out = func(*args, **(kwargs or {}))
        if func is LAYER or func is HEADS:
            self.seen(func, by_name(func, args, kwargs or {}), out)
        return out


class _Decided(Exception):
    """Raised once the module has chosen its path."""


class _Probe(TorchDispatchMode):
    def __init__(self, module: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.weights = {id(weight) for weight in module.parameters()}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is HEADS:
            raise _Decided("fused")
        if any(id(arg) in self.weights for arg in args):
            raise _Decided("step by step")
        return func(*args, **(kwargs or {}))


def takes_fused_kernel(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether this nn.MultiheadAttention would run fused: torch decides, then is stopped."""
    try:
        with _Probe(module):
            module.forward(*args, **kwargs)
    except _Decided as way:
        return str(way) == "fused"
    except Exception:  # the real call will raise it where the user expects it
        return False
    return False


def by_name(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments of an aten operator by name, including defaults."""
    given = {one.name: one.default_value for one in func._schema.arguments}
    given.update(zip(given, args, strict=False))
    return {**given, **kwargs}


@dataclass(frozen=True)
class FusedRun:
    """Copies of a fused kernel's input, output and mask, and references to its weights."""

    layer: bool  # the whole encoder layer, not just its attention
    n_heads: int
    x: Tensor
    real: Tensor
    ragged: bool
    allowed: Tensor | None
    split: SplitMask
    given: dict[str, Any]
    weights: KeptWeights

    def call(self) -> AttentionCall:
        """Recompute the attention call, with a note if the kernel's output does not follow from it.

        Raises:
            TraceError: the weights have changed since the run.
        """
        if not self.weights.unchanged:
            raise TraceError(
                "The weights were changed after this run, and the queries and keys of torch's "
                "fused kernel are computed from them. Call recording.trace() before changing them."
            )
        with detached_from_caller():
            return self._call()

    def _call(self) -> AttentionCall:
        layer, x, allowed = self.layer, self.x, self.allowed
        given = {**self.given, **self.weights.tensors}
        normed = _norm(x, given, 1) if layer and given["norm_first"] else x
        q, k, v = (
            split_heads(part, self.n_heads)
            for part in F.linear(normed, given["qkv_weight"], given["qkv_bias"]).chunk(3, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        call = from_tensors("multi_head_attention", q, k, v, mixed, self.split, None)
        follows = F.linear(merge_heads(mixed), given["proj_weight"], given["proj_bias"])
        follows = _rest_of_layer(x, follows, given) if layer else follows
        error = _difference(follows, self.real, allowed)
        name = "fused encoder layer" if layer else "fused multi-head attention"
        call = call._replace(kernel=name, ragged=self.ragged, cross=False)
        if error <= TOLERANCE.get(str(x.dtype).removeprefix("torch."), 1e-5):
            return call
        why = (
            f"The output of the {name} does not match its recomputed maps: they differ by "
            f"{error:.1e}."
        )
        return call._replace(signature=None, note=why)


def fused_call(
    func: Any, given: dict[str, Any], out: Any, masks: GivenMasks, copies: LastCopy
) -> LaterCall:
    """Keep a fused kernel's inputs: its queries and keys cost as much to compute as it did."""
    layer = func is LAYER
    source, n_heads = (
        given["src" if layer else "query"],
        given["num_heads" if layer else "num_head"],
    )
    allowed = _allowed(source, given["mask"], given["mask_type"])
    tensors = {name: x for name, x in given.items() if isinstance(x, Tensor)}
    weights = {name: x for name, x in tensors.items() if "weight" in name or "bias" in name}
    run = FusedRun(
        layer,
        n_heads,
        copies.of(source),
        copies.of(out if layer else out[0]),
        source.is_nested,
        allowed,
        masks.split(allowed),
        {name: x for name, x in given.items() if name not in tensors},
        KeptWeights.of(weights),
    )
    n_samples, n_tokens, _ = run.x.shape
    return LaterCall("multi_head_attention", (n_samples, n_heads, n_tokens, n_tokens), run.call)


def _allowed(source: Tensor, mask: Tensor | None, mask_type: int | None) -> Tensor | None:
    """True = may attend, "#batch #head #query #key", from what the kernel takes (True = ignore)."""
    if source.is_nested:
        lengths = torch.tensor([len(one) for one in source.unbind()], device=source.device)
        valid = torch.arange(int(lengths.max()), device=source.device) < lengths[:, None]
        return (valid[:, :, None] & valid[:, None, :])[:, None]
    if mask is None:
        return None
    allowed = ~mask.bool()
    if mask_type == 1:
        return allowed[:, None, None, :]
    return allowed if allowed.ndim == 4 else allowed[None, None]


def _rest_of_layer(x: Tensor, attention: Tensor, given: dict[str, Any]) -> Tensor:
    first = given["norm_first"]
    x = x + attention if first else _norm(x + attention, given, 1)
    inner = F.linear(_norm(x, given, 2) if first else x, given["ffn_weight_1"], given["ffn_bias_1"])
    inner = F.gelu(inner) if given["use_gelu"] else F.relu(inner)
    x = x + F.linear(inner, given["ffn_weight_2"], given["ffn_bias_2"])
    return x if first else _norm(x, given, 2)


def _norm(x: Tensor, given: dict[str, Any], which: int) -> Tensor:
    weight, bias = given[f"norm_weight_{which}"], given[f"norm_bias_{which}"]
    return F.layer_norm(x, x.shape[-1:], weight, bias, given["eps"])


def _difference(follows: Tensor, real: Tensor, allowed: Tensor | None) -> float:
    """Largest difference over rows that attend to anything, relative to the largest output."""
    gap = (follows - real).abs().amax(dim=-1)  # (batch, query)
    if allowed is not None:
        gap = gap.masked_fill(~allowed.any(dim=-1).all(dim=1).expand_as(gap), 0.0)
    return float(gap.nan_to_num(torch.inf).max()) / (float(real.nan_to_num().abs().max()) or 1.0)
