"""Section D, further: patterns on the wrong side, of another layer, or without their padding."""

import torch
from torch import Tensor

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
def still_causal(seed: int, fixed: bool) -> MaskedModel:
    """All tokens were meant to see each other."""

    def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        keep = passed.tril()
        if fixed:
            keep = passed
        return sdpa(q, k, v, keep)

    return MaskedModel(written_out(seed, attend), real_tokens)


@plant(
    "D16-both-sides",
    "A causal window that looks to both sides",
    symptom="The loss is far too good, as where no causal mask is passed.",
    story="The distance is taken without its sign, as it is for an encoder's window.",
    wrong="(query - key).abs() < 3",
    right="earlier_tokens(valid) & ((query - key) < 3)",
    flagged_by="maps",
)
def both_sides(seed: int, fixed: bool) -> MaskedModel:
    """The token and the two before it were meant."""

    def make_mask(valid: Valid) -> Tensor:
        position = torch.arange(valid.shape[1])
        query, key = position[:, None], position[None, :]
        if fixed:
            return earlier_tokens(valid) & ((query - key) < 3)
        return real_tokens(valid) & ((query - key).abs() < 3)

    return MaskedModel(written_out(seed, sdpa), last_tokens(3), make_mask)


@plant(
    "D17-beside",
    "A window one position beside its place",
    symptom="Nothing is missing in number: five keys a row, and the wrong five.",
    story="Keys are cut into windows by unfold, after padding that is one too short in front and "
    "one too long behind.",
    wrong="ahead = key - query - 1",
    right="ahead = key - query",
    flagged_by="maps",
)
def beside_its_place(seed: int, fixed: bool) -> MaskedModel:
    """Two neighbors on either side were meant."""

    def make_mask(valid: Valid) -> Tensor:
        position = torch.arange(valid.shape[1])
        query, key = position[:, None], position[None, :]
        ahead = key - query - 1
        if fixed:
            ahead = key - query
        return real_tokens(valid) & (ahead.abs() <= 2)

    return MaskedModel(written_out(seed, sdpa), neighbors(2), make_mask)


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
def layers_exchanged(seed: int, fixed: bool) -> MaskedModel:
    """A window in the first layer, blocks in the second, as in sparse transformers."""

    def in_turn(passed: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        blocks, window = passed
        if fixed:
            window, blocks = passed
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
)
def wrong_triangle(seed: int, fixed: bool) -> MaskedModel:
    """True = may attend."""

    def make_mask(valid: Valid) -> Tensor:
        ones = torch.ones(valid.shape[1], valid.shape[1], dtype=torch.bool)
        if fixed:
            return real_tokens(valid) & ones.tril()
        return real_tokens(valid) & ones.triu()

    return MaskedModel(written_out(seed, sdpa), earlier_tokens, make_mask)


@plant(
    "D29-window-only",
    "A window takes the padding mask's place",
    symptom="The last tokens of short texts read padding; all others are right.",
    story="Two masks are to be combined, and the second is assigned where it should be added.",
    wrong="keep = near",
    right="keep = near & real_tokens(valid)",
    flagged_by="maps",
)
def padding_forgotten(seed: int, fixed: bool) -> MaskedModel:
    """Two neighbors on either side."""

    def make_mask(valid: Valid) -> Tensor:
        near = neighbors(2)(torch.ones_like(valid))
        keep = near
        if fixed:
            keep = near & real_tokens(valid)
        return keep

    return MaskedModel(written_out(seed, sdpa), neighbors(2), make_mask)
