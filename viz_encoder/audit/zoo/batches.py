"""Section C and E, batches: what goes from one sample, or one batch, into another."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

from viz_encoder.audit.zoo.models import flex, written_out
from viz_encoder.audit.zoo.specimen import Valid, plant, real_tokens


@plant(
    "C8-kept-mask",
    wrong="keep = self.__dict__.setdefault(str(valid.shape), valid)",
    right="keep = valid",
    flagged_by="batch_independence",
)
def mask_kept(self: Any, x: Tensor, valid: Valid) -> Tensor:
    """A cache by shape."""
    keep = self.__dict__.setdefault(str(valid.shape), valid)
    return self.inner(x, real_tokens(keep))


@plant(
    "C9-sorted",
    wrong="return out",
    right="return out[order.argsort()]",
    flagged_by="gradient",
)
def never_put_back(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """The longest text first."""
    order = valid.sum(dim=1).argsort(descending=True, stable=True)
    out = self.inner(x[order], real_tokens(valid[order]))
    return out


@plant(
    "E12-batch-divisor",
    wrong="total / valid.sum()",
    right="total / valid.sum(dim=1, keepdim=True)",
    flagged_by="batch_independence",
)
def divided_by_all(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """Mean pooling."""
    total = self.inner(x, real_tokens(valid)).mul(valid[:, :, None]).sum(dim=1)
    return total / valid.sum()


@plant(
    "E13-lengths",
    wrong="place <= lengths[:, None]",
    right="place < lengths[:, None]",
    flagged_by="maps",
)
def one_too_long(valid: Valid) -> Tensor:
    """A mask made of lengths."""
    place, lengths = torch.arange(valid.shape[1]), valid.sum(dim=1)
    return real_tokens(place <= lengths[:, None])


@plant(
    "C10-block-mask",
    wrong="samples = None",
    right="samples = len(valid)",
    flagged_by="static",
    taker=lambda seed: written_out(seed, flex),
)
def blocks_of_one_sample(valid: Valid) -> BlockMask:
    """Padding as a mask_mod."""
    samples = None
    sizes = (samples, None, valid.shape[1], valid.shape[1])
    return create_block_mask(
        lambda b, h, query, key: valid[b, key], *sizes, valid.device, BLOCK_SIZE=2
    )


@plant(
    "C18-sample-0",
    wrong="keep = real_tokens(valid)[0].expand(len(valid), -1, -1)",
    right="keep = real_tokens(valid)",
    flagged_by="maps",
)
def mask_of_first(valid: Valid) -> Tensor:
    """An index too many."""
    keep = real_tokens(valid)[0].expand(len(valid), -1, -1)
    return keep


@plant(
    "C19-shuffled",
    wrong="real_tokens(valid.roll(1, dims=0))",
    right="real_tokens(valid)",
    flagged_by="maps",
)
def mask_of_neighbor(valid: Valid) -> Tensor:
    """Lengths moved on by one sample."""
    return real_tokens(valid.roll(1, dims=0))


@plant(
    "C20-sorted-masks",
    wrong="real_tokens(valid[order])",
    right="real_tokens(valid)",
    flagged_by="maps",
)
def sorted_masks(valid: Valid) -> Tensor:
    """The longest first."""
    order = valid.sum(dim=1).argsort(descending=True, stable=True)
    return real_tokens(valid[order])


@plant(
    "C21-over-batch",
    wrong="x - x.mean(dim=0, keepdim=True)",
    right="x - x.mean(dim=-1, keepdim=True)",
    flagged_by="batch_independence",
)
def mean_over_batch(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """Centering before the encoder."""
    return self.inner(x - x.mean(dim=0, keepdim=True), real_tokens(valid))
