"""Specimen: one planted mask bug with its story, and the model that has it, wrong or mended."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.measure.setting import Intent as Intent


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
