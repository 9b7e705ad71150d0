"""Section A: masks that mean something else to the call that takes them."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_encoder.audit.zoo.models import (
    Heads,
    multihead,
    scores_of,
    sdpa,
    written_out,
)
from viz_encoder.audit.zoo.specimen import Valid, as_it_is, earlier_tokens, plant, real_tokens


def _causal(valid: Valid) -> Tensor:
    n_tokens = valid.shape[1]
    return torch.ones(n_tokens, n_tokens, dtype=torch.bool, device=valid.device).tril()


def _adding(layer: nn.MultiheadAttention, x: Tensor, added: Tensor) -> Tensor:
    return layer(x, x, x, attn_mask=added)[0]


def _as_bool(q: Heads, k: Heads, v: Heads, keep: Tensor) -> Heads:
    return sdpa(q, k, v, keep.bool())


@plant(
    "A1-multihead",
    wrong="attn_mask=keep",
    right="attn_mask=~keep",
    intent=earlier_tokens,
    passed=_causal,
)
def keep_given_to_multihead(layer: nn.MultiheadAttention, x: Tensor, keep: Tensor) -> Tensor:
    """A causal mask, inverted."""
    return layer(x, x, x, attn_mask=keep)[0]


@plant(
    "A1-encoder",
    wrong="src_key_padding_mask=keep",
    right="src_key_padding_mask=~keep",
    flagged_by="gradient",
    passed=as_it_is,
)
def keep_given_to_encoder(encoder: nn.TransformerEncoder, x: Tensor, keep: Tensor) -> Tensor:
    """A padding mask, inverted."""
    return encoder(x, src_key_padding_mask=keep)


@plant(
    "A1-sdpa",
    wrong="attn_mask=ignore[:, None]",
    right="attn_mask=~ignore[:, None]",
    intent=earlier_tokens,
    passed=lambda valid: ~earlier_tokens(valid),
)
def ignore_given_to_sdpa(q: Heads, k: Heads, v: Heads, ignore: Tensor) -> Heads:
    """A torch.nn mask, not inverted."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=ignore[:, None])


@plant(
    "A2-multihead",
    wrong="torch.triu(torch.ones(n_tokens, n_tokens), diagonal=1)",
    right="torch.triu(torch.full((n_tokens, n_tokens), -torch.inf), diagonal=1)",
    flagged_by="static",
    intent=earlier_tokens,
    taker=lambda seed: multihead(seed, _adding),
)
def ones_given_to_multihead(valid: Valid) -> Tensor:
    """1 = ignore, as floats."""
    n_tokens = valid.shape[1]
    return torch.triu(torch.ones(n_tokens, n_tokens), diagonal=1)


@plant(
    "A2-sdpa",
    wrong="real_tokens(valid).float()",
    right="real_tokens(valid).float().log()",
    flagged_by="static",
)
def ones_given_to_sdpa(valid: Valid) -> Tensor:
    """1 = keep, as floats."""
    return real_tokens(valid).float()


@plant(
    "A3-integers",
    wrong="keep = ~padding",
    right="keep = padding == 0",
    flagged_by="gradient",
    taker=lambda seed: written_out(seed, _as_bool),
)
def integers_turned_over(valid: Valid) -> Tensor:
    """1 = padding, as whole numbers."""
    padding = (~valid).long()
    keep = ~padding
    return keep[:, None, :].expand(-1, valid.shape[1], -1)


@plant(
    "A5-after-softmax",
    wrong="weights = scores.softmax(-1) * keep",
    right="weights = scores.masked_fill(~keep, -torch.inf).softmax(-1)",
    flagged_by="gradient",
)
def masked_after_softmax(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """Weights normalized before they were masked."""
    scores, keep = scores_of(q, k), passed[:, None]
    weights = scores.softmax(-1) * keep
    return weights @ v


@plant(
    "A5-zero-scores",
    wrong="(scores * keep).softmax(-1)",
    right="scores.masked_fill(~keep, -torch.inf).softmax(-1)",
)
def scores_set_to_zero(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """Scores multiplied by the mask."""
    scores, keep = scores_of(q, k), passed[:, None]
    return (scores * keep).softmax(-1) @ v


@plant(
    "A6-tiny",
    wrong="scores.masked_fill(~keep, 1e-9)",
    right="scores.masked_fill(~keep, -1e9)",
)
def filled_with_almost_nothing(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """A typo in the fill value."""
    scores, keep = scores_of(q, k), passed[:, None]
    return scores.masked_fill(~keep, 1e-9).softmax(-1) @ v


@plant(
    "A6-minus-ten",
    wrong="(~keep) * -10.0",
    right="torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)",
    flagged_by="constants",
    intent=earlier_tokens,
)
def minus_ten_added(valid: Valid) -> Tensor:
    """An added mask that is too weak."""
    keep = earlier_tokens(valid)
    return (~keep) * -10.0
