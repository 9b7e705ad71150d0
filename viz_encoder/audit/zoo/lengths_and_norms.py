"""Sections A and E, further: what is taken for the mask, lengths as shares, norms over padding."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_encoder.audit.arguments import AuditInputs
from viz_encoder.audit.zoo.models import D_MODEL, Heads, sdpa
from viz_encoder.audit.zoo.specimen import (
    Valid,
    earlier_tokens,
    neighbors,
    own_document,
    plant,
    real_tokens,
)


def _with_types(valid: Valid) -> dict[str, Tensor]:
    second = torch.arange(valid.shape[1]) >= valid.sum(dim=1, keepdim=True) // 2
    return {"attention_mask": valid.long(), "token_type_ids": (second & valid).long()}


@plant(
    "A7-token-types",
    "Token types passed as the mask",
    symptom="Training works nearly as well as it should; the second text of a pair is read alone.",
    story="A model takes (ids, token types, mask) and is called with (ids, mask, token types): "
    "allenai/allennlp#2145.",
    wrong='keep = passed["token_type_ids"] == 1',
    right='keep = passed["attention_mask"] == 1',
    flagged_by="maps",
    passed=_with_types,
)
def types_for_the_mask(self: Any, x: Tensor, passed: dict[str, Tensor]) -> Tensor:
    """Each text has two parts."""
    keep = passed["token_type_ids"] == 1
    return self.inner(x, real_tokens(keep))


@plant(
    "E15-shares",
    "Lengths kept as shares of the longest, and cut off",
    symptom="A few lengths of many lose their last token, and no test of one's own has them.",
    story="27 / 49 * 49 is 26.999998 in float32, and int() makes 26 of it: "
    "speechbrain/speechbrain#2895.",
    wrong="lengths = (shares * x.shape[1]).int()",
    right="lengths = (shares * x.shape[1]).round()",
    flagged_by="lengths",
    passed=lambda valid: valid.sum(dim=1) / valid.shape[1],
)
def shares_cut_off(self: Any, x: Tensor, shares: Tensor) -> Tensor:
    """Shares of the padded length."""
    lengths = (shares * x.shape[1]).int()
    return self.inner(x, real_tokens(torch.arange(x.shape[1]) < lengths[:, None]))


@plant(
    "E19-rounded",
    "Lengths rounded up to whole blocks",
    symptom="Texts of 8, 16, 24 tokens are right; all others read the padding of their block.",
    story="Batches are padded to a multiple of 8 for speed, and the mask is made of the same "
    "number.",
    wrong="lengths = (lengths + 3) // 4 * 4",
    right="lengths = valid.sum(dim=1)",
    flagged_by="maps",
)
def rounded_up(valid: Valid) -> Tensor:
    """Blocks of four tokens."""
    lengths = valid.sum(dim=1)
    lengths = (lengths + 3) // 4 * 4
    return real_tokens(torch.arange(valid.shape[1]) < lengths[:, None])


@plant(
    "E16-side",
    "A mask for padding on the right, and padding on the left",
    symptom="Short texts lose their last words, and look at padding in their place.",
    story="A tokenizer is set to the other side for generation, and the mask is still made of "
    "lengths.",
    wrong="keep = place < lengths[:, None]",
    right="keep = valid",
    flagged_by="maps",
    inputs=AuditInputs(padding_side="left"),
)
def other_side(valid: Valid) -> Tensor:
    """Padding stands in front."""
    place, lengths = torch.arange(valid.shape[1]), valid.sum(dim=1)
    keep = place < lengths[:, None]
    return real_tokens(keep)


@plant(
    "E17-group-norm",
    "A norm over tokens counts the padding",
    symptom="All tokens of a text move when another text of the batch is longer.",
    story="GroupNorm takes mean and variance over time: wav2vec 2.0, pytorch/audio#4205.",
    wrong="normed = self.norm(x.mT).mT",
    right="normed = self.own(x)",
    flagged_by="gradient",
    parts={"norm": lambda: nn.GroupNorm(1, D_MODEL), "own": lambda: nn.LayerNorm(D_MODEL)},
)
def norm_over_padding(self: Any, x: Tensor, valid: Valid) -> Tensor:
    """A norm over time before the encoder, or one of each token."""
    normed = self.norm(x.mT).mT
    return self.inner(normed, real_tokens(valid))


@plant(
    "E18-batch-norm",
    "BatchNorm counts the padding while it trains",
    symptom="Evaluation is right; the more the batches were padded, the worse it has learned.",
    story="BatchNorm1d takes its mean and variance over all places of the batch: the convolution "
    "of a Conformer (pytorch/audio#4205).",
    wrong="normed = self.norm(x.mT).mT",
    right="normed = x.masked_scatter(real, self.norm(x[valid]))",
    flagged_by="train_mode",
    verdict="WARN",
    parts={"norm": lambda: nn.BatchNorm1d(D_MODEL)},
)
def batch_norm_over_padding(self: Any, x: Tensor, valid: Valid) -> Tensor:
    """A norm over the batch before the encoder."""
    real = valid[:, :, None]
    normed = self.norm(x.mT).mT
    return self.inner(normed, real_tokens(valid))


@plant(
    "A8-one-of-two",
    "Of two masks, one is used",
    symptom="Where two documents meet, each reads the end of the other.",
    story="A call takes two masks, and one layer of code on the way hands on only the first.",
    wrong='keep = passed["window"]',
    right='keep = passed["window"] & passed["document"]',
    flagged_by="maps",
    intent=lambda valid: neighbors(2)(valid) & own_document(4)(valid),
    passed=lambda valid: {"window": neighbors(2)(valid), "document": own_document(4)(valid)},
)
def one_of_two(self: Any, x: Tensor, passed: dict[str, Tensor]) -> Tensor:
    """A window, within documents of four tokens."""
    keep = passed["window"]
    return self.inner(x, keep)


@plant(
    "E20-filled-keys",
    "Keys are filled up, and the mask opens them",
    symptom="Every weight is a little too small, the less so the longer the text.",
    story="Kernels want a multiple of 8 keys, a static cache has room for more: what is filled up "
    "holds zeros, and a score of 0 is not -inf: flashinfer-ai/flashinfer#5090.",
    wrong="keep = F.pad(passed, (0, more), value=True)",
    right="keep = F.pad(passed, (0, more), value=False)",
    flagged_by="maps",
)
def filled_keys(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """As many keys as fill blocks of eight."""
    more = -k.shape[2] % 8
    k, v = F.pad(k, (0, 0, 0, more)), F.pad(v, (0, 0, 0, more))
    keep = F.pad(passed, (0, more), value=True)
    return sdpa(q, k, v, keep)


@plant(
    "D14-order",
    "Tokens run backward, their mask does not",
    symptom="A bidirectional model is right in one direction and sees the future in the other.",
    story="x.flip(1) for the backward pass, and the causal mask as it was.",
    wrong="keep = passed",
    right="keep = passed.flip(1, 2)",
    flagged_by="gradient",
    intent=earlier_tokens,
    passed=earlier_tokens,
)
def backward(self: Any, x: Tensor, passed: Tensor) -> Tensor:
    """Turned around, and back again."""
    keep = passed
    return self.inner(x.flip(1), keep).flip(1)
