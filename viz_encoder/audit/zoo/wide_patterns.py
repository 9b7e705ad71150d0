"""Section D, further: global tokens, the edges of windows, documents in a row, prefixes."""

from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.zoo.models import D_MODEL, Around, drawn, sdpa, written_out
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    Valid,
    earlier_tokens,
    neighbors,
    own_document,
    plant,
    real_tokens,
)

MAX_POSITIONS = 64


def with_global(valid: Valid) -> Tensor:
    """Each may attend to its neighbors; the first token to all, and all to it."""
    allowed = neighbors(1)(valid).clone()
    allowed[:, 0, :] = allowed[:, :, 0] = True
    return allowed & real_tokens(valid)


@plant(
    "D8-global",
    "A global token in one direction only",
    symptom="[CLS] reads the whole text, and no token far from it ever reads [CLS].",
    story="Window attention with global tokens (Longformer, arXiv:2004.05150; BigBird, "
    "arXiv:2007.14062) opens a row and a column; one of the two is forgotten.",
    wrong="keep[:, 0, :] = True",
    right="keep[:, 0, :] = keep[:, :, 0] = True",
    flagged_by="maps",
)
def one_direction(seed: int, fixed: bool) -> MaskedModel:
    """A window of one neighbor on either side, and token 0."""

    def make_mask(valid: Valid) -> Tensor:
        keep = neighbors(1)(valid).clone()
        if fixed:
            keep[:, 0, :] = keep[:, :, 0] = True
        else:
            keep[:, 0, :] = True
        return keep & real_tokens(valid)

    return MaskedModel(written_out(seed, sdpa), with_global, make_mask)


@plant(
    "D8-lost",
    "Global tokens are left out",
    symptom="[CLS] knows its neighbors only, and no layer brings the far end of a text to it.",
    story="Which tokens are global is an argument of its own (global_attention_mask), and nothing "
    "is said where it is not given: asked about in huggingface/transformers#11791.",
    wrong="keep = neighbors(1)(valid)",
    right="keep = with_global(valid)",
    flagged_by="maps",
)
def no_globals(seed: int, fixed: bool) -> MaskedModel:
    """A window of one neighbor on either side, and token 0."""

    def make_mask(valid: Valid) -> Tensor:
        keep = neighbors(1)(valid)
        if fixed:
            keep = with_global(valid)
        return keep

    return MaskedModel(written_out(seed, sdpa), with_global, make_mask)


@plant(
    "D9-edge",
    "A window that is blind at the edge",
    symptom="No token attends to the first one, not even its neighbors.",
    story="Windows are cut out of blocks, and the first block begins one position too late.",
    wrong="keep[:, :, :1] = False",
    right="keep = near.clone()",
    flagged_by="maps",
)
def blind_at_the_edge(seed: int, fixed: bool) -> MaskedModel:
    """Two neighbors on either side."""

    def make_mask(valid: Valid) -> Tensor:
        near = neighbors(2)(valid)
        keep = near.clone()
        if not fixed:
            keep[:, :, :1] = False
        return keep

    return MaskedModel(written_out(seed, sdpa), neighbors(2), make_mask)


@plant(
    "D10-positions",
    "Packed documents whose positions run on",
    symptom="The masks are right, but a packed document gets other vectors than it does alone.",
    story="Positions are counted over the whole sequence: the second document begins where no "
    "document ever began in training.",
    wrong="positions = place",
    right="positions = place % 4",
    flagged_by="documents",
    verdict="WARN",
)
def positions_go_on(seed: int, fixed: bool) -> MaskedModel:
    """Documents of four tokens, and learned positions."""

    def forward(self: Any, x: Tensor, keep: Tensor) -> Tensor:
        place = torch.arange(x.shape[1])
        positions = place
        if fixed:
            positions = place % 4
        return self.inner(x + self.table(positions), keep)

    made = written_out(seed, sdpa)
    model = drawn(seed, lambda: Around(made, forward, table=nn.Embedding(MAX_POSITIONS, D_MODEL)))
    scope = AuditScope(documents=True)
    return MaskedModel(model, own_document(4, causal=True), scope=scope)


def from_first_real(valid: Valid) -> Tensor:
    """Each may attend to its neighbors; the first real token to all, and all to it."""
    first = valid & (valid.cumsum(dim=1) == 1)
    return real_tokens(valid) & (neighbors(1)(valid) | first[:, None, :] | first[:, :, None])


@plant(
    "D25-places",
    "A global token at place 0, and padding in front",
    symptom="Right without padding; in a batch, [CLS] of short texts is like any other token.",
    story="[CLS] is taken to be the token at place 0, which is padding where a tokenizer pads on "
    "the left.",
    wrong="first = torch.arange(valid.shape[1]).expand(valid.shape) == 0",
    right="first = valid & (valid.cumsum(dim=1) == 1)",
    flagged_by="maps",
)
def place_zero(seed: int, fixed: bool) -> MaskedModel:
    """A window of one neighbor on either side, and [CLS]."""

    def make_mask(valid: Valid) -> Tensor:
        first = torch.arange(valid.shape[1]).expand(valid.shape) == 0
        if fixed:
            first = valid & (valid.cumsum(dim=1) == 1)
        return real_tokens(valid) & (neighbors(1)(valid) | first[:, None, :] | first[:, :, None])

    left = AuditInputs(padding_side="left")
    return MaskedModel(written_out(seed, sdpa), from_first_real, make_mask, inputs=left)


def with_prefix(lengths: Tensor, valid: Valid) -> Tensor:
    """Each may attend to earlier tokens, and to the whole prefix of its sample."""
    prefix = torch.arange(valid.shape[1]) < lengths
    return earlier_tokens(valid) | real_tokens(valid & prefix)


def own_prefix(valid: Valid) -> Tensor:
    """The first half of each sample is its prefix."""
    return with_prefix(valid.sum(dim=1, keepdim=True) // 2, valid)


@plant(
    "D24-longest",
    "All samples have the prefix of the longest one",
    symptom="Right for one text, and for texts whose prefixes are equally long.",
    story="A prefix is read in both directions, what follows is causal. One length for the whole "
    "batch, its maximum, opens the rest of shorter texts to tokens before it.",
    wrong="lengths = lengths.max().expand_as(lengths)",
    right="lengths = valid.sum(dim=1, keepdim=True) // 2",
    flagged_by="maps",
)
def longest_prefix(seed: int, fixed: bool) -> MaskedModel:
    """Half of each text is its prefix; no text fills the batch."""

    def make_mask(valid: Valid) -> Tensor:
        lengths = valid.sum(dim=1, keepdim=True) // 2
        if not fixed:
            lengths = lengths.max().expand_as(lengths)
        return with_prefix(lengths, valid)

    given = AuditInputs(valid=torch.arange(9) < torch.tensor([[5], [4], [7]]))
    return MaskedModel(written_out(seed, sdpa), own_prefix, make_mask, inputs=given)
