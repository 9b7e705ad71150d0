"""Section E: padding that gets in beside the attention: by layers, positions, calls that forget."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.zoo.models import (
    D_MODEL,
    Around,
    Heads,
    drawn,
    sdpa,
    torch_encoder,
    written_out,
)
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    Valid,
    as_it_is,
    earlier_tokens,
    plant,
    real_tokens,
)

MAX_POSITIONS = 64
ReadMask = Callable[[Any, Tensor, Tensor], Tensor]


def _around(seed: int, forward: ReadMask, **parts: Callable[[], nn.Module]) -> Around:
    """A right model that is given valid, and what a specimen does before or after it."""
    made = written_out(seed, sdpa)
    return drawn(
        seed, lambda: Around(made, forward, **{name: make() for name, make in parts.items()})
    )


@plant(
    "E1-convolution",
    "A convolution reads the padding",
    symptom="The last real tokens of a short text change with what stands behind them.",
    story="Attention is masked, but a convolution in front of it takes its neighbors as they come: "
    "speech and vision encoders with a convolutional stem.",
    wrong="self.stem(x.mT).mT",
    right="x = x.masked_fill(~valid[:, :, None], 0.0)  # before it",
    flagged_by="gradient",
)
def stem_reads_padding(seed: int, fixed: bool) -> MaskedModel:
    """A stem of three tokens' width."""

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        if fixed:
            x = x.masked_fill(~valid[:, :, None], 0.0)
        return self.inner(self.stem(x.mT).mT, real_tokens(valid))

    model = _around(seed, forward, stem=lambda: nn.Conv1d(D_MODEL, D_MODEL, 3, padding=1))
    return MaskedModel(model, real_tokens, as_it_is)


@plant(
    "E1-centering",
    "The mean over all tokens is subtracted",
    symptom="All tokens of a text move when another text of the batch is longer.",
    story="Normalizing over time counts the padding in: instance norm, feature normalization of "
    "speech encoders.",
    wrong="mean = x.mean(dim=1, keepdim=True)",
    right="mean = x.mul(keep).sum(dim=1, keepdim=True) / keep.sum(dim=1, keepdim=True)",
    flagged_by="gradient",
)
def mean_of_all_taken_off(seed: int, fixed: bool) -> MaskedModel:
    """Centering before the encoder."""

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        keep = valid[:, :, None]
        mean = x.mean(dim=1, keepdim=True)
        if fixed:
            mean = x.mul(keep).sum(dim=1, keepdim=True) / keep.sum(dim=1, keepdim=True)
        return self.inner(x - mean, real_tokens(valid))

    return MaskedModel(_around(seed, forward), real_tokens, as_it_is)


@plant(
    "E6-left-positions",
    "Left padding shifts the positions",
    symptom="Every number is finite, every map is masked correctly, and yet the vectors are wrong.",
    story="Positions are counted from the first column, which is padding: ndif-team/nnsight#673, "
    "unslothai/unsloth#3795, tloen/alpaca-lora#315.",
    wrong="positions = torch.arange(x.shape[1]).expand(valid.shape)",
    right="positions = (valid.cumsum(dim=1) - 1).clamp(min=0)",
    flagged_by="padding_invariance",
)
def positions_shifted(seed: int, fixed: bool) -> MaskedModel:
    """Learned positions, and padding in front."""

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        positions = torch.arange(x.shape[1]).expand(valid.shape)
        if fixed:
            positions = (valid.cumsum(dim=1) - 1).clamp(min=0)
        return self.inner(x + self.table(positions), earlier_tokens(valid))

    model = _around(seed, forward, table=lambda: nn.Embedding(MAX_POSITIONS, D_MODEL))
    return MaskedModel(model, earlier_tokens, as_it_is, inputs=AuditInputs(padding_side="left"))


@plant(
    "E8-pad-is-eos",
    "The padding token is also the end token",
    symptom="The last real token of every text is hidden from all others.",
    story="pad_token = eos_token, and the mask is made from ids != pad: QwenLM/Qwen#1080.",
    wrong="keep = ids != EOS",
    right="keep = valid",
    flagged_by="maps",
)
def end_token_hidden(seed: int, fixed: bool) -> MaskedModel:
    """Texts that end in the id that fills them up."""
    EOS = 2

    def make_mask(valid: Valid) -> Tensor:
        n_real = valid.cumsum(dim=1)
        ends = valid & (n_real == valid.sum(dim=1, keepdim=True)) & (n_real > 1)
        ids = torch.full(valid.shape, 7).masked_fill(ends | ~valid, EOS)
        keep = ids != EOS
        if fixed:
            keep = valid
        return keep[:, None, :].expand(-1, valid.shape[1], -1)

    return MaskedModel(written_out(seed, sdpa), real_tokens, make_mask)


@plant(
    "E9-no-mask",
    "No mask passed at all",
    symptom="A text's vectors change with its neighbors in the batch, by little enough to be "
    "taken for rounding in a small model.",
    story="The commonest of all: the mask is made, and the call leaves it out.",
    wrong="encoder(x)",
    right="encoder(x, src_key_padding_mask=ignore)",
    flagged_by="gradient",
)
def mask_left_out(seed: int, fixed: bool) -> MaskedModel:
    """A mask that is given and not used."""

    def run(encoder: nn.TransformerEncoder, x: Tensor, ignore: Tensor) -> Tensor:
        if fixed:
            return encoder(x, src_key_padding_mask=ignore)
        return encoder(x)

    return MaskedModel(torch_encoder(seed, run), real_tokens, lambda valid: ~valid)


@plant(
    "E10-one-implementation",
    "One of two implementations never gets the mask",
    symptom="eager and sdpa agree on a text alone and differ in a padded batch.",
    story="The faster path was added later, and its call forgot the mask: "
    "AnswerDotAI/ModernBERT#40, similar to huggingface/transformers#29029.",
    wrong="F.scaled_dot_product_attention(q, k, v)",
    right="sdpa(q, k, v, passed)",
    flagged_by="implementations",
)
def one_path_forgets(seed: int, fixed: bool) -> MaskedModel:
    """The model is right; its variant is not."""

    def fast(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        if fixed:
            return sdpa(q, k, v, passed)
        return F.scaled_dot_product_attention(q, k, v)

    scope = AuditScope(variants={"fast": written_out(seed, fast)})
    return MaskedModel(written_out(seed, sdpa), real_tokens, scope=scope)


@plant(
    "E11-cls-shift",
    "The mask is one short of [CLS]",
    symptom="The last patch of a small picture is hidden, and a patch of padding is read.",
    story="A token is put in front, and the mask is padded at its other end: similar to "
    "lucidrains/vit-pytorch#246, sign/WeLT#1.",
    wrong="keep = F.pad(valid, (0, 1), value=True)",
    right="keep = F.pad(valid, (1, 0), value=True)",
    flagged_by="maps",
)
def one_short(seed: int, fixed: bool) -> MaskedModel:
    """[CLS] before the patches, and the mask moved by one."""

    def forward(self: Any, x: Tensor, valid: Tensor) -> Tensor:
        first = self.cls.weight.expand(len(x), 1, -1)
        keep = F.pad(valid, (0, 1), value=True)
        if fixed:
            keep = F.pad(valid, (1, 0), value=True)
        return self.inner(torch.cat([first, x], dim=1), real_tokens(keep))[:, 1:]

    model = _around(seed, forward, cls=lambda: nn.Embedding(1, D_MODEL))
    return MaskedModel(model, real_tokens, as_it_is)
