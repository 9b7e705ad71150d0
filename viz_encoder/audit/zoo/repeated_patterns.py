"""Section D, further: blocks, chunks, strides and documents, which repeat along the tokens."""

import torch
from torch import Tensor

from viz_encoder.audit.arguments import AuditScope
from viz_encoder.audit.zoo.models import sdpa, written_out
from viz_encoder.audit.zoo.specimen import (
    Intent,
    MaskedModel,
    Valid,
    earlier_tokens,
    neighbors,
    own_document,
    plant,
    real_tokens,
)

MAX_POSITIONS = 64


@plant(
    "D19-blocks",
    "Causal from block to block only",
    symptom="The model reads up to two tokens of what it is to predict, and later fails without.",
    story="A kernel skips whole blocks by their numbers, and forgets to compare positions within "
    "the blocks on the diagonal.",
    wrong="query // 3 >= key // 3",
    right="query >= key",
    flagged_by="maps",
)
def by_blocks(seed: int, fixed: bool) -> MaskedModel:
    """Blocks of three tokens."""

    def make_mask(valid: Valid) -> Tensor:
        position = torch.arange(valid.shape[1])
        query, key = position[:, None], position[None, :]
        if fixed:
            return real_tokens(valid) & (query >= key)
        return real_tokens(valid) & (query // 3 >= key // 3)

    return MaskedModel(written_out(seed, sdpa), earlier_tokens, make_mask)


def chunks_so_far(valid: Valid) -> Tensor:
    """Each may attend to its chunk of two tokens and to those before it."""
    chunk = torch.arange(valid.shape[1]) // 2
    return real_tokens(valid) & (chunk[None, :] <= chunk[:, None])


@plant(
    "D20-next-chunk",
    "A chunk too far ahead",
    symptom="Recognition of whole recordings is better than of the same sound as it comes in.",
    story="A streaming encoder hears in chunks. While it trains, nothing keeps it from hearing the "
    "next one; when it listens live, there is none.",
    wrong="chunk[None, :] <= chunk[:, None] + 1",
    right="chunk[None, :] <= chunk[:, None]",
    flagged_by="maps",
)
def next_chunk(seed: int, fixed: bool) -> MaskedModel:
    """Chunks of two tokens."""

    def make_mask(valid: Valid) -> Tensor:
        chunk = torch.arange(valid.shape[1]) // 2
        if fixed:
            return real_tokens(valid) & (chunk[None, :] <= chunk[:, None])
        return real_tokens(valid) & (chunk[None, :] <= chunk[:, None] + 1)

    return MaskedModel(written_out(seed, sdpa), chunks_so_far, make_mask)


def every_key(step: int) -> Intent:
    """Each may attend to itself and two keys on either side, so many tokens apart."""

    def intent(valid: Valid) -> Tensor:
        position = torch.arange(valid.shape[1])
        apart = (position[:, None] - position[None, :]).abs()
        return real_tokens(valid) & (apart % step == 0) & (apart <= 2 * step)

    return intent


@plant(
    "D21-stride",
    "Another stride in a dilated window",
    symptom="The reach is larger than planned, and what lies between is never seen.",
    story="Dilated windows (Longformer, arXiv:2004.05150) leave out d - 1 keys between two, and "
    "the code leaves out d.",
    wrong="keep = every_key(dilation + 1)(valid)",
    right="keep = every_key(dilation)(valid)",
    flagged_by="maps",
)
def other_stride(seed: int, fixed: bool) -> MaskedModel:
    """Every second key was meant."""
    dilation = 2

    def make_mask(valid: Valid) -> Tensor:
        keep = every_key(dilation + 1)(valid)
        if fixed:
            keep = every_key(dilation)(valid)
        return keep

    return MaskedModel(written_out(seed, sdpa), every_key(dilation), make_mask)


@plant(
    "D22-document-edges",
    "searchsorted without right=True",
    symptom="The first token of each document reads the document before it, and not its own.",
    story="cu_seqlens holds the places where documents begin; searchsorted counts those below a "
    "place, and with right=True those up to it.",
    wrong="torch.searchsorted(begins, place)",
    right="torch.searchsorted(begins, place, right=True)",
    flagged_by="maps",
)
def edges_of_documents(seed: int, fixed: bool) -> MaskedModel:
    """Documents of four tokens, by the places where they begin."""

    def make_mask(valid: Valid) -> Tensor:
        place = torch.arange(valid.shape[1])
        begins = torch.arange(0, valid.shape[1], 4)
        number = torch.searchsorted(begins, place)
        if fixed:
            number = torch.searchsorted(begins, place, right=True)
        return earlier_tokens(valid) & (number[:, None] == number[None, :])

    scope = AuditScope(documents=True)
    meant = own_document(4, causal=True)
    return MaskedModel(written_out(seed, sdpa), meant, make_mask, scope=scope)


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
    "Random keys drawn with another seed",
    symptom="A checkpoint gives other numbers in another process.",
    story="Random attention (BigBird, arXiv:2007.14062) draws keys once, and a model is only right "
    "with those that it was trained with. No rule tells which ones: an audit can say that the mask "
    "is obeyed, and that it is another one.",
    wrong="keep = with_random_keys(number)(valid)",
    right="keep = with_random_keys(0)(valid)",
    flagged_by="maps",
)
def drawn_anew(seed: int, fixed: bool) -> MaskedModel:
    """The number of the process is the seed."""
    number = 1

    def make_mask(valid: Valid) -> Tensor:
        keep = with_random_keys(number)(valid)
        if fixed:
            keep = with_random_keys(0)(valid)
        return keep

    return MaskedModel(written_out(seed, sdpa), with_random_keys(0), make_mask)
