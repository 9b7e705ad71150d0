"""What the caller's code passes: the tensors in its dicts, tuples and dataclasses."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from torch import Tensor


def tensors_in(passed: Any, where: str = "") -> Iterator[tuple[str, Tensor]]:
    """Every tensor in what was passed, with its keyword or number."""
    if isinstance(passed, Tensor):
        yield where, passed
        return
    for name, value in _inside(passed):
        yield from tensors_in(value, f"{where}.{name}" if where else name)


def parts_of(passed: Any) -> Iterator[Any]:
    """All that is passed, out of its dicts, tuples and dataclasses."""
    inside = list(_inside(passed))
    if not inside and not isinstance(passed, Mapping | list | tuple):
        yield passed
    for _, value in inside:
        yield from parts_of(value)


def mapped(passed: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same with each tensor changed, in the same dicts, tuples and dataclasses."""
    if isinstance(passed, Tensor):
        return change(passed)
    if isinstance(passed, Mapping):
        held = {name: mapped(value, change) for name, value in passed.items()}
        kind: Any = type(passed)
        return held if isinstance(passed, dict) else kind(held)
    if isinstance(passed, list | tuple):
        values = [mapped(value, change) for value in passed]
        return type(passed)(*values) if hasattr(passed, "_fields") else type(passed)(values)
    if _is_record(passed):
        held = {one.name: mapped(getattr(passed, one.name), change) for one in fields(passed)}
        return replace(passed, **held)
    return passed


def _inside(passed: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(passed, Mapping):
        yield from ((str(name), value) for name, value in passed.items())
    elif isinstance(passed, list | tuple):
        names = getattr(passed, "_fields", range(len(passed)))
        yield from zip(map(str, names), passed, strict=True)
    elif _is_record(passed):
        yield from ((one.name, getattr(passed, one.name)) for one in fields(passed))


def _is_record(passed: Any) -> bool:
    return is_dataclass(passed) and not isinstance(passed, type)
