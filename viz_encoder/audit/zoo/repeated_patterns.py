"""Section D, further: blocks, chunks, strides and documents, which repeat along the tokens."""

import torch
from torch import Tensor

from viz_encoder.audit.arguments import AuditScope
from viz_encoder.audit.zoo.specimen import (
    Intent,
    Valid,
    earlier_tokens,
    neighbors,
    own_document,
    plant,
    real_tokens,
)

MAX_POSITIONS, DILATION, PROCESS = 64, 2, 1


@plant(
    "D19-blocks",
    wrong="query // 3 >= key // 3",
    right="query >= key",
    flagged_by="maps",
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
    flagged_by="maps",
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
    flagged_by="maps",
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
    flagged_by="maps",
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
    flagged_by="maps",
    intent=with_random_keys(0),
)
def drawn_anew(valid: Valid) -> Tensor:
    """The number of the process is the seed."""
    keep = with_random_keys(PROCESS)(valid)
    return keep
