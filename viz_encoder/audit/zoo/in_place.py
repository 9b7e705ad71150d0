"""Section C, further: masks that a call changes in place, for the next layer or the next call."""

from typing import Any

import torch
from torch import Tensor

from viz_encoder.audit.zoo.models import Around, Stack, sdpa, written_out
from viz_encoder.audit.zoo.specimen import MaskedModel, as_it_is, earlier_tokens, plant, real_tokens

N_SAMPLES, LONGEST = 64, 64


@plant(
    "C11-in-place",
    "A mask that the first layer changes",
    symptom="The first layer is right; every later one has lost a token, and so has the next call.",
    story="A mask is edited where it stands, and all layers share it: Shujun-He/RibonanzaNet#7.",
    wrong="keep = valid",
    right="keep = valid.clone()",
    flagged_by="in_place",
)
def changed_between_layers(seed: int, fixed: bool) -> MaskedModel:
    """Each layer hides the second token for a use of its own, after its attention."""

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        for block in self.inner.blocks:
            keep = valid
            if fixed:
                keep = valid.clone()
            x = block(x, real_tokens(keep))
            keep[:, 1] = False
        return x

    model = Around(written_out(seed, sdpa), forward).eval()
    return MaskedModel(model, real_tokens, lambda valid: valid)


@plant(
    "C12-buffer",
    "Padding that is written into the causal buffer",
    symptom="The first batch is right; later ones see less and less.",
    story="register_buffer keeps one causal mask for all calls, a slice of it is a view, and &= "
    "writes through the view.",
    wrong="keep &= real_tokens(valid)",
    right="keep = keep & real_tokens(valid)",
    flagged_by="in_place",
)
def written_into_the_buffer(seed: int, fixed: bool) -> MaskedModel:
    """A triangle a sample."""

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        n_samples, n_tokens = valid.shape
        keep = self.causal[:n_samples, :n_tokens, :n_tokens]
        if fixed:
            keep = keep & real_tokens(valid)
        else:
            keep &= real_tokens(valid)
        return self.inner(x, keep)

    inner: Stack = written_out(seed, sdpa)
    model = Around(inner, forward).eval()
    model.register_buffer("causal", earlier_tokens(torch.ones(N_SAMPLES, LONGEST).bool()).clone())
    return MaskedModel(model, earlier_tokens, as_it_is)
