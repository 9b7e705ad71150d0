"""Section E: padding that gets in beside the attention, and into pooled vectors."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.zoo.models import (
    D_MODEL,
    Heads,
    sdpa,
    torch_encoder,
    written_out,
)
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    Valid,
    earlier_tokens,
    plant,
    real_tokens,
)

MAX_POSITIONS, EOS = 64, 2
ReadMask = Callable[[Any, Tensor, Tensor], Tensor]


@plant(
    "E1-convolution",
    wrong="self.stem(x.mT).mT",
    right="self.stem(x.masked_fill(~valid[:, :, None], 0.0).mT).mT",
    flagged_by="gradient",
    parts={"stem": lambda: nn.Conv1d(D_MODEL, D_MODEL, 3, padding=1)},
)
def stem_reads_padding(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """A stem of three tokens' width."""
    return self.inner(self.stem(x.mT).mT, real_tokens(valid))


@plant(
    "E1-centering",
    wrong="mean = x.mean(dim=1, keepdim=True)",
    right="mean = x.mul(keep).sum(dim=1, keepdim=True) / keep.sum(dim=1, keepdim=True)",
    flagged_by="gradient",
    parts={},
)
def mean_of_all_taken_off(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """Centering before the encoder."""
    keep = valid[:, :, None]
    mean = x.mean(dim=1, keepdim=True)
    return self.inner(x - mean, real_tokens(valid))


@plant(
    "E6-left-positions",
    wrong="positions = torch.arange(x.shape[1]).expand(valid.shape)",
    right="positions = (valid.cumsum(dim=1) - 1).clamp(min=0)",
    flagged_by="padding_invariance",
    parts={"table": lambda: nn.Embedding(MAX_POSITIONS, D_MODEL)},
    intent=earlier_tokens,
    inputs=AuditInputs(padding_side="left"),
)
def positions_shifted(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """Learned positions, and padding in front."""
    positions = torch.arange(x.shape[1]).expand(valid.shape)
    return self.inner(x + self.table(positions), earlier_tokens(valid))


@plant(
    "E8-pad-is-eos",
    wrong="keep = ids != EOS",
    right="keep = valid",
)
def end_token_hidden(valid: Valid) -> Tensor:
    """Texts that end in the id that fills them up."""
    n_real = valid.cumsum(dim=1)
    ends = valid & (n_real == valid.sum(dim=1, keepdim=True)) & (n_real > 1)
    ids = torch.full(valid.shape, 7).masked_fill(ends | ~valid, EOS)
    keep = ids != EOS
    return real_tokens(keep)


@plant(
    "E9-no-mask",
    wrong="encoder(x)",
    right="encoder(x, src_key_padding_mask=ignore)",
    flagged_by="gradient",
    passed=lambda valid: ~valid,
)
def mask_left_out(encoder: nn.TransformerEncoder, x: Tensor, ignore: Tensor) -> Tensor:
    """A mask that is given and not used."""
    return encoder(x)


@plant(
    "E10-one-implementation",
    wrong="F.scaled_dot_product_attention(q, k, v)",
    right="sdpa(q, k, v, passed)",
    flagged_by="implementations",
)
def one_path_forgets(seed: int) -> MaskedModel:
    """The model is right; its variant is not."""

    def fast(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        return F.scaled_dot_product_attention(q, k, v)

    scope = AuditScope(variants={"fast": written_out(seed, fast)})
    return MaskedModel(written_out(seed, sdpa), real_tokens, scope=scope)


@plant(
    "E11-cls-shift",
    wrong="keep = F.pad(valid, (0, 1), value=True)",
    right="keep = F.pad(valid, (1, 0), value=True)",
    parts={"cls": lambda: nn.Embedding(1, D_MODEL)},
)
def one_short(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """[CLS] before the patches, and the mask moved by one."""
    first = self.cls.weight.expand(len(x), 1, -1)
    keep = F.pad(valid, (0, 1), value=True)
    return self.inner(torch.cat([first, x], dim=1), real_tokens(keep))[:, 1:]


@plant(
    "E2-two-paths",
    wrong="hidden.amax(dim=1)",
    right="hidden.masked_fill(~valid[:, :, None], -torch.inf).amax(dim=1)",
    flagged_by="grad_mode",
)
def paths_differ(seed: int) -> MaskedModel:
    """nn.TransformerEncoder with nested tensors, and the maximum over all rows."""

    def run(encoder: nn.TransformerEncoder, x: Tensor, valid: Tensor) -> Tensor:
        hidden = encoder(x, src_key_padding_mask=~valid)
        return hidden.amax(dim=1)

    return MaskedModel(torch_encoder(seed, run, nested=True), real_tokens, lambda valid: valid)


@plant(
    "E3-mean",
    wrong="hidden.mean(dim=1)",
    right="hidden.mul(keep).sum(dim=1) / keep.sum(dim=1)",
    flagged_by="padding_invariance",
)
def mean_of_all(hidden: Tensor, valid: Tensor) -> Tensor:
    """The mean over every row."""
    keep = valid[:, :, None]
    return hidden.mean(dim=1)


@plant(
    "E4-max",
    wrong="hidden.mul(keep).amax(dim=1)",
    right="hidden.masked_fill(~keep, -torch.inf).amax(dim=1)",
    flagged_by="padding_invariance",
)
def maximum_with_zeros(hidden: Tensor, valid: Tensor) -> Tensor:
    """The maximum over real rows and zeros."""
    keep = valid[:, :, None]
    return hidden.mul(keep).amax(dim=1)


@plant(
    "E5-last",
    wrong="hidden[:, -1]",
    right="hidden[torch.arange(len(hidden)), valid.sum(dim=1) - 1]",
    flagged_by="padding_invariance",
)
def last_position(hidden: Tensor, valid: Tensor) -> Tensor:
    """The last row."""
    return hidden[:, -1]
