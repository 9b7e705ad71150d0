"""Finds out how to call a model from its signature, or raises with the line to write."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from viz_encoder.errors import InputError

HALVES = (nn.Transformer, nn.TransformerDecoder, nn.TransformerDecoderLayer)


@dataclass(frozen=True)
class Call:
    """One way to call a model; if only a signature shows it, with how, and the alternative."""

    run: Callable[[Any, Any], Any]  # (x, passed) → output
    told: str = ""
    instead: str = ""


def with_mask(model: Callable[..., Any], *, own_mask: bool) -> Call:
    """Call as model(x, passed), or model(x) if it takes nothing else and no make_mask was given.

    Raises:
        InputError: it can be called in neither way.
    """
    if fits(model, None, None):
        return Call(model)
    if fits(model, None) and not own_mask:
        told = f"Called as {name_of(model)}(x): no mask was passed, so it has to make its own."
        return Call(lambda x, _: model(x), told, _line("audit_mask", model, "x, passed"))
    if fits(model, None):
        raise InputError(
            f"{shown(model)} takes no mask beside x. If it makes its own, leave make_mask= out; "
            f"otherwise give a function that passes it: {_line('audit_mask', model, 'x, passed')}"
        )
    raise InputError(
        f"{shown(model)} cannot be called as model(x, passed). Give a function that does: "
        f"{_line('audit_mask', model, 'x, passed', _arguments(model, ['x', 'passed']))}"
    )


def with_batch(model: Callable[..., Any], batch: Any) -> Call:
    """A mapping as model(**batch), a tuple or list as model(*batch), or all of it as model(batch).

    Raises:
        InputError: the model takes it in no such way.
    """
    if isinstance(batch, Mapping) and fits(model, **batch):
        return Call(lambda _, given: model(**given))
    parts = [f"batch[{key!r}]" for key in _keys(batch)]
    line = _line("audit_batch", model, "batch", _arguments(model, parts))
    taken = _taken(model, batch)
    if taken:
        told = f"Called with {', '.join(taken)} of the batch, which is all that it takes."
        return Call(lambda _, given: model(**{name: given[name] for name in taken}), told, line)
    several = isinstance(batch, list | tuple) and fits(model, *batch)
    if several and (len(batch) > 1 or not fits(model, batch)):  # each value has its own place
        return Call(lambda _, given: model(*given), f"Called as {name_of(model)}(*batch).", line)
    if fits(model, batch):
        whole = isinstance(batch, Mapping) or (parts and isinstance(model, nn.Module))
        told = f"Called as {name_of(model)}(batch)." if whole else ""
        return Call(lambda _, given: model(given), told, line if told else "")
    held = ", ".join(map(repr, batch)) if isinstance(batch, Mapping) else f"{len(parts)} values"
    raise InputError(
        f"{shown(model)} cannot be called with this batch of {held}. Give a function that does: "
        f"{line}"
    )


def require_one_stack(model: Any, way: str) -> None:
    """Raise if the model has two halves that are meant to attend differently.

    Raises:
        InputError: it has, with the lines that audit one.
    """
    if isinstance(model, HALVES):
        given = "x, passed" if way == "audit_mask" else "batch"
        inner = "model.encoder, intent" if isinstance(model, nn.Transformer) else ""
        whole = _line(way, model, given, "…")
        first = f"its encoder alone is vz.{way}({inner}, …); for the rest " if inner else ""
        raise InputError(
            f"{type(model).__name__} also attends to memory, of which the intent says nothing: "
            f"{first}give a function{' and AuditScope(cross=…)' * (way == 'audit_mask')}: {whole}"
        )
    config = getattr(model, "config", None)
    if not getattr(config, "is_encoder_decoder", False) or "decoder_input_ids" not in _names(model):
        return
    batch = "batch, " if way == "audit_batch" else ""
    raise InputError(
        f"{type(model).__name__} is an encoder and a decoder, and what one may look at is not what "
        f"the other may. Audit one: vz.{way}(model.get_encoder(), {batch}intent), or the decoder "
        "by a function that calls model.get_decoder() alone."
    )


def fits(model: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Whether its signature takes these arguments; True where it has none that can be read."""
    signature = signature_of(model)
    try:
        if signature is not None:
            signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def name_of(model: Any) -> str:
    """Name of the model in a sentence."""
    return getattr(model, "__name__", None) or type(_plain(model)).__name__


def shown(model: Any) -> str:
    """Its name and what it takes."""
    return f"{name_of(model)}({', '.join(_names(model))})"


def _taken(model: Any, batch: Any) -> list[str]:
    """The names of a mapping that forward takes, if those are all that it needs."""
    if not isinstance(batch, Mapping):
        return []
    names = [name for name in batch if name in _names(model)]
    return names if fits(model, **{name: batch[name] for name in names}) else []


def _plain(model: Any) -> Any:
    return getattr(model, "_orig_mod", model)


def signature_of(model: Any) -> inspect.Signature | None:
    """What it takes; None where that cannot be read, as of scripted code."""
    plain = _plain(model)
    try:
        return inspect.signature(plain.forward if isinstance(plain, nn.Module) else plain)
    except (TypeError, ValueError):
        return None


def _names(model: Any) -> list[str]:
    signature = signature_of(model)
    return list(signature.parameters) if signature is not None else ["…"]


def _keys(batch: Any) -> list[Any]:
    if isinstance(batch, Mapping):
        return list(batch)
    return list(range(len(batch))) if isinstance(batch, list | tuple) else []


def _arguments(model: Any, parts: list[str]) -> str:
    """Each required argument by its name, with what may go there."""
    signature = signature_of(model)
    needed = [
        one.name
        for one in (signature.parameters.values() if signature is not None else ())
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    told = dict(zip(needed, parts, strict=False))
    told |= {name: part for name in needed for part in parts if part == f"batch[{name!r}]"}
    return ", ".join(f"{name}={told.get(name, '…')}" for name in needed) or "…"


def _line(way: str, model: Any, given: str, inside: str = "x, …") -> str:
    """The line to write instead."""
    batch = "batch, " if way == "audit_batch" else ""
    module = ", module=model" if isinstance(model, nn.Module) else ""
    return f"vz.{way}(lambda {given}: model({inside}), {batch}intent, …{module})."
