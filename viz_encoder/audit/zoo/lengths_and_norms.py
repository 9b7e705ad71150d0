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
    wrong='keep = passed["token_type_ids"] == 1',
    right='keep = passed["attention_mask"] == 1',
    passed=_with_types,
)
def types_for_the_mask(self: Any, x: Tensor, passed: dict[str, Tensor]) -> Tensor:
    """Each text has two parts."""
    keep = passed["token_type_ids"] == 1
    return self.inner(x, real_tokens(keep))


@plant(
    "E15-shares",
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
    wrong="lengths = (lengths + 3) // 4 * 4",
    right="lengths = valid.sum(dim=1)",
)
def rounded_up(valid: Valid) -> Tensor:
    """Blocks of four tokens."""
    lengths = valid.sum(dim=1)
    lengths = (lengths + 3) // 4 * 4
    return real_tokens(torch.arange(valid.shape[1]) < lengths[:, None])


@plant(
    "E16-side",
    wrong="keep = place < lengths[:, None]",
    right="keep = valid",
    inputs=AuditInputs(padding_side="left"),
)
def other_side(valid: Valid) -> Tensor:
    """Padding stands in front."""
    place, lengths = torch.arange(valid.shape[1]), valid.sum(dim=1)
    keep = place < lengths[:, None]
    return real_tokens(keep)


@plant(
    "E17-group-norm",
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
    wrong='keep = passed["window"]',
    right='keep = passed["window"] & passed["document"]',
    intent=lambda valid: neighbors(2)(valid) & own_document(4)(valid),
    passed=lambda valid: {"window": neighbors(2)(valid), "document": own_document(4)(valid)},
)
def one_of_two(self: Any, x: Tensor, passed: dict[str, Tensor]) -> Tensor:
    """A window, within documents of four tokens."""
    keep = passed["window"]
    return self.inner(x, keep)


@plant(
    "E20-filled-keys",
    wrong="keep = F.pad(passed, (0, more), value=True)",
    right="keep = F.pad(passed, (0, more), value=False)",
)
def filled_keys(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """As many keys as fill blocks of eight."""
    more = -k.shape[2] % 8
    k, v = F.pad(k, (0, 0, 0, more)), F.pad(v, (0, 0, 0, more))
    keep = F.pad(passed, (0, more), value=True)
    return sdpa(q, k, v, keep)


@plant(
    "D14-order",
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
