"""The keywords of audit_mask before they were grouped; in this version they work, and warn."""

import functools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from viz_encoder.audit.arguments import AuditInputs, AuditScope

GROUPS: dict[str, type[AuditInputs] | type[AuditScope]] = {
    "inputs": AuditInputs,
    "scope": AuditScope,
}
UNGROUPED = {  # the old keyword → its group, and its name there
    "inputs": ("inputs", "make"),
    "positions": ("inputs", "padding_side"),
    **{name: ("inputs", name) for name in ("vocab_size", "pad_id", "valid")},
    **{name: ("scope", name) for name in ("lengths", "window", "max_positions", "dtype")},
    **{name: ("scope", name) for name in ("documents", "pooled", "step", "variants")},
}

Given = ParamSpec("Given")
Result = TypeVar("Result")


def accepts_ungrouped(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function with the old keywords, too."""

    @functools.wraps(function)
    def wrapper(*args: Given.args, **given: Given.kwargs) -> Result:
        return function(*args, **_grouped(given))

    return wrapper


def _grouped(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keywords with the old ones in their groups; says what to write instead."""
    old = {name: value for name, value in given.items() if _is_old(name, value)}
    if not old:
        return given
    new = {name: value for name, value in given.items() if name not in old}
    written = []
    for group, kind in GROUPS.items():
        fields = {UNGROUPED[name][1]: old[name] for name in old if UNGROUPED[name][0] == group}
        if fields:
            new[group] = replace(new.get(group) or kind(), **fields)
            written.append(f"{group}={kind.__name__}({', '.join(f'{one}=…' for one in fields)})")
    warnings.warn(
        f"{', '.join(f'{name}=' for name in old)} {'is' if len(old) == 1 else 'are'} deprecated; "
        f"use {', '.join(written)}, with "
        f"from viz_encoder.audit import {', '.join(kind.__name__ for kind in GROUPS.values())}; "
        "the old keywords will be removed in the next version.",
        DeprecationWarning,
        stacklevel=3,
    )
    return new


def _is_old(name: str, value: Any) -> bool:
    """`inputs` was the function that makes them."""
    return name in UNGROUPED and (name != "inputs" or callable(value))
