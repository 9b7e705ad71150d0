"""Section C and E, batches: what goes from one sample, or one batch, into another."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

from viz_encoder.audit.zoo.models import flex, written_out
from viz_encoder.audit.zoo.specimen import Valid, plant, real_tokens


@plant(
    "C8-kept-mask",
    "The mask of the first batch is kept",
    symptom="The first batch is right; later ones are masked with the padding of the first.",
    story="A mask cached by its shape: right for a causal mask, which depends on nothing else, and "
    "wrong for padding.",
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
    "Samples are sorted by length, and never put back",
    symptom="Right for one text and texts of one length; otherwise vectors belong to other texts.",
    story="Sorting by length, needed for packed recurrent networks and copied ever since.",
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
    "A mean divided by the count of the whole batch",
    symptom="The larger the batch, the shorter the vectors.",
    story="valid.sum() instead of valid.sum(dim=1): the shapes fit either way.",
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
    "Lengths one too long",
    symptom="Every text reads one token of padding, whatever its length.",
    story="An end token that is counted but was never added, or <= instead of <.",
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
    "A BlockMask made for sample 0 and shared",
    symptom="Right as long as it runs uncompiled; compiled, long texts lose the ends that sample 0 "
    "does not have.",
    story="meta-pytorch/attention-gym#98: with B=None, create_block_mask asks the mask_mod for "
    "sample 0 alone. A compiled flex_attention skips blocks by that list, and asks the mask_mod "
    "within the others. Blocks of 2 tokens stand for those of 128.",
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
    "All samples get the mask of sample 0",
    symptom="Right for one text; in a batch, texts are cut to the length of the first.",
    story="mask[0] broadcasts over the batch without a word; so does what is made of the first "
    "row's lengths.",
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
    "Samples in one order, their masks in another",
    symptom="Each text is masked by the length of its neighbor in the batch.",
    story="The dataset pairs a text with the lengths of the one before it, as where a list is "
    "rotated, or shuffled on its own.",
    wrong="real_tokens(valid.roll(1, dims=0))",
    right="real_tokens(valid)",
    flagged_by="maps",
)
def mask_of_neighbor(valid: Valid) -> Tensor:
    """Lengths moved on by one sample."""
    return real_tokens(valid.roll(1, dims=0))


@plant(
    "C20-sorted-masks",
    "Masks are sorted by length, samples are not",
    symptom="Right where the batch happens to come longest first, as a bucketing loader gives it.",
    story="Packed recurrent networks want the longest sample first, so lengths and masks are "
    "sorted; the samples stay where they were.",
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
    "A mean over the samples",
    symptom="A text's vectors change with what else is in the batch, padded or not.",
    story="dim=0 for dim=-1: with the batch first, 0 is the sample.",
    wrong="x - x.mean(dim=0, keepdim=True)",
    right="x - x.mean(dim=-1, keepdim=True)",
    flagged_by="batch_independence",
)
def mean_over_batch(self: Any, x: Tensor, valid: Tensor) -> Tensor:
    """Centering before the encoder."""
    return self.inner(x - x.mean(dim=0, keepdim=True), real_tokens(valid))
