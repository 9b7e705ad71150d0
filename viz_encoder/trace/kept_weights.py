"""References that record() keeps to the weights of torch's own modules, as they were in the run.

Only tensors made in inference mode are copied, because torch does not track their versions.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.trace.attention_call import own_copy

NORMS = (nn.LayerNorm, nn.RMSNorm)
ATTENTION = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
NETWORK = ("linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias")


@dataclass(frozen=True, eq=False)
class KeptWeights:
    """Tensors by their torch names, and the version of each before the run."""

    tensors: Mapping[str, Tensor]
    versions: tuple[tuple[Tensor, int], ...]

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> "KeptWeights":
        """References to the tensors; copies of those that have no version."""
        kept = {n: own_copy(x) if x.is_inference() else x.detach() for n, x in tensors.items()}
        return cls(kept, versions_of(tensors.values()))

    @property
    def unchanged(self) -> bool:
        """Whether the weights are still those that ran."""
        return all(tensor._version == ran for tensor, ran in self.versions)


def versions_of(tensors: Iterable[Tensor]) -> tuple[tuple[Tensor, int], ...]:
    """Those that have a version, with it; changes in place increment it."""
    return tuple((x, x._version) for x in tensors if not x.is_inference())


@dataclass(frozen=True, eq=False)
class KeptNorm:
    """A torch norm; `rms` subtracts no mean, and its eps may be None."""

    weights: KeptWeights
    rms: bool
    shape: tuple[int, ...]
    eps: float | None


@dataclass(frozen=True, eq=False)
class KeptPart:
    """One nn.TransformerEncoderLayer, or an nn.MultiheadAttention in another kind of block.

    norms and activation: set for a layer only. entered: the input of attention outside any layer; a
    layer's input is the hidden states, which the run keeps anyway.
    """

    attention: KeptWeights
    n_heads: int
    dropout: bool  # active, in train mode
    network: KeptWeights | None = None
    norms: tuple[KeptNorm, KeptNorm] | None = None
    pre_norm: bool = False
    activation: Callable[[Tensor], Tensor] | None = None
    entered: Float[Tensor, "*axes d_model"] | None = None  # as passed in

    @property
    def unchanged(self) -> bool:
        """Whether all its weights are still those that ran."""
        held = (self.attention, self.network, *(norm.weights for norm in self.norms or ()))
        return all(weights is None or weights.unchanged for weights in held)


def keep(
    module: nn.TransformerEncoderLayer | nn.MultiheadAttention, entered: Tensor | None = None
) -> KeptPart | None:
    """Keep what is needed to recompute the module's numbers; None if it cannot be read."""
    try:
        return _kept(module, entered)
    except AttributeError:  # a custom class that only derives from torch's
        return None


def _kept(module: nn.Module, entered: Tensor | None) -> KeptPart | None:
    attend = module
    if isinstance(module, nn.TransformerEncoderLayer):
        attend = module.self_attn
    if not isinstance(attend, nn.MultiheadAttention) or attend.in_proj_weight is None:
        return None  # keys and queries of different widths have separate matrices
    attention = _weights(attend, ATTENTION)
    if attention is None or attend.bias_k is not None or attend.add_zero_attn:
        return None
    part = KeptPart(attention, attend.num_heads, _drops(module), entered=entered)
    if not isinstance(module, nn.TransformerEncoderLayer):
        return part
    network, one, two = (
        _weights(module, NETWORK),
        keep_norm(module.norm1),
        keep_norm(module.norm2),
    )
    if network is None or one is None or two is None:
        return part
    pre, activation = bool(module.norm_first), module.activation
    return replace(part, network=network, norms=(one, two), pre_norm=pre, activation=activation)


def keep_norm(module: nn.Module) -> KeptNorm | None:
    """Keep a norm; None if it is not torch's own."""
    if not isinstance(module, NORMS):
        return None
    weights = _weights(module, ("weight", "bias"))
    if weights is None:
        return None
    return KeptNorm(weights, isinstance(module, nn.RMSNorm), module.normalized_shape, module.eps)


def _drops(module: nn.Module) -> bool:
    """Whether any dropout in it was active, including attention's own."""
    chances = [
        part.p if isinstance(part, nn.Dropout) else part.dropout
        for part in module.modules()
        if isinstance(part, nn.Dropout | nn.MultiheadAttention) and part.training
    ]
    return any(chance > 0 for chance in chances)


def _weights(module: nn.Module, names: tuple[str, ...]) -> KeptWeights | None:
    found: dict[str, Any] = {name: reduce(_of, name.split("."), module) for name in names}
    if any(not isinstance(x, Tensor | None) for x in found.values()):
        return None  # for example, quantized layers have a method there
    return KeptWeights.of({name: x for name, x in found.items() if isinstance(x, Tensor)})


def _of(module: Any, name: str) -> Any:
    return getattr(module, name, None)
