"""Section D, further: patterns on the wrong side or of another layer; trees and choices."""

import torch
from torch import Tensor

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.audit.zoo.models import Heads, sdpa, written_out
from viz_encoder.audit.zoo.specimen import (
    MaskedModel,
    Valid,
    earlier_tokens,
    last_tokens,
    neighbors,
    own_document,
    plant,
    real_tokens,
)


@plant(
    "D15-still-causal",
    "A causal mask is left on in an encoder",
    symptom="Embeddings are usable and never good; the first tokens know nothing of the text.",
    story="A decoder is made an encoder, and its layers learn of it; what builds the masks does "
    "not: huggingface/transformers#46079.",
    wrong="keep = passed.tril()",
    right="keep = passed",
    flagged_by="maps",
)
def still_causal(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """All tokens were meant to see each other."""
    keep = passed.tril()
    return sdpa(q, k, v, keep)


@plant(
    "D16-both-sides",
    "A causal window that looks to both sides",
    symptom="The loss is far too good, as where no causal mask is passed.",
    story="The distance is taken without its sign, as it is for an encoder's window.",
    wrong="(query - key).abs() < 3",
    right="earlier_tokens(valid) & ((query - key) < 3)",
    flagged_by="maps",
    intent=last_tokens(3),
)
def both_sides(valid: Valid) -> Tensor:
    """The token and the two before it were meant."""
    position = torch.arange(valid.shape[1])
    query, key = position[:, None], position[None, :]
    return real_tokens(valid) & ((query - key).abs() < 3)


@plant(
    "D17-beside",
    "A window one position beside its place",
    symptom="Nothing is missing in number: five keys a row, and the wrong five.",
    story="Keys are cut into windows by unfold, after padding that is one too short in front and "
    "one too long behind.",
    wrong="ahead = key - query - 1",
    right="ahead = key - query",
    flagged_by="maps",
    intent=neighbors(2),
)
def beside_its_place(valid: Valid) -> Tensor:
    """Two neighbors on either side were meant."""
    position = torch.arange(valid.shape[1])
    query, key = position[:, None], position[None, :]
    ahead = key - query - 1
    return real_tokens(valid) & (ahead.abs() <= 2)


@plant(
    "D18-other-layer",
    "Layers with each other's patterns",
    symptom="A checkpoint loads and runs, and understands long texts worse than it should.",
    story="Layers of two kinds take turns, and the code begins with the other one: similar to "
    "huggingface/transformers#35896, where windows came in the layers that were to have none.",
    wrong="blocks, window = passed",
    right="window, blocks = passed",
    flagged_by="maps",
)
def layers_exchanged(seed: int) -> MaskedModel:
    """A window in the first layer, blocks in the second, as in sparse transformers."""

    def in_turn(passed: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        blocks, window = passed
        return window, blocks

    def first(q: Heads, k: Heads, v: Heads, passed: tuple[Tensor, Tensor]) -> Heads:
        return sdpa(q, k, v, in_turn(passed)[0])

    def second(q: Heads, k: Heads, v: Heads, passed: tuple[Tensor, Tensor]) -> Heads:
        return sdpa(q, k, v, in_turn(passed)[1])

    meant = [neighbors(1), own_document(4)]
    model = written_out(seed, first, second)
    return MaskedModel(model, meant, lambda valid: tuple(one(valid) for one in meant))


@plant(
    "D28-triangle",
    "The wrong triangle",
    symptom="Each token reads what is to come, and nothing that was.",
    story="triu where True means ignore, and tril where it means keep; one of them is copied into "
    "code of the other kind.",
    wrong="ones.triu()",
    right="ones.tril()",
    flagged_by="maps",
    intent=earlier_tokens,
)
def wrong_triangle(valid: Valid) -> Tensor:
    """True = may attend."""
    ones = torch.ones(valid.shape[1], valid.shape[1], dtype=torch.bool)
    return real_tokens(valid) & ones.triu()


@plant(
    "D29-window-only",
    "A window takes the padding mask's place",
    symptom="The last tokens of short texts read padding; all others are right.",
    story="Two masks are to be combined, and the second is assigned where it should be added.",
    wrong="keep = near",
    right="keep = near & real_tokens(valid)",
    flagged_by="maps",
    intent=neighbors(2),
)
def padding_forgotten(valid: Valid) -> Tensor:
    """Two neighbors on either side."""
    near = neighbors(2)(torch.ones_like(valid))
    keep = near
    return keep


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
    intent=ancestors,
)
def tree_as_text(valid: Valid) -> Tensor:
    """All tokens before it, or its ancestors."""
    keep = earlier_tokens(valid)
    return keep


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
    intent=own_choice,
)
def choices_joined(valid: Valid) -> Tensor:
    """Each choice sees all of them, or its own."""
    choice = (torch.arange(valid.shape[1]) - 2).div(2, rounding_mode="floor")
    keep = real_tokens(valid) & ((choice < 0) | (choice >= 0)[:, None])
    return keep


@plant(
    "D32-to-device",
    "A block mask that stops being causal",
    symptom="The loss is too low, and generation is worse than it promises.",
    story="Moved to another device, the causal block mask of xformers came back as its parent "
    "class, which is not causal: facebookresearch/xformers#1185.",
    wrong="keep = own_document(4)(valid)",
    right="keep = own_document(4, causal=True)(valid)",
    flagged_by="maps",
    intent=own_document(4, causal=True),
)
def no_longer_causal(valid: Valid) -> Tensor:
    """Documents of four tokens in one row."""
    keep = own_document(4)(valid)
    return keep


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
    intent=clean_before,
    inputs=AuditInputs(valid=torch.ones(3, 8) > 0),
    scope=AuditScope(lengths=[8, 12]),
)
def sees_the_answer(valid: Valid) -> Tensor:
    """Eight tokens: two blocks, noised and clean."""
    clean, block, same = _copies(valid)
    before = block[:, None] >= block
    return real_tokens(valid) & (same | (before & clean))
