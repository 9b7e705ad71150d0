"""Section H, further: what is meant besides a mask: a bias, which tokens are pooled, beams."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_encoder.audit.arguments import AuditScope
from viz_encoder.audit.zoo.models import N_HEADS, Heads, scores_of, sdpa, written_out
from viz_encoder.audit.zoo.specimen import MaskedModel, Valid, earlier_tokens, plant, real_tokens


def alibi(valid: Valid) -> Tensor:
    """−slope · distance, a slope a head: 1/4, 1/16 (Press et al., 2022, for both directions)."""
    place = torch.arange(valid.shape[1], device=valid.device)
    slopes = 2.0 ** -torch.arange(2, 2 * N_HEADS + 1, 2, device=valid.device)
    return -slopes[:, None, None] * (place[:, None] - place[None, :]).abs()


@plant(
    "H8-alibi-lost",
    wrong="attn_mask=passed[:, None]",
    right="bias.masked_fill(~passed[:, None], -torch.inf)",
    flagged_by="bias",
    scope=AuditScope(bias=alibi),
)
def bias_is_lost(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """A fused kernel, to which a mask and a bias are one tensor."""
    bias = alibi(passed[:, 0])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=passed[:, None])


@plant(
    "H9-alibi-heads",
    wrong="scores_of(q, k) + bias.flip(0)",
    right="scores_of(q, k) + bias",
    flagged_by="bias",
    scope=AuditScope(bias=alibi),
)
def slopes_reversed(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """A softmax of its own, whose scores are not seen."""
    bias = alibi(passed[:, 0])
    scores = scores_of(q, k) + bias.flip(0)
    return scores.masked_fill(~passed[:, None], -torch.inf).softmax(dim=-1) @ v


def between(valid: Valid) -> Tensor:
    """Real tokens but the first and the last of them, which are [CLS] and [SEP]."""
    return valid & valid.roll(1, 1) & valid.roll(-1, 1) & _inside(valid)


def _inside(valid: Valid) -> Tensor:
    place = torch.arange(valid.shape[1], device=valid.device)
    return (place > 0) & (place < valid.shape[1] - 1)


@plant(
    "E14-special",
    wrong="keep = valid",
    right="keep = between(valid)",
    flagged_by="pooled_tokens",
    scope=AuditScope(pool_over=between),
)
def special_tokens_pooled(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """The mean inside the model."""
    hidden = self.inner(x, real_tokens(valid))
    keep = valid
    counts = keep.sum(dim=1, keepdim=True).clamp_min(1)
    pooled: Tensor = hidden.mul(keep[:, :, None]).sum(dim=1) / counts
    return pooled


@plant(
    "H12-alibi-clipped",
    wrong="bias = alibi(passed[:, 0]).clamp(min=farthest)",
    right="bias = alibi(passed[:, 0])",
    flagged_by="bias",
    scope=AuditScope(bias=alibi),
)
def bias_stops(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """No distance counts above ten tokens."""
    slopes = 2.0 ** -torch.arange(2, 2 * N_HEADS + 1, 2)[:, None, None]
    farthest = -10 * slopes
    bias = alibi(passed[:, 0]).clamp(min=farthest)
    scores = scores_of(q, k) + bias
    return scores.masked_fill(~passed[:, None], -torch.inf).softmax(dim=-1) @ v


@plant(
    "H13-alibi-sign",
    wrong="scores_of(q, k) - alibi(passed[:, 0])",
    right="scores_of(q, k) + alibi(passed[:, 0])",
    flagged_by="bias",
    scope=AuditScope(bias=alibi),
)
def sign_of_bias(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """Far tokens are rewarded."""
    scores = scores_of(q, k) - alibi(passed[:, 0])
    return scores.masked_fill(~passed[:, None], -torch.inf).softmax(dim=-1) @ v


def relative(valid: Valid) -> Tensor:
    """A number for each distance with its sign, as in a table of relative positions."""
    place = torch.arange(valid.shape[1], device=valid.device)
    return torch.sin(0.5 + 1.3 * (place[None, :] - place[:, None]))[None]


@plant(
    "H14-relative",
    wrong="bias = relative(passed[:, 0]).mT",
    right="bias = relative(passed[:, 0])",
    flagged_by="bias",
    scope=AuditScope(bias=relative),
)
def other_direction(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """A bias that differs to the left and to the right."""
    bias = relative(passed[:, 0]).mT
    scores = scores_of(q, k) + bias
    return scores.masked_fill(~passed[:, None], -torch.inf).softmax(dim=-1) @ v


@plant(
    "H10-beams",
    wrong="(tokens[order], keep)",
    right="(tokens[order], keep[order])",
    flagged_by="beam_reorder",
)
def mask_of_other_beams(seed: int) -> MaskedModel:
    """The cache holds the tokens so far and which of them are real."""
    model = written_out(seed, sdpa)

    def step(x: Tensor, cache: Any, passed: Tensor) -> tuple[Tensor, Any]:
        new = passed[:, -1, -x.shape[1] :]
        seen, keep = (x, new) if cache is None else map(_join, cache, (x, new))
        allowed = keep[:, None] & torch.ones_like(passed).tril()
        return model(seen, allowed)[:, -x.shape[1] :], (seen, keep)

    def reorder(cache: Any, order: Tensor) -> Any:
        tokens, keep = cache
        return (tokens[order], keep)

    scope = AuditScope(step=step, reorder=reorder)
    return MaskedModel(model, earlier_tokens, scope=scope)


@plant(
    "H11-beam-tokens",
    wrong="return cache",
    right="return cache[order]",
    flagged_by="beam_reorder",
)
def cache_of_other_beams(seed: int) -> MaskedModel:
    """The cache holds the tokens so far."""
    model = written_out(seed, sdpa)

    def step(x: Tensor, cache: Tensor | None) -> tuple[Tensor, Tensor]:
        seen = x if cache is None else _join(cache, x)
        everything = torch.ones(len(seen), seen.shape[1], seen.shape[1], dtype=torch.bool)
        return model(seen, everything.tril())[:, -x.shape[1] :], seen

    def reorder(cache: Tensor, order: Tensor) -> Tensor:
        return cache

    scope = AuditScope(step=step, reorder=reorder)
    return MaskedModel(model, earlier_tokens, scope=scope)


def _join(before: Tensor, more: Tensor) -> Tensor:
    return torch.cat([before, more], dim=1)
