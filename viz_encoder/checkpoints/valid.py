"""Valid: which tokens of ready-made rows are real, by what is given or by the padding id."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from tokenizers import Tokenizer
from torch import Tensor

from viz_encoder.checkpoints.family import Family, Json
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.errors import InputError
from viz_encoder.inputs.plain_tensor import plain_tensor
from viz_encoder.model.masks import Valid

ENDS = ("eos_token_id", "sep_token_id", "bos_token_id", "cls_token_id")


@dataclass(frozen=True)
class PaddingIds:
    """The padding of a model that takes token ids."""

    id: int | None = None  # None: neither config.json nor the tokenizer says
    ends_texts: bool = False  # the same id ends each text, as in CLIP's tokenizers
    no_position: bool = False  # positions are counted past it, as in RoBERTa
    attended: bool = False  # the model attends to it, as SigLIP does


NO_PADDING = PaddingIds()


def padding_of(
    pad_id: int | None, file: Json, family: Family, tokenizer: Tokenizer | None
) -> PaddingIds:
    """Padding settings from config.json, the family and the tokenizer."""
    text = file.get("text")
    own = text if isinstance(text, dict) else {}
    return PaddingIds(
        pad_id,
        ends_texts=pad_id is not None and _ends_texts(pad_id, file, tokenizer),
        no_position=family.pads_take_no_position or own.get("padding_has_no_position") is True,
        attended=bool(family.padded_to or own.get("padded_to")),
    )


def _ends_texts(pad_id: int, file: Json, tokenizer: Tokenizer | None) -> bool:
    """Whether a text without padding contains the id, by the tokenizer if there is one."""
    if tokenizer is not None:
        return pad_id in tokenizer.encode("a").ids
    ends = [file.get(name) for name in ENDS]
    return pad_id in [one for end in ends for one in (end if isinstance(end, list) else [end])]


GIVE = "to mark other tokens as padding, give valid="


def mark_padding(
    values: Tensor,
    n_tokens: int,
    n_real: list[int] | None,
    told: tuple[Any, str],
    config: EncoderConfig,
    padding: PaddingIds,
    tokenizer: Tokenizer | None,
) -> tuple[Valid, list[tuple[str, ...]]]:
    """True at the real tokens of each row, and for each row what is to be said of its padding.

    Args:
        values: the rows; ids where the encoder takes ids.
        n_tokens: of each row.
        n_real: how many tokens each row had before it was filled up, where it was.
        told: the caller's own "batch token" or None, and the name that it was given by.
        config: of the encoder.
        padding: which id it is, and what the model makes of it.
        tokenizer: to name the id by.

    Raises:
        InputError: a row of padding alone, or padding where this model cannot have it.
    """
    shape, (given, name) = (len(values), n_tokens), told
    ids = values if config.embedding is Embedding.TOKEN else None
    valid = torch.ones(shape, dtype=torch.bool)
    if n_real is not None:
        if given is not None:
            raise InputError(
                "The rows differ in length, which already tells the padding; leave out valid=."
            )
        valid = torch.arange(n_tokens) < torch.tensor(n_real)[:, None]
    word = _named(padding, tokenizer)
    if given is not None:
        valid, why = _given(given, shape), f"as {name} says"
    else:
        why = f"{'the rows were filled up with ' if n_real else ''}{word}"
        if ids is not None and padding.id is not None and not padding.attended:
            valid = valid & ~_pads(ids, padding.id, padding.ends_texts, word, valid)
    _require_real(valid, word if given is None else f"padding, as {name} says")
    if ids is not None and padding.no_position and padding.id is not None:
        _require_at_the_end(ids, valid, padding.id, word)
    notes = [_notes(row, why) for row in valid]
    if given is None and ids is not None and not n_real:
        notes = [
            said or _unsaid(row, padding, len(ids) > 1, word)
            for said, row in zip(notes, ids, strict=True)
        ]
    return valid, notes


def _given(given: Any, shape: tuple[int, int]) -> Valid:
    try:
        whole = given if isinstance(given, Tensor) else torch.as_tensor(np.asarray(given))
    except (TypeError, ValueError) as fault:
        raise InputError(
            "valid must be a bool tensor (batch, token), True = a real token."
        ) from fault
    valid = plain_tensor(whole, "valid")
    valid = valid[None] if valid.ndim == 1 else valid
    if valid.dtype != torch.bool:
        raise InputError(
            f"valid is {valid.dtype}; it must be bool, True = a real token: write "
            "attention_mask.bool()."
        )
    if tuple(valid.shape) != shape:
        raise InputError(
            f"valid has shape {tuple(valid.shape)}; the input has (batch, token) = {shape}."
        )
    return valid.detach().cpu()


def _named(padding: PaddingIds, tokenizer: Tokenizer | None) -> str:
    if padding.id is None:
        return "id 0"
    name = tokenizer.id_to_token(padding.id) if tokenizer is not None else None
    return f"id {padding.id}" + (f" ({name})" if name else "")


def _pads(
    ids: Int[Tensor, "batch token"], pad_id: int, ends_texts: bool, word: str, valid: Valid
) -> Valid:
    """Positions of the padding id; if it also ends texts, the first per row is that end."""
    pads = (ids == pad_id) & valid
    if not ends_texts:
        return pads
    if int(pads.sum(1).max()) > 1:
        raise InputError(
            f"{word} is this model's padding and also appears in every text that has none; say "
            "which tokens are real with valid= (batch × token, True = real)."
        )
    return torch.zeros_like(pads)


def _require_real(valid: Valid, what: str) -> None:
    empty = (~valid.any(1)).nonzero()[:, 0].tolist()
    if empty:
        raise InputError(f"Row {empty[0] + 1} holds nothing but {what}; give it a real token.")


def _require_at_the_end(ids: Tensor, valid: Valid, pad_id: int, word: str) -> None:
    """Positions are counted past this padding: elsewhere it would shift those of real tokens."""
    pads = ids == pad_id
    behind = pads.flip(1).cumprod(1).flip(1).bool()
    wrong = (pads & (~behind | valid)).any(1).nonzero()[:, 0].tolist()
    if wrong:
        raise InputError(
            f"Row {wrong[0] + 1} has {word} before or among its real tokens; this model counts "
            "positions past its padding, so put all of it at the end."
        )


def _notes(valid: Bool[Tensor, " token"], why: str) -> tuple[str, ...]:
    n_tokens, real = len(valid), valid.nonzero()[:, 0]
    n_pads = n_tokens - len(real)
    if not n_pads:
        return ()
    first, last = int(real[0]), int(real[-1])
    inside = last - first + 1 - len(real)
    ends = [words for words, there in (("start", first), ("end", last < n_tokens - 1)) if there]
    places = [f"at the {' and the '.join(ends)}"] if ends else []
    places += [f"{inside} between real tokens"] if inside else []
    return (
        f"{n_pads:,} of {n_tokens:,} tokens {'is' if n_pads == 1 else 'are'} padding, "
        f"{', '.join(places)}: {why}. No token attends to padding; {GIVE}.",
    )


def _unsaid(
    ids: Int[Tensor, " token"], padding: PaddingIds, several: bool, word: str
) -> tuple[str, ...]:
    """Note for a row where nothing counted as padding."""
    if padding.id is None:
        why = f"No padding id is known for this model, so every token counts as real; {GIVE}."
        return (why,) if several else ()
    n_pads = int((ids == padding.id).sum())
    if not padding.attended or not n_pads:
        return ()
    return (
        f"{n_pads:,} of {len(ids):,} tokens {'is' if n_pads == 1 else 'are'} this model's "
        f"padding, {word}; the model was trained to attend to padding, so it counts "
        f"as real; {GIVE}.",
    )
