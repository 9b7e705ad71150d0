"""Our encoder from its embeddings on, written out in steps that can be replaced by other rules."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.model import Encoder
from viz_encoder.model.attention import merge_heads, split_heads
from viz_encoder.model.block import ACTIVATIONS
from viz_encoder.model.head import PredictionHead

Activation = Callable[[Tensor], Tensor]


class Steps:
    """Each step as torch has it. Maps are kept, "batch head query key", and gradients reach them."""

    def __init__(self) -> None:
        self.maps: list[Tensor] = []

    def linear(self, layer: nn.Linear, x: Tensor) -> Tensor:
        return layer(x)

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        return a + b

    def norm(self, layer: nn.Module, x: Tensor) -> Tensor:
        return layer(x)

    def activate(self, f: Activation, x: Tensor) -> Tensor:
        return f(x)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        self.maps.append((q @ k.mT * scale).softmax(dim=-1))
        return self.maps[-1] @ v


def encode(model: Encoder, x: Tensor, steps: Steps | None = None) -> Tensor:
    """The output "batch token d_model"; for unpadded inputs and learned positions."""
    steps = steps or Steps()
    for block in model.layers:
        x = _block(block, x, steps)
    return x if isinstance(model.final_norm, nn.Identity) else steps.norm(model.final_norm, x)


def answer(head: PredictionHead, x: Tensor, steps: Steps | None = None) -> Tensor:
    """The logits of a prediction head, of states "… d_model" that it reads."""
    steps = steps or Steps()
    if head.dense is not None:
        x = steps.linear(head.dense, x)
    if head.config.activation is not None:
        x = steps.activate(ACTIVATIONS[head.config.activation], x)
    if head.norm is not None:
        x = steps.norm(head.norm, x)
    return x if head.out is None else steps.linear(head.out, x)


def _block(block: Any, x: Tensor, steps: Steps) -> Tensor:
    """Pre-norm or post-norm, without a gate."""
    attended = _attention(
        block.attn, steps.norm(block.attn_norm, x) if block.pre_norm else x, steps
    )
    x = steps.add(x, attended)
    if not block.pre_norm:
        x = steps.norm(block.attn_norm, x)
    inner = steps.linear(block.ff.up, steps.norm(block.ff_norm, x) if block.pre_norm else x)
    x = steps.add(x, steps.linear(block.ff.down, steps.activate(block.ff.activation, inner)))
    return x if block.pre_norm else steps.norm(block.ff_norm, x)


def _attention(attn: Any, x: Tensor, steps: Steps) -> Tensor:
    q, k, v = (
        split_heads(steps.linear(each, x), attn.n_heads) for each in (attn.q, attn.k, attn.v)
    )
    return steps.linear(attn.o, merge_heads(steps.attend(q, k, v, attn.scale)))


def embeddings(encoder: Any, values: Tensor) -> Tensor:
    """What enters the first block, as a tensor that gradients can reach."""
    with torch.no_grad():
        return encoder.model.embed(values)
