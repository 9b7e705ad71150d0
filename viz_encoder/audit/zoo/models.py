"""Tiny random encoders that leave one line open: how each attends, given what was passed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from viz_encoder.model.attention import merge_heads, split_heads

D_MODEL, N_HEADS, N_LAYERS = 16, 2, 2

Heads = Float[Tensor, "batch head token d_head"]
Attend = Callable[[Heads, Heads, Heads, Any], Heads]  # (q, k, v, what was passed) -> mixed values
Call = Callable[[nn.MultiheadAttention, Tensor, Any], Tensor]  # (layer, x, what was passed)
Run = Callable[[nn.TransformerEncoder, Tensor, Any], Tensor]
Forward = Callable[[Any, Tensor, Any], Tensor]  # (module with its parts, x, what was passed)
Parts = Mapping[str, Callable[[], nn.Module]]  # what makes each, by its name
Model = TypeVar("Model", bound=nn.Module)


class Attention(nn.Module):
    """Queries, keys and values of two heads; `attend` mixes them."""

    def __init__(self, attend: Attend) -> None:
        super().__init__()
        self.attend = attend
        self.q, self.k, self.v, self.o = (nn.Linear(D_MODEL, D_MODEL) for _ in range(4))

    def forward(self, x: Tensor, passed: Any) -> Tensor:
        """The mixed values of each token, projected."""
        q, k, v = (split_heads(project(x), N_HEADS) for project in (self.q, self.k, self.v))
        return self.o(merge_heads(self.attend(q, k, v, passed)))


class Multihead(nn.Module):
    """torch's own layer; `call` calls it."""

    def __init__(self, call: Call, *, batch_first: bool = True) -> None:
        super().__init__()
        self.call = call
        self.layer = nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=batch_first)

    def forward(self, x: Tensor, passed: Any) -> Tensor:
        """Output of the layer."""
        return self.call(self.layer, x, passed)


class PostNormBlock(nn.Module):
    """Post-norm: norm(x + attention), norm(x + feed-forward)."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention
        self.up, self.down = nn.Linear(D_MODEL, 2 * D_MODEL), nn.Linear(2 * D_MODEL, D_MODEL)
        self.norm, self.last_norm = nn.LayerNorm(D_MODEL), nn.LayerNorm(D_MODEL)

    def forward(self, x: Tensor, passed: Any) -> Tensor:
        """The tokens after this block."""
        x = self.norm(x + self.attention(x, passed))
        return self.last_norm(x + self.down(F.gelu(self.up(x))))


class Stack(nn.Module):
    """Blocks one after the other, each given what was passed."""

    def __init__(self, attentions: Sequence[nn.Module]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(PostNormBlock(attention) for attention in attentions)

    def forward(self, x: Tensor, passed: Any) -> Tensor:
        """The tokens after the last block."""
        for block in self.blocks:
            x = block(x, passed)
        return x


class Around(nn.Module):
    """A model inside a forward pass of one's own: what is done before and after it."""

    def __init__(self, inner: nn.Module, forward: Forward, **parts: nn.Module) -> None:
        super().__init__()
        self.inner, self.run = inner, forward
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, x: Tensor, passed: Any) -> Tensor:
        """Apply `forward` to this module and its input."""
        return self.run(self, x, passed)


def drawn(seed: int, make: Callable[[], Model]) -> Model:
    """The model in eval mode, its weights drawn large enough that a leak shows."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # torch draws the biases of its layers from its global state
        model = make()
    generator = torch.Generator().manual_seed(1000 + seed)
    with torch.no_grad():
        for weight in model.parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if weight.ndim >= 2:
                weight.copy_(0.3 * noise)
            else:
                weight.add_(0.1 * noise)
    return model.eval()


def written_out(seed: int, *attends: Attend) -> Stack:
    """Our own attention: one function for both layers, or one a layer."""
    layers = attends if len(attends) > 1 else attends * N_LAYERS
    return drawn(seed, lambda: Stack([Attention(attend) for attend in layers]))


def sdpa(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """torch's fused attention with a bool mask "batch query key", True = may attend."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=passed[:, None])


def around(
    seed: int, forward: Forward, parts: Parts | None = None, kernel: Attend = sdpa
) -> Around:
    """A right model inside of this forward pass, and its further parts."""
    inner = written_out(seed, kernel)
    if parts is None:
        return Around(inner, forward).eval()
    return drawn(seed, lambda: Around(inner, forward, **{n: one() for n, one in parts.items()}))


def multihead(seed: int, call: Call) -> Stack:
    """Layers of nn.MultiheadAttention."""
    return drawn(seed, lambda: Stack([Multihead(call) for _ in range(N_LAYERS)]))


def torch_encoder(
    seed: int, run: Run, *, nested: bool = False, norm_first: bool = False, batch_first: bool = True
) -> Around:
    """torch's nn.TransformerEncoder, called by `run`."""

    def make() -> Around:
        layer = nn.TransformerEncoderLayer(
            D_MODEL, N_HEADS, 2 * D_MODEL, batch_first=batch_first, norm_first=norm_first
        )
        inner = nn.TransformerEncoder(layer, N_LAYERS, enable_nested_tensor=nested)
        return Around(inner, lambda self, x, passed: run(self.inner, x, passed))

    return drawn(seed, make)


def flex(q: Heads, k: Heads, v: Heads, passed: BlockMask) -> Heads:
    """flex_attention with a BlockMask, not compiled."""
    return flex_attention(q, k, v, block_mask=passed)


def scores_of(q: Heads, k: Heads) -> Float[Tensor, "batch head query key"]:
    """q·kᵀ / √d_head."""
    return q @ k.mT / q.shape[-1] ** 0.5
