"""Reads the result of an intent as bool "batch query key", or raises with the line to write."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_encoder.audit.measure.flex_masks import is_flex, meant_by_all_heads
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.errors import InputError

RULE = "a torch.bool tensor (batch, query, key) in which True = may attend"


def read_intent(given: Any, words: str, valid: Tensor | None = None) -> Allowed:
    """Expand to the size of `valid`, if known; axes of size 1 and missing axes are shared.

    A mask of a batch of one's own must have an axis for samples: without one it says nothing of
    their padding.

    Raises:
        InputError: it is something else.
    """
    if is_flex(given):
        real = torch.ones(given.shape[0], given.shape[2]) > 0 if valid is None else valid
        given = meant_by_all_heads(given, real)
    given = torch.from_numpy(given) if isinstance(given, np.ndarray) else given
    if not isinstance(given, Tensor) or given.dtype != torch.bool:
        found = given.dtype if isinstance(given, Tensor) else type(given).__name__
        raise InputError(
            f"{words} gave {found}; it must give {RULE}. For a 0/1 mask write mask == 1, for one "
            "that is added, mask == 0."
        )
    shape = tuple(given.shape)
    given = given[:, 0] if given.ndim == 4 and given.shape[1] == 1 else given
    if valid is None:
        if given.ndim != 3 or given.shape[1] not in (1, given.shape[2]):
            raise InputError(f"{words} gave {shape}; it must give {RULE}.{_cure(given)}")
        return given.expand(-1, given.shape[2], -1)
    whole = (*valid.shape, valid.shape[1])
    try:
        return given.to(valid.device).expand(whole)
    except RuntimeError:
        raise InputError(
            f"{words} gave {shape}; for valid of {tuple(valid.shape)} it must give (batch, query, "
            f"key) = {whole}.{_cure(given, valid.shape[1])}"
        ) from None


def require_samples(allowed: tuple[Allowed, ...], batch: tuple[Tensor, ...]) -> None:
    """Raise unless some tensor of the batch has as many samples as the intent.

    Raises:
        InputError: none has.
    """
    sized = [one for one in batch if one.ndim > 1]
    for one in allowed:
        if sized and not any(len(one) in each.shape[:2] for each in sized):
            raise InputError(
                f"intent(batch) is of {len(one)} samples, and the batch of {len(sized[0])}. A "
                "pattern that all samples share is written "
                "pattern[None] & valid[:, None, :], with valid (batch, token), True = a real token."
            )


def _of_more(n_tokens: int, expected: int) -> str:
    """What to do where a model puts tokens of its own beside those that it is given."""
    return (
        f" If the model adds {n_tokens - expected} at any length, such as [CLS], count it among "
        f"the tokens: AuditInputs(make=…, valid=…), where valid has {n_tokens} tokens and make "
        f"gives {expected}; docs/masks.md shows it."
    )


def _cure(given: Tensor, expected: int = 0) -> str:
    """The line that gives three axes."""
    if given.ndim == 2 and given.shape[0] == given.shape[1]:
        return " Write pattern[None] & valid[:, None, :], with valid (batch, token)."
    if given.ndim == 2:
        return " Of (batch, token) write valid[:, None, :].expand(-1, valid.shape[1], -1)."
    if given.ndim == 3 and given.shape[1] == given.shape[2]:
        n_tokens = given.shape[1]
        alone = f" If it is of {n_tokens} tokens alone, give AuditScope(lengths=[{n_tokens}])."
        return alone + (_of_more(n_tokens, expected) if 0 < expected < n_tokens else "")
    if given.ndim == 4:
        return " It has one mask for all heads of a layer; a list of functions is one per layer."
    return ""
