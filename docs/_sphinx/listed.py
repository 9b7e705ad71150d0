"""What each API page lists, found in the package: a new analysis, figure or error needs no edit."""

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import viz_encoder as vz
import viz_encoder.audit
import viz_encoder.corpora
import viz_encoder.effects
from viz_encoder import errors

# Each has a page of its own.
APART = tuple(
    f"viz_encoder.{name}" for name in ("analyses", "audit", "corpora", "effects", "errors")
)


def listed(group: str) -> list[str]:
    """The full names of a page's entries, each function followed by what it returns.

    Raises:
        KeyError: no such page.
    """
    return _GROUPS[group]()


def _promised() -> list[str]:
    """dir(vz) without what has a page of its own; functions first, then classes."""
    own = _own()
    return [f"viz_encoder.{name}" for name in sorted(own, key=lambda name: name[0].isupper())]


def _own() -> dict[str, Any]:
    found = {name: getattr(vz, name) for name in dir(vz)}
    found = {name: each for name, each in found.items() if not isinstance(each, ModuleType)}
    return {name: each for name, each in found.items() if not each.__module__.startswith(APART)}


def _parts() -> list[str]:
    """Every class of ours that the other pages mention in a signature, and do not list."""
    own = list(_own().values())
    packages = vz.analyses, viz_encoder.effects, viz_encoder.corpora
    mentioning = [getattr(each, name) for each in packages for name in dir(each) if name[0] != "_"]
    roots = [one for one in (*own, *mentioning) if callable(one)]
    others = (_analyses, _audit, _corpora, _effects, _errors)
    there = [*own, *(_value(name) for group in others for name in group())]
    return sorted((_full(kind) for kind in _closure(roots) if kind not in there), key=_last)


def _value(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _analyses() -> list[str]:
    """Each function, and after it the results that it gives and no function before it gave."""
    found: list[str] = []
    for name in dir(vz.analyses):
        kinds = _closure([getattr(vz.analyses, name)])
        own = [_full(kind) for kind in kinds if kind.__module__.startswith("viz_encoder.analyses")]
        found += [f"viz_encoder.analyses.{name}", *own]
    return list(dict.fromkeys(found))


def _figures() -> list[str]:
    return [f"viz_encoder.figures.{name}" for name in dir(vz.figures)]


def _audit() -> list[str]:
    return _public(viz_encoder.audit)


def _corpora() -> list[str]:
    return _public(viz_encoder.corpora)


def _effects() -> list[str]:
    return _public(viz_encoder.effects)


def _public(package: ModuleType) -> list[str]:
    """What a package gives out: functions, then classes."""
    public = {
        name: value
        for name, value in vars(package).items()
        if name[0] != "_" and not isinstance(value, ModuleType)
    }
    calls = [name for name, value in public.items() if not inspect.isclass(value)]
    kinds = [name for name, value in public.items() if inspect.isclass(value)]
    return [f"{package.__name__}.{name}" for name in (*sorted(calls), *kinds)]


def _errors() -> list[str]:
    return [
        f"viz_encoder.errors.{name}"
        for name, value in vars(errors).items()
        if inspect.isclass(value)
    ]


def _endpoints() -> list[str]:
    """The page's named endpoints, those of the input side and of every tab."""
    page = import_module("viz_encoder.ui.page")
    functions = [*page.SHARED_ENDPOINTS, *page.form_endpoints.HUB_ENDPOINTS]
    functions += [function for tab in page.TABS for function in tab.endpoints]
    return [_full(function) for function in functions]


_GROUPS = {
    "promised": _promised,
    "parts": _parts,
    "analyses": _analyses,
    "figures": _figures,
    "audit": _audit,
    "corpora": _corpora,
    "effects": _effects,
    "errors": _errors,
    "endpoints": _endpoints,
}


def _closure(roots: list[Any]) -> list[type]:
    """Our classes that these functions and classes mention, and those that they mention in turn."""
    found: list[type] = []
    waiting = list(roots)
    while waiting:
        mentioned = [kind for hint in _hints(waiting.pop(0)) for kind in _own_classes(hint)]
        new = [kind for kind in dict.fromkeys(mentioned) if kind not in found]
        found += new
        waiting += new
    return found


def _hints(value: Any) -> Iterator[Any]:
    """The types in a function's signature, or of a class's fields and public methods."""
    if not inspect.isclass(value):
        yield from typing.get_type_hints(inspect.unwrap(value)).values()
        return
    if dataclasses.is_dataclass(value) or hasattr(value, "_fields"):
        yield from typing.get_type_hints(value).values()
    ours = [each for each in value.__mro__ if each.__module__.startswith("viz_encoder")]
    for name, member in (pair for each in ours for pair in vars(each).items()):
        read = getattr(member, "fget", None) or getattr(member, "func", None)
        function = read or getattr(member, "__func__", member)
        if inspect.isfunction(function) and name[0] != "_":
            yield from _hints(function)


def _own_classes(hint: Any) -> Iterator[type]:
    if inspect.isclass(hint) and hint.__module__.startswith("viz_encoder"):
        yield hint
    for inner in typing.get_args(hint):
        yield from _own_classes(inner)


def _full(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"
