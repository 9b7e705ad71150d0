"""Section E, pooling: one vector a text, into which padding finds its way."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.audit.zoo.models import Around, sdpa, torch_encoder, written_out
from viz_encoder.audit.zoo.specimen import MaskedModel, plant, real_tokens

Pool = Callable[[Tensor, Tensor], Tensor]  # (hidden, valid) -> "batch d_model"


def _pooled(seed: int, pool: Pool) -> MaskedModel:
    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        return pool(self.inner(x, real_tokens(valid)), valid)

    model = Around(written_out(seed, sdpa), forward).eval()
    return MaskedModel(model, real_tokens, lambda valid: valid)


@plant(
    "E2-two-paths",
    "Padding rows differ between train and eval",
    symptom="The pooled vector differs between no_grad and a run with gradients.",
    story="torch's fused path fills the rows of padding with zeros, the ordinary one does not, and "
    "a pooling that counts them in shows it: pytorch/pytorch#86120, #97111.",
    wrong="hidden.amax(dim=1)",
    right="hidden.masked_fill(~valid[:, :, None], -torch.inf).amax(dim=1)",
    flagged_by="grad_mode",
)
def paths_differ(seed: int, fixed: bool) -> MaskedModel:
    """nn.TransformerEncoder with nested tensors, and the maximum over all rows."""

    def run(encoder: nn.TransformerEncoder, x: Tensor, valid: Tensor) -> Tensor:
        hidden = encoder(x, src_key_padding_mask=~valid)
        if fixed:
            return hidden.masked_fill(~valid[:, :, None], -torch.inf).amax(dim=1)
        return hidden.amax(dim=1)

    return MaskedModel(torch_encoder(seed, run, nested=True), real_tokens, lambda valid: valid)


@plant(
    "E3-mean",
    "Mean pooling counts the padding",
    symptom="The same sentence gets a different vector when its neighbors in the batch are longer.",
    story="huggingface/sentence-transformers#2569, HazyResearch/m2#43, "
    "autoliuweijie/BERT-whitening-pytorch#13.",
    wrong="hidden.mean(dim=1)",
    right="hidden.mul(keep).sum(dim=1) / keep.sum(dim=1)",
    flagged_by="padding_invariance",
)
def mean_of_all(seed: int, fixed: bool) -> MaskedModel:
    """The mean over every row."""

    def pool(hidden: Tensor, valid: Tensor) -> Tensor:
        keep = valid[:, :, None]
        if fixed:
            return hidden.mul(keep).sum(dim=1) / keep.sum(dim=1)
        return hidden.mean(dim=1)

    return _pooled(seed, pool)


@plant(
    "E4-max",
    "Max pooling over zeroed padding",
    symptom="No dimension is ever below 0 once a text is padded.",
    story="Zeros are a good filling for sums and a bad one for a maximum; no gradient flows "
    "through them, so only a text alone and in a batch shows it.",
    wrong="hidden.mul(keep).amax(dim=1)",
    right="hidden.masked_fill(~keep, -torch.inf).amax(dim=1)",
    flagged_by="padding_invariance",
)
def maximum_with_zeros(seed: int, fixed: bool) -> MaskedModel:
    """The maximum over real rows and zeros."""

    def pool(hidden: Tensor, valid: Tensor) -> Tensor:
        keep = valid[:, :, None]
        if fixed:
            return hidden.masked_fill(~keep, -torch.inf).amax(dim=1)
        return hidden.mul(keep).amax(dim=1)

    return _pooled(seed, pool)


@plant(
    "E5-last",
    "The last position of a text padded on the right",
    symptom="All short texts get a vector of padding.",
    story="[:, -1] is the last token only with padding in front; a habit from decoders, carried "
    "over to encoders.",
    wrong="hidden[:, -1]",
    right="hidden[torch.arange(len(hidden)), valid.sum(dim=1) - 1]",
    flagged_by="padding_invariance",
)
def last_position(seed: int, fixed: bool) -> MaskedModel:
    """The last row."""

    def pool(hidden: Tensor, valid: Tensor) -> Tensor:
        if fixed:
            return hidden[torch.arange(len(hidden)), valid.sum(dim=1) - 1]
        return hidden[:, -1]

    return _pooled(seed, pool)
