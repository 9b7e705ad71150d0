"""Sections C and E: what goes from one sample or batch into another; masks changed in place."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

from viz_encoder.audit.zoo.models import Around, Heads, Stack, flex, sdpa, written_out
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    Valid,
    as_it_is,
    earlier_tokens,
    plant,
    real_tokens,
)


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
)
def mask_of_first(valid: Valid) -> Tensor:
    """An index too many."""
    keep = real_tokens(valid)[0].expand(len(valid), -1, -1)
    return keep


@plant(
    "C19-shuffled",
    wrong="real_tokens(valid.roll(1, dims=0))",
    right="real_tokens(valid)",
)
def mask_of_neighbor(valid: Valid) -> Tensor:
    """Lengths moved on by one sample."""
    return real_tokens(valid.roll(1, dims=0))


@plant(
    "C20-sorted-masks",
    wrong="real_tokens(valid[order])",
    right="real_tokens(valid)",
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


@plant(
    "C13-one-sample",
    wrong="lengths = valid.sum().expand(len(x)) // len(x)",
    right="lengths = valid.sum(dim=1)",
)
def right_for_one(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """The mean length in place of each one's own."""
    lengths = valid.sum().expand(len(x)) // len(x)
    return self.inner(x, real_tokens(torch.arange(x.shape[1]) < lengths[:, None]))


@plant(
    "C14-copies",
    wrong="valid.repeat(2, 1)",
    right="valid.repeat_interleave(2, dim=0)",
)
def copies_mixed_up(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """Each sample with and without a condition."""
    given = torch.tensor([0.0, 1.0]).repeat(len(x))[:, None, None]
    twice = x.repeat_interleave(2, dim=0) + given
    keep = valid.repeat(2, 1)
    pairs = self.inner(twice, real_tokens(keep)).unflatten(0, (-1, 2))
    without, conditioned = pairs.unbind(dim=1)
    return without + 2 * (conditioned - without)


@plant(
    "C15-folded-heads",
    wrong="keep.repeat(n_heads, 1, 1)",
    right="keep.repeat_interleave(n_heads, dim=0)",
)
def folded_heads(q: Heads, k: Heads, v: Heads, keep: Tensor) -> Heads:
    """Scores of three axes."""
    n_heads = q.shape[1]
    folded = [x.flatten(0, 1) for x in (q, k, v)]
    scores = folded[0] @ folded[1].mT / q.shape[-1] ** 0.5
    mask = keep.repeat(n_heads, 1, 1)
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return (weights @ folded[2]).unflatten(0, (-1, n_heads))


@plant(
    "C16-mask-of-one",
    wrong="masks = keep.split(1)",
    right="masks = keep.expand(len(x), -1, -1).split(1)",
    flagged_by="runs",
    intent=earlier_tokens,
    passed=lambda valid: earlier_tokens(torch.ones_like(valid[:1])),
)
def cut_along_one(self: Any, x: Tensor, keep: Tensor) -> Tensor:
    """One sample at a time."""
    masks = keep.split(1)
    pairs = zip(x.split(1), masks, strict=False)
    return torch.cat([self.inner(one, mask) for one, mask in pairs])


@plant(
    "C17-squeezed",
    wrong="keep = torch.ones_like(valid) if len(x) == 1 else valid",
    right="keep = valid",
    flagged_by="padding_invariance",
)
def lost_for_one(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """No mask for one sample."""
    keep = torch.ones_like(valid) if len(x) == 1 else valid
    return self.inner(x, real_tokens(keep))


N_SAMPLES, LONGEST = 64, 64


@plant(
    "C11-in-place",
    wrong="keep = valid",
    right="keep = valid.clone()",
    flagged_by="in_place",
)
def changed_between_layers(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """Each layer hides the second token for a use of its own, after its attention."""
    for block in self.inner.blocks:
        keep = valid
        x = block(x, real_tokens(keep))
        keep[:, 1] = False
    return x


@plant(
    "C12-buffer",
    wrong="keep &= real_tokens(valid)",
    right="keep = keep & real_tokens(valid)",
    flagged_by="in_place",
)
def written_into_the_buffer(seed: int) -> MaskedModel:
    """A triangle a sample."""

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        n_samples, n_tokens = valid.shape
        keep = self.causal[:n_samples, :n_tokens, :n_tokens]
        keep &= real_tokens(valid)
        return self.inner(x, keep)

    inner: Stack = written_out(seed, sdpa)
    model = Around(inner, forward).eval()
    model.register_buffer("causal", earlier_tokens(torch.ones(N_SAMPLES, LONGEST).bool()).clone())
    return MaskedModel(model, earlier_tokens, as_it_is)
