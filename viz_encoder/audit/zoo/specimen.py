"""Specimen: one planted mask bug, the model that has it, wrong or mended, and what is meant."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.audit.measure.setting import Intent as Intent
from viz_encoder.model.masks import Valid as Valid


@dataclass(frozen=True)
class MaskedModel:
    """Arguments of audit_mask: audit_mask(model, intent, make_mask, **given.options)."""

    model: Callable[[Tensor, Any], Any]
    intent: Intent | list[Intent]
    make_mask: Callable[[Tensor], Any] | None = None
    d_model: int = 16
    n_layers: int = 2
    inputs: AuditInputs = field(default_factory=AuditInputs)
    scope: AuditScope = field(default_factory=AuditScope)

    @property
    def options(self) -> dict[str, Any]:
        """The keywords of `audit_mask`."""
        names = ("d_model", "n_layers", "inputs", "scope")
        return {name: getattr(self, name) for name in names}


Make = Callable[[int, bool], MaskedModel]  # (seed, fixed) -> the model


@dataclass(frozen=True)
class Specimen:
    """One entry of the zoo; `wrong` and `right` are lines of the code that `make` runs."""

    identifier: str  # the number of its kind, then a word: "A1-multihead"
    title: str
    symptom: str  # what a person sees
    story: str  # where it happens in the wild, with the public source
    wrong: str
    right: str
    make: Make
    flagged_by: str  # the check that must see it; empty where none can
    verdict: str = "FAIL"
    needs: str = "torch"
    missed: str = ""  # why no audit can see it

    def build(self, seed: int = 0, *, fixed: bool = False) -> MaskedModel:
        """The model with this bug, or the same with the right line; the same for the same seed."""
        return self.make(seed, fixed)


def plant(identifier: str, title: str, **texts: str) -> Callable[[Make], Specimen]:
    """Turn a function (seed, fixed) -> MaskedModel into the specimen of that name."""
    return lambda make: Specimen(identifier, title, make=make, **texts)


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
