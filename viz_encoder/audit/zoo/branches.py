"""Section D, further: trees of tokens, choices behind a question, blocks that are denoised."""

import torch
from torch import Tensor

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.audit.zoo.models import sdpa, written_out
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    Valid,
    earlier_tokens,
    own_document,
    plant,
    real_tokens,
)


def ancestors(valid: Valid) -> Allowed:
    """A tree in which every token has two children: each may attend to its ancestors and itself."""
    keep = torch.eye(valid.shape[1], dtype=torch.bool)
    for node in range(1, len(keep)):
        keep[node] |= keep[(node - 1) // 2]
    return real_tokens(valid) & keep


@plant(
    "D30-tree",
    "A tree of tokens with a causal mask",
    symptom="Speculative decoding accepts fewer tokens than it should, and never fails.",
    story="Candidates are drafted as a tree and checked in one run (arXiv:2401.10774). With the "
    "causal mask of a text, a token sees its siblings and other branches: "
    "PaddlePaddle/FastDeploy#3514.",
    wrong="keep = earlier_tokens(valid)",
    right="keep = ancestors(valid)",
    flagged_by="maps",
)
def tree_as_text(seed: int, fixed: bool) -> MaskedModel:
    """All tokens before it, or its ancestors."""

    def make_mask(valid: Valid) -> Tensor:
        keep = earlier_tokens(valid)
        if fixed:
            keep = ancestors(valid)
        return keep

    return MaskedModel(written_out(seed, sdpa), ancestors, make_mask)


def own_choice(valid: Valid) -> Allowed:
    """Two tokens of a question, which all see, and choices of two tokens, which see their own."""
    choice = (torch.arange(valid.shape[1]) - 2).div(2, rounding_mode="floor")
    return real_tokens(valid) & ((choice < 0) | (choice[:, None] == choice))


@plant(
    "D31-choices",
    "Choices behind one question see each other",
    symptom="The score of an answer changes with the other answers, and with their order.",
    story="Several choices, or documents to rank, are put behind one question to read it only "
    "once; a padding mask alone does not keep them apart.",
    wrong="keep = real_tokens(valid) & ((choice < 0) | (choice >= 0)[:, None])",
    right="keep = real_tokens(valid) & ((choice < 0) | (choice[:, None] == choice))",
    flagged_by="maps",
)
def choices_joined(seed: int, fixed: bool) -> MaskedModel:
    """Each choice sees all of them, or its own."""

    def make_mask(valid: Valid) -> Tensor:
        choice = (torch.arange(valid.shape[1]) - 2).div(2, rounding_mode="floor")
        keep = real_tokens(valid) & ((choice < 0) | (choice >= 0)[:, None])
        if fixed:
            keep = real_tokens(valid) & ((choice < 0) | (choice[:, None] == choice))
        return keep

    return MaskedModel(written_out(seed, sdpa), own_choice, make_mask)


@plant(
    "D32-to-device",
    "A block mask that stops being causal",
    symptom="The loss is too low, and generation is worse than it promises.",
    story="Moved to another device, the causal block mask of xformers came back as its parent "
    "class, which is not causal: facebookresearch/xformers#1185.",
    wrong="keep = own_document(4)(valid)",
    right="keep = own_document(4, causal=True)(valid)",
    flagged_by="maps",
)
def no_longer_causal(seed: int, fixed: bool) -> MaskedModel:
    """Documents of four tokens in one row."""

    def make_mask(valid: Valid) -> Tensor:
        keep = own_document(4)(valid)
        if fixed:
            keep = own_document(4, causal=True)(valid)
        return keep

    return MaskedModel(written_out(seed, sdpa), own_document(4, causal=True), make_mask)


def clean_before(valid: Valid) -> Allowed:
    """A noised copy of a text before the clean one, in blocks of two tokens (arXiv:2503.09573).

    A noised block sees itself and the clean blocks before it; a clean one itself and those before.
    """
    clean, block, same = _copies(valid)
    return real_tokens(valid) & (same | ((block[:, None] > block) & clean))


def _copies(valid: Valid) -> tuple[Tensor, Tensor, Tensor]:
    """Which tokens are clean, the block of each, and whether two are in the same block and copy."""
    place, half = torch.arange(valid.shape[1]), valid.shape[1] // 2
    clean, block = place >= half, place % half // 2
    return clean, block, (block[:, None] == block) & (clean[:, None] == clean)


@plant(
    "D33-own-block",
    "A noised block sees its own clean block",
    symptom="The loss falls to nothing within minutes, and samples are noise.",
    story="Block diffusion (arXiv:2503.09573) trains on a noised and a clean copy in one row. A "
    "noised block may see the clean blocks before its own; with >= for > it sees its answer.",
    wrong="before = block[:, None] >= block",
    right="before = block[:, None] > block",
    flagged_by="maps",
)
def sees_the_answer(seed: int, fixed: bool) -> MaskedModel:
    """Eight tokens: two blocks, noised and clean."""

    def make_mask(valid: Valid) -> Tensor:
        clean, block, same = _copies(valid)
        before = block[:, None] >= block
        if fixed:
            before = block[:, None] > block
        return real_tokens(valid) & (same | (before & clean))

    inputs, scope = AuditInputs(valid=torch.ones(3, 8) > 0), AuditScope(lengths=[8, 12])
    model = written_out(seed, sdpa)
    return MaskedModel(model, clean_before, make_mask, inputs=inputs, scope=scope)
