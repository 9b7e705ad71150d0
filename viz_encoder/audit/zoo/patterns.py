"""Section D, further: blocks, chunks, strides, documents in a row, global tokens, prefixes."""

from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.zoo.models import D_MODEL
from viz_encoder.audit.zoo.specimen import (
    Intent,
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
    wrong="keep[:, 0, :] = True",
    right="keep[:, 0, :] = keep[:, :, 0] = True",
    intent=with_global,
)
def one_direction(valid: Valid) -> Tensor:
    """A window of one neighbor on either side, and token 0."""
    keep = neighbors(1)(valid).clone()
    keep[:, 0, :] = True
    return keep & real_tokens(valid)


@plant(
    "D8-lost",
    wrong="keep = neighbors(1)(valid)",
    right="keep = with_global(valid)",
    intent=with_global,
)
def no_globals(valid: Valid) -> Tensor:
    """A window of one neighbor on either side, and token 0."""
    keep = neighbors(1)(valid)
    return keep


@plant(
    "D9-edge",
    wrong="keep[:, :, :1] = False",
    right="keep = near.clone()",
    intent=neighbors(2),
)
def blind_at_the_edge(valid: Valid) -> Tensor:
    """Two neighbors on either side."""
    near = neighbors(2)(valid)
    keep = near.clone()
    keep[:, :, :1] = False
    return keep


@plant(
    "D10-positions",
    wrong="positions = place",
    right="positions = place % 4",
    flagged_by="documents",
    verdict="WARN",
    intent=own_document(4, causal=True),
    passed=own_document(4, causal=True),
    parts={"table": lambda: nn.Embedding(MAX_POSITIONS, D_MODEL)},
    scope=AuditScope(documents=True),
)
def positions_go_on(self: Any, x: Tensor, keep: Tensor) -> Tensor:
    """Documents of four tokens, and learned positions."""
    place = torch.arange(x.shape[1])
    positions = place
    return self.inner(x + self.table(positions), keep)


def from_first_real(valid: Valid) -> Tensor:
    """Each may attend to its neighbors; the first real token to all, and all to it."""
    first = valid & (valid.cumsum(dim=1) == 1)
    return real_tokens(valid) & (neighbors(1)(valid) | first[:, None, :] | first[:, :, None])


@plant(
    "D25-places",
    wrong="first = torch.arange(valid.shape[1]).expand(valid.shape) == 0",
    right="first = valid & (valid.cumsum(dim=1) == 1)",
    intent=from_first_real,
    inputs=AuditInputs(padding_side="left"),
)
def place_zero(valid: Valid) -> Tensor:
    """A window of one neighbor on either side, and [CLS]."""
    first = torch.arange(valid.shape[1]).expand(valid.shape) == 0
    return real_tokens(valid) & (neighbors(1)(valid) | first[:, None, :] | first[:, :, None])


def with_prefix(lengths: Tensor, valid: Valid) -> Tensor:
    """Each may attend to earlier tokens, and to the whole prefix of its sample."""
    prefix = torch.arange(valid.shape[1]) < lengths
    return earlier_tokens(valid) | real_tokens(valid & prefix)


def own_prefix(valid: Valid) -> Tensor:
    """The first half of each sample is its prefix."""
    return with_prefix(valid.sum(dim=1, keepdim=True) // 2, valid)


@plant(
    "D24-longest",
    wrong="lengths = lengths.max().expand_as(lengths)",
    right="lengths = valid.sum(dim=1, keepdim=True) // 2",
    intent=own_prefix,
    inputs=AuditInputs(valid=torch.arange(9) < torch.tensor([[5], [4], [7]])),
)
def longest_prefix(valid: Valid) -> Tensor:
    """Half of each text is its prefix; no text fills the batch."""
    lengths = valid.sum(dim=1, keepdim=True) // 2
    lengths = lengths.max().expand_as(lengths)
    return with_prefix(lengths, valid)


DILATION, PROCESS = 2, 1


@plant(
    "D19-blocks",
    wrong="query // 3 >= key // 3",
    right="query >= key",
    intent=earlier_tokens,
)
def by_blocks(valid: Valid) -> Tensor:
    """Blocks of three tokens."""
    position = torch.arange(valid.shape[1])
    query, key = position[:, None], position[None, :]
    return real_tokens(valid) & (query // 3 >= key // 3)


def chunks_so_far(valid: Valid) -> Tensor:
    """Each may attend to its chunk of two tokens and to those before it."""
    chunk = torch.arange(valid.shape[1]) // 2
    return real_tokens(valid) & (chunk[None, :] <= chunk[:, None])


@plant(
    "D20-next-chunk",
    wrong="chunk[None, :] <= chunk[:, None] + 1",
    right="chunk[None, :] <= chunk[:, None]",
    intent=chunks_so_far,
)
def next_chunk(valid: Valid) -> Tensor:
    """Chunks of two tokens."""
    chunk = torch.arange(valid.shape[1]) // 2
    return real_tokens(valid) & (chunk[None, :] <= chunk[:, None] + 1)


def every_key(step: int) -> Intent:
    """Each may attend to itself and two keys on either side, so many tokens apart."""

    def intent(valid: Valid) -> Tensor:
        position = torch.arange(valid.shape[1])
        apart = (position[:, None] - position[None, :]).abs()
        return real_tokens(valid) & (apart % step == 0) & (apart <= 2 * step)

    return intent


@plant(
    "D21-stride",
    wrong="keep = every_key(DILATION + 1)(valid)",
    right="keep = every_key(DILATION)(valid)",
    intent=every_key(DILATION),
)
def other_stride(valid: Valid) -> Tensor:
    """Every second key was meant."""
    keep = every_key(DILATION + 1)(valid)
    return keep


@plant(
    "D22-document-edges",
    wrong="torch.searchsorted(begins, place)",
    right="torch.searchsorted(begins, place, right=True)",
    intent=own_document(4, causal=True),
    scope=AuditScope(documents=True),
)
def edges_of_documents(valid: Valid) -> Tensor:
    """Documents of four tokens, by the places where they begin."""
    place = torch.arange(valid.shape[1])
    begins = torch.arange(0, valid.shape[1], 4)
    number = torch.searchsorted(begins, place)
    return earlier_tokens(valid) & (number[:, None] == number[None, :])


def with_random_keys(drawn: int) -> Intent:
    """Each may attend to its neighbors and to some other keys, drawn by this seed."""

    generator = torch.Generator().manual_seed(drawn)
    others = torch.rand(MAX_POSITIONS, MAX_POSITIONS, generator=generator) < 0.2

    def intent(valid: Valid) -> Tensor:
        n_tokens = valid.shape[1]
        return real_tokens(valid) & (neighbors(1)(valid) | others[:n_tokens, :n_tokens])

    return intent


@plant(
    "D23-random-keys",
    wrong="keep = with_random_keys(PROCESS)(valid)",
    right="keep = with_random_keys(0)(valid)",
    intent=with_random_keys(0),
)
def drawn_anew(valid: Valid) -> Tensor:
    """The number of the process is the seed."""
    keep = with_random_keys(PROCESS)(valid)
    return keep
