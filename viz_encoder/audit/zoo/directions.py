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
    wrong="keep = passed.tril()",
    right="keep = passed",
)
def still_causal(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
    """All tokens were meant to see each other."""
    keep = passed.tril()
    return sdpa(q, k, v, keep)


@plant(
    "D16-both-sides",
    wrong="(query - key).abs() < 3",
    right="earlier_tokens(valid) & ((query - key) < 3)",
    intent=last_tokens(3),
)
def both_sides(valid: Valid) -> Tensor:
    """The token and the two before it were meant."""
    position = torch.arange(valid.shape[1])
    query, key = position[:, None], position[None, :]
    return real_tokens(valid) & ((query - key).abs() < 3)


@plant(
    "D17-beside",
    wrong="ahead = key - query - 1",
    right="ahead = key - query",
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
    wrong="blocks, window = passed",
    right="window, blocks = passed",
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
    wrong="ones.triu()",
    right="ones.tril()",
    intent=earlier_tokens,
)
def wrong_triangle(valid: Valid) -> Tensor:
    """True = may attend."""
    ones = torch.ones(valid.shape[1], valid.shape[1], dtype=torch.bool)
    return real_tokens(valid) & ones.triu()


@plant(
    "D29-window-only",
    wrong="keep = near",
    right="keep = near & real_tokens(valid)",
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
    wrong="keep = earlier_tokens(valid)",
    right="keep = ancestors(valid)",
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
    wrong="keep = real_tokens(valid) & ((choice < 0) | (choice >= 0)[:, None])",
    right="keep = real_tokens(valid) & ((choice < 0) | (choice[:, None] == choice))",
    intent=own_choice,
)
def choices_joined(valid: Valid) -> Tensor:
    """Each choice sees all of them, or its own."""
    choice = (torch.arange(valid.shape[1]) - 2).div(2, rounding_mode="floor")
    keep = real_tokens(valid) & ((choice < 0) | (choice >= 0)[:, None])
    return keep


@plant(
    "D32-to-device",
    wrong="keep = own_document(4)(valid)",
    right="keep = own_document(4, causal=True)(valid)",
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
    wrong="before = block[:, None] >= block",
    right="before = block[:, None] > block",
    intent=clean_before,
    inputs=AuditInputs(valid=torch.ones(3, 8) > 0),
    scope=AuditScope(lengths=[8, 12]),
)
def sees_the_answer(valid: Valid) -> Tensor:
    """Eight tokens: two blocks, noised and clean."""
    clean, block, same = _copies(valid)
    before = block[:, None] >= block
    return real_tokens(valid) & (same | (before & clean))
