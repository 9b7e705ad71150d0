"""Section H: plants that are hard to see, for they need a mode, a length or a cache to show."""

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_encoder.audit.zoo.models import Heads, sdpa, written_out
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    Valid,
    earlier_tokens,
    last_tokens,
    plant,
    real_tokens,
)

BORDER = 32
Cache = list[tuple[Tensor, Tensor]]  # keys and values so far, one pair a layer


@plant(
    "F2-dropout",
    "Dropout that is never switched off",
    symptom="The same text gives different numbers each time, in eval() too.",
    story="dropout_p of the fused kernel ignores eval(): it drops whenever it is not 0.",
    wrong="dropout_p=0.1",
    right="dropout_p=0.1 if model.training else 0.0",
    flagged_by="runs",
)
def dropout_stays(seed: int, fixed: bool) -> MaskedModel:
    """The rate is written into the call."""

    def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        keep, attention = passed[:, None], F.scaled_dot_product_attention
        if fixed:
            return attention(q, k, v, attn_mask=keep, dropout_p=0.1 if model.training else 0.0)
        return attention(q, k, v, attn_mask=keep, dropout_p=0.1)

    model = written_out(seed, attend)
    return MaskedModel(model, real_tokens)


@plant(
    "H1-training-only",
    "Wrong in training mode only",
    symptom="Evaluation is right; the model has learned with the padding in view.",
    story="Paths chosen by self.training, as torch.nn itself has them (pytorch/pytorch#99282).",
    wrong="F.scaled_dot_product_attention(q, k, v)",
    right="sdpa(q, k, v, passed)",
    flagged_by="train_mode",
)
def only_in_training(seed: int, fixed: bool) -> MaskedModel:
    """The mask is left out while training."""

    def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        if model.training and not fixed:
            return F.scaled_dot_product_attention(q, k, v)
        return sdpa(q, k, v, passed)

    model = written_out(seed, attend)
    return MaskedModel(model, real_tokens)


@plant(
    "H2-above-32",
    "Wrong above 32 tokens only",
    symptom="Short texts are right; in long ones, later tokens read their own future.",
    story="Kernels work in blocks, and the border of a block is where a mask is cut wrong.",
    wrong="keep[:, BORDER:] |= passed[:, -1:]",
    right="keep = passed.clone()",
    flagged_by="lengths",
)
def only_when_long(seed: int, fixed: bool) -> MaskedModel:
    """Tokens from 32 on see what the last one sees."""

    def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        keep = passed.clone()
        if not fixed:
            keep[:, BORDER:] |= passed[:, -1:]
        return sdpa(q, k, v, keep)

    return MaskedModel(written_out(seed, attend), earlier_tokens)


@plant(
    "H3-minus-1e4",
    "-10,000 is not -inf",
    symptom="Right on ordinary inputs; where all allowed scores are below -10,000, the mask is "
    "inverted.",
    story="A constant chosen for half precision. Only the passed mask shows it: no ordinary input "
    "has such scores.",
    wrong="(~keep) * -1e4",
    right="torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)",
    flagged_by="constants",
    verdict="WARN",
)
def constant_too_small(seed: int, fixed: bool) -> MaskedModel:
    """An added mask that extreme scores beat."""

    def make_mask(valid: Valid) -> Tensor:
        keep = real_tokens(valid)
        if fixed:
            return torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)
        return (~keep) * -1e4

    return MaskedModel(written_out(seed, sdpa), real_tokens, make_mask)


@plant(
    "H4-wrong-intent",
    "The intent itself is wrong",
    symptom="Nothing: the model does what it was told, and it was told wrongly.",
    story="A window of 4 was written down where 3 was meant, in the code and in the intent.",
    wrong="intent = last_tokens(4)",
    right="intent = last_tokens(3)",
    flagged_by="",
    verdict="PASS",
    missed="An audit compares a model with the intent it is given; it cannot know that this is "
    "wrong.",
)
def told_wrongly(seed: int, fixed: bool) -> MaskedModel:
    """Wrong in the same way twice."""
    intent = last_tokens(4)
    if fixed:
        intent = last_tokens(3)
    return MaskedModel(written_out(seed, sdpa), intent)
