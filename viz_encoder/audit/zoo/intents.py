"""Intents: valid "batch token" → Bool "batch query key", True = may attend."""

import torch
from torch import Tensor

from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.audit.zoo.specimen import Intent
from viz_encoder.model.masks import Valid as Valid


def as_it_is(valid: Valid) -> Tensor:
    """Pass `valid` on, for models that make their own mask."""
    return valid


def real_tokens(valid: Valid) -> Allowed:
    """All tokens may attend to every real token."""
    return valid[:, None, :].expand(-1, valid.shape[1], -1)


def earlier_tokens(valid: Valid) -> Allowed:
    """Each may attend to itself and to earlier real tokens."""
    return real_tokens(valid) & _query_minus_key(valid).ge(0)


def last_tokens(width: int) -> Intent:
    """Each may attend to the last `width` real tokens, itself counted."""
    return lambda valid: earlier_tokens(valid) & _query_minus_key(valid).lt(width)


def neighbors(reach: int) -> Intent:
    """Each may attend to real tokens up to `reach` away on either side."""
    return lambda valid: real_tokens(valid) & _query_minus_key(valid).abs().le(reach)


def own_document(length: int, *, causal: bool = False) -> Intent:
    """Each may attend to its own document of `length` tokens; only backward if causal."""

    def intent(valid: Valid) -> Allowed:
        number = torch.arange(valid.shape[1], device=valid.device) // length
        allowed = earlier_tokens(valid) if causal else real_tokens(valid)
        return allowed & (number[:, None] == number[None, :])

    return intent


def windows_of(height: int, width: int, size: int, shift: int = 0) -> Intent:
    """Each may attend to its window of a picture; windows that are shifted end at the border."""
    rows, columns = ((torch.arange(n) + (size - shift) % size) // size for n in (height, width))
    # An axis that one window covers is cut in two by the shift.
    number = (rows[:, None] * (width + 1) + columns).flatten()
    return lambda valid: real_tokens(valid) & (number[:, None] == number[None, :])


def _query_minus_key(valid: Valid) -> Tensor:
    position = torch.arange(valid.shape[1], device=valid.device)
    return position[:, None] - position[None, :]
