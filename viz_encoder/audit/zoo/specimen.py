"""Specimen: one planted mask bug, the model that has it, wrong or mended, and what is meant."""

import inspect
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.audit.arguments import AuditInputs, AuditScope
from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.audit.measure.setting import Intent as Intent
from viz_encoder.audit.zoo.models import (
    Attend,
    Parts,
    around,
    multihead,
    sdpa,
    torch_encoder,
    written_out,
)
from viz_encoder.bundled import asset
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


Code = Callable[..., Any]


@dataclass(frozen=True)
class Specimen:
    """One entry of the zoo: `code` has the line `wrong`; with `right` in its place it is mended."""

    identifier: str  # the number of its kind, then a word: "A1-multihead"
    title: str
    symptom: str  # what a person sees
    story: str  # where it happens in the wild, with the public source
    wrong: str
    right: str
    flagged_by: str  # the check that must see it; empty where none can
    code: Code
    given: dict[str, Any] = field(default_factory=dict, hash=False)  # what `built` takes besides
    verdict: str = "FAIL"
    missed: str = ""  # why no audit can see it

    def build(self, seed: int = 0, *, fixed: bool = False, **more: Any) -> MaskedModel:
        """The model with this bug, or the same with the right line; the same for the same seed."""
        code = _mended(self.code, self.wrong, self.right) if fixed else self.code
        return built(code, seed, **self.given, **more)


@cache
def _mended(code: Code, wrong: str, right: str) -> Code:
    """The same function, with one line of its source changed."""
    source = inspect.getsource(code).partition("\ndef ")[2]
    assert source.count(wrong) == 1, f"{code.__name__} does not have this once: {wrong}"
    names = dict(code.__globals__)
    exec("def " + source.replace(wrong, right), names)
    return names[code.__name__]


def built(
    code: Code,
    seed: int,
    *,
    intent: Intent = real_tokens,
    passed: Callable[[Valid], Any] | None = None,
    taker: Callable[[int], nn.Module] | None = None,
    parts: Parts | None = None,
    kernel: Attend = sdpa,
    maker: Callable[[int, Code], nn.Module] | None = None,
    **options: Any,
) -> MaskedModel:
    """The model that a plant's code is a part of, by the first argument of that code.

    Args:
        code: makes the mask of `valid`; attends, given q; is the forward pass of a module around
            a right model (self); pools `hidden`; calls nn.MultiheadAttention (layer) or
            nn.TransformerEncoder (encoder); or makes all of it from the seed.
        seed: of the weights.
        intent: what is meant.
        passed: what is passed, of valid; else the intent, or valid to a forward pass.
        taker: makes what takes a mask that is made; else two layers of `kernel`.
        parts: makes further modules of a forward pass, by name.
        kernel: how a model attends that is right itself.
        maker: makes a model of other code.
        options: more of MaskedModel.
    """
    first = next(iter(inspect.signature(code).parameters))
    if first == "seed":
        return code(seed)
    if first == "valid":
        model = taker(seed) if taker else written_out(seed, kernel)
        return MaskedModel(model, intent, code, **options)

    def pool(self: Any, x: Tensor, valid: Valid) -> Tensor:
        return code(self.inner(x, real_tokens(valid)), valid)

    if first in ("self", "hidden"):
        whole = around(seed, code if first == "self" else pool, parts, kernel)
        return MaskedModel(whole, intent, passed or as_it_is, **options)
    makers: dict[str, Callable[[int, Code], nn.Module]] = {
        "q": written_out,
        "layer": multihead,
        "encoder": torch_encoder,
    }
    return MaskedModel((maker or makers[first])(seed, code), intent, passed, **options)


@cache
def _texts() -> dict[str, dict[str, str]]:
    """What a page says of each plant of the zoo, by its identifier."""
    return tomllib.loads(asset("zoo.toml").read_text(encoding="utf-8"))


def plant(identifier: str, **given: Any) -> Callable[[Code], Specimen]:
    """Turn a function into the specimen of that name: its texts, and what `built` takes.

    Texts that are not given are those of `assets/zoo.toml`; the maps show most of them.
    """
    given = {"flagged_by": "maps"} | _texts().get(identifier, {}) | given
    texts = {one.name: given.pop(one.name) for one in fields(Specimen) if one.name in given}
    return lambda code: Specimen(identifier, code=code, given=given, **texts)
