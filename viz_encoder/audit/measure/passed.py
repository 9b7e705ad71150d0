"""Walks what the caller's code passes: tensors in dicts, tuples and dataclasses.

A BlockMask or a mask_mod of flex_attention is a leaf like a tensor.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from torch import Tensor

from viz_encoder.model.mask_mods import is_block_mask, is_mask_mod


def tensors_in(passed: Any) -> Iterator[tuple[str, Tensor]]:
    """Every tensor in what was passed, with its keyword or number."""
    return ((where, leaf) for where, leaf in leaves_in(passed) if isinstance(leaf, Tensor))


def leaves_in(passed: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Iterate over everything passed, with its keyword or index."""
    inside = list(_inside(passed))
    if not inside and not isinstance(passed, Mapping | list | tuple):
        yield where, passed
    for name, value in inside:
        yield from leaves_in(value, f"{where}.{name}" if where else name)


def parts_of(passed: Any) -> Iterator[Any]:
    """Iterate over everything passed, from its dicts, tuples and dataclasses."""
    return (leaf for _, leaf in leaves_in(passed))


def mapped(
    passed: Any, change: Callable[[Tensor], Any], flex: Callable[[Any], Any] | None = None
) -> Any:
    """Copy with each tensor changed, in the same dicts, tuples and dataclasses.

    With `flex`, each BlockMask and mask_mod is changed by it.
    """
    if isinstance(passed, Tensor):
        return change(passed)
    if flex is not None and (is_block_mask(passed) or is_mask_mod(passed)):
        return flex(passed)
    if isinstance(passed, Mapping):
        held = {name: mapped(value, change, flex) for name, value in passed.items()}
        kind: Any = type(passed)
        return held if isinstance(passed, dict) else kind(held)
    if isinstance(passed, list | tuple):
        values = [mapped(value, change, flex) for value in passed]
        return type(passed)(*values) if hasattr(passed, "_fields") else type(passed)(values)
    if _is_record(passed):
        held = {one.name: mapped(getattr(passed, one.name), change, flex) for one in fields(passed)}
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
