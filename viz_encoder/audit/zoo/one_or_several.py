"""Section C, further: right for one sample and wrong for several, or the other way around."""

from typing import Any

import torch
from torch import Tensor

from viz_encoder.audit.zoo.models import Around, Heads, sdpa, written_out
from viz_encoder.audit.zoo.specimen import MaskedModel, as_it_is, earlier_tokens, plant, real_tokens


@plant(
    "C13-one-sample",
    "Right for a batch of one only",
    symptom="Every test with one text passes; in a batch, texts read padding or lose their ends.",
    story="Lengths are taken from the batch as a whole, as where cu_seqlens are those of one row: "
    "axolotl-ai-cloud/axolotl#1375.",
    wrong="lengths = valid.sum().expand(len(x)) // len(x)",
    right="lengths = valid.sum(dim=1)",
    flagged_by="maps",
)
def right_for_one(seed: int, fixed: bool) -> MaskedModel:
    """The mean length in place of each one's own."""

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        lengths = valid.sum().expand(len(x)) // len(x)
        if fixed:
            lengths = valid.sum(dim=1)
        return self.inner(x, real_tokens(torch.arange(x.shape[1]) < lengths[:, None]))

    model = Around(written_out(seed, sdpa), forward).eval()
    return MaskedModel(model, real_tokens, as_it_is)


@plant(
    "C14-copies",
    "Copies of samples with each other's masks",
    symptom="With one prompt all is well; with several, images follow the wrong words.",
    story="Under classifier-free guidance each sample runs twice. Samples are repeated one after "
    "the other, masks as a whole: huggingface/diffusers#13634.",
    wrong="valid.repeat(2, 1)",
    right="valid.repeat_interleave(2, dim=0)",
    flagged_by="maps",
)
def copies_mixed_up(seed: int, fixed: bool) -> MaskedModel:
    """Each sample with and without a condition."""

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        given = torch.tensor([0.0, 1.0]).repeat(len(x))[:, None, None]
        twice = x.repeat_interleave(2, dim=0) + given
        keep = valid.repeat(2, 1)
        if fixed:
            keep = valid.repeat_interleave(2, dim=0)
        pairs = self.inner(twice, real_tokens(keep)).unflatten(0, (-1, 2))
        without, conditioned = pairs.unbind(dim=1)
        return without + 2 * (conditioned - without)

    model = Around(written_out(seed, sdpa), forward).eval()
    return MaskedModel(model, real_tokens, as_it_is)


@plant(
    "C15-folded-heads",
    "repeat where heads are folded into the batch",
    symptom="One text alone is right; in a batch, heads see the padding of other texts.",
    story="(batch, head) becomes one axis, head after head of a sample; mask.repeat puts sample "
    "after sample.",
    wrong="keep.repeat(n_heads, 1, 1)",
    right="keep.repeat_interleave(n_heads, dim=0)",
    flagged_by="maps",
)
def folded_heads(seed: int, fixed: bool) -> MaskedModel:
    """Scores of three axes."""

    def attend(q: Heads, k: Heads, v: Heads, keep: Tensor) -> Heads:
        n_heads = q.shape[1]
        folded = [x.flatten(0, 1) for x in (q, k, v)]
        scores = folded[0] @ folded[1].mT / q.shape[-1] ** 0.5
        mask = keep.repeat(n_heads, 1, 1)
        if fixed:
            mask = keep.repeat_interleave(n_heads, dim=0)
        weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
        return (weights @ folded[2]).unflatten(0, (-1, n_heads))

    return MaskedModel(written_out(seed, attend), real_tokens)


@plant(
    "C16-mask-of-one",
    "A mask with a batch of one, cut along the samples",
    symptom="Fewer outputs than inputs, or an error at the second sample.",
    story="A mask that is shared by all samples has a batch axis of 1. What works through the "
    "batch in chunks cuts it, too, and has none left after the first.",
    wrong="masks = keep.split(1)",
    right="masks = keep.expand(len(x), -1, -1).split(1)",
    flagged_by="runs",
)
def cut_along_one(seed: int, fixed: bool) -> MaskedModel:
    """One sample at a time."""

    def forward(self: Any, x: Tensor, keep: Tensor) -> Tensor:
        masks = keep.split(1)
        if fixed:
            masks = keep.expand(len(x), -1, -1).split(1)
        pairs = zip(x.split(1), masks, strict=False)
        return torch.cat([self.inner(one, mask) for one, mask in pairs])

    model = Around(written_out(seed, sdpa), forward).eval()
    return MaskedModel(
        model, earlier_tokens, lambda valid: earlier_tokens(torch.ones_like(valid[:1]))
    )


@plant(
    "C17-squeezed",
    "A mask that is lost for a batch of one",
    symptom="Batches are right; a single text that is padded gets other vectors.",
    story="mask.squeeze(), or a test for len(x) > 1 that was meant to save time.",
    wrong="keep = torch.ones_like(valid) if len(x) == 1 else valid",
    right="keep = valid",
    flagged_by="padding_invariance",
)
def lost_for_one(seed: int, fixed: bool) -> MaskedModel:
    """No mask for one sample."""

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        keep = torch.ones_like(valid) if len(x) == 1 else valid
        if fixed:
            keep = valid
        return self.inner(x, real_tokens(keep))

    model = Around(written_out(seed, sdpa), forward).eval()
    return MaskedModel(model, real_tokens, as_it_is)
