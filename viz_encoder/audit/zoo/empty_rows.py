"""Section B: rows without an allowed key, NaN, and types that overflow."""

from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.zoo.models import (
    Around,
    Heads,
    drawn,
    multihead,
    scores_of,
    torch_encoder,
    written_out,
)
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    Valid,
    as_it_is,
    earlier_tokens,
    plant,
    real_tokens,
)

ONE_EMPTY = torch.tensor([[1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0]])


def _ignoring(encoder: nn.TransformerEncoder, x: Tensor, ignore: Tensor) -> Tensor:
    return encoder(x, src_key_padding_mask=ignore)


def _adding(q: Heads, k: Heads, v: Heads, added: Tensor) -> Heads:
    return (scores_of(q, k) + added[:, None]).softmax(-1) @ v


@plant(
    "B1-empty-row",
    wrong="keep = torch.ones(n_tokens, n_tokens).tril(-1).bool()",
    right="keep = torch.ones(n_tokens, n_tokens).tril().bool()",
    flagged_by="runs",
)
def nothing_before_the_first(seed: int) -> MaskedModel:
    """A strictly causal mask: itself is left out too."""

    def causal(valid: Valid) -> Tensor:
        n_tokens = valid.shape[1]
        keep = torch.ones(n_tokens, n_tokens).tril(-1).bool()
        return keep & valid[:, None, :]

    def call(layer: nn.MultiheadAttention, x: Tensor, keep: Tensor) -> Tensor:
        return layer(x, x, x, attn_mask=(~keep).repeat_interleave(2, dim=0))[0]

    return MaskedModel(multihead(seed, call), causal)


@plant(
    "B2-empty-sample",
    wrong="ignore = ~valid",
    right="ignore = ~valid & valid.any(dim=1, keepdim=True)",
    flagged_by="empty_sample",
    taker=lambda seed: torch_encoder(seed, _ignoring),
    inputs=AuditInputs(valid=ONE_EMPTY.bool()),
)
def one_sample_is_empty(valid: Valid) -> Tensor:
    """A batch with an empty text in it."""
    ignore = ~valid
    return ignore


@plant(
    "B3-poisoned-gradient",
    wrong="keep = passed[:, None, :] & passed[:, :, None]",
    right="keep = passed[:, None, :].expand(-1, passed.shape[1], -1)",
    flagged_by="gradient",
    passed=as_it_is,
)
def gradient_is_poisoned(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """Queries masked as well as keys, and NaN swept under the rug."""
    keep = passed[:, None, :] & passed[:, :, None]
    weights = scores_of(q, k).masked_fill(~keep[:, None], -torch.inf).softmax(-1)
    return (weights @ v).masked_fill(~passed[:, None, :, None], 0.0)


@plant(
    "B4-nan-in-padding",
    wrong="self.inner(x / counts, real_tokens(valid))",
    right="self.inner(x / counts.clamp(min=1), real_tokens(valid))",
    flagged_by="runs",
)
def nan_in_padding(self: Any, x: Tensor, valid: Valid) -> Tensor:
    """Division by the number of frames, which is 0 in padding."""
    counts = valid[:, :, None].float()
    return self.inner(x / counts, real_tokens(valid))


def _in_half_precision(scores: Any, seed: int) -> Around:
    def attend(q: Heads, k: Heads, v: Heads, keep: Tensor) -> Heads:
        return scores(scores_of(q, k), keep[:, None]).softmax(-1) @ v

    def forward(self: Any, x: Tensor, keep: Tensor) -> Tensor:
        return self.inner(x.half(), keep).float()

    return drawn(seed, lambda: Around(written_out(seed, attend), forward)).half()


@plant(
    "B5-half",
    wrong="scores.masked_fill(~keep, -1e9)",
    right="scores.masked_fill(~keep, -torch.inf)",
    flagged_by="runs",
)
def too_large_for_half(seed: int) -> MaskedModel:
    """A constant that float16 cannot hold."""

    def fill(scores: Tensor, keep: Tensor) -> Tensor:
        return scores.masked_fill(~keep, -1e9)

    scope = AuditScope(dtype=torch.float16)
    return MaskedModel(_in_half_precision(fill, seed), real_tokens, scope=scope)


@plant(
    "B5-two-masks",
    wrong="lowest * ~padding + lowest * ~causal",
    right="lowest * ~(padding & causal)",
    flagged_by="static",
    intent=earlier_tokens,
    taker=lambda seed: written_out(seed, _adding),
)
def two_masks_added(valid: Valid) -> Tensor:
    """Masks of two kinds that both forbid a whole row."""
    lowest = torch.finfo(torch.float32).min
    padding = valid[:, None, :] & valid[:, :, None]
    causal = earlier_tokens(valid) & valid[:, :, None]
    return lowest * ~padding + lowest * ~causal
