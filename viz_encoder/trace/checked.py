"""Parts of a saved file, which anyone may have written: each is checked before use."""

from collections.abc import Set
from reprlib import repr as shown  # truncates: untrusted input can be of any length
from typing import Any

from torch import Tensor

MOST = 2**31  # no count in a file is larger; JSON allows larger only in Python
Types = type | tuple[type, ...]


class Foreign(ValueError):
    """The description has other parts than this version writes."""


class Damaged(ValueError):
    """A fault in a saved file, worded as the end of a sentence."""


def pop_tensor(named: dict[str, Tensor], name: str) -> Tensor:
    """Pop a required tensor from those not yet used.

    Raises:
        Damaged: it is not there.
    """
    if name not in named:
        raise Damaged(f"it has no tensor {name}")
    return named.pop(name)


def exactly(about: Any, what: str, names: str, usual: Set[str] = frozenset()) -> None:
    """Require these parts and no others; the usual ones have defaults and may be missing.

    Raises:
        Damaged: it has no parts.
        Foreign: it has others.
    """
    if not isinstance(about, dict):
        raise Damaged(f"{what} is a {type(about).__name__}")
    missing, unknown = set(names.split()) - usual - set(about), set(about) - set(names.split())
    if missing:
        raise Foreign(f"{what} lacks {', '.join(sorted(missing))}")
    if unknown:
        raise Foreign(f"{what} has the unknown part {shown(min(unknown))}")


def one_of_kind(value: Any, kind: Types, what: str) -> Any:
    """Return the value if it is exactly of that type: in JSON, true is not a number.

    Raises:
        Damaged: it is not, or a number too large.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if type(value) not in kinds:
        raise Damaged(f"{what} holds a {type(value).__name__}")
    if type(value) is int and abs(value) >= MOST:
        raise Damaged(f"{what} holds a number of {MOST:,} or more")
    return value


def all_of_kind(values: Any, kind: Types, what: str) -> tuple[Any, ...]:
    """Return the entries of a list if each is exactly of that type.

    Raises:
        Damaged: one is not.
    """
    return tuple(one_of_kind(value, kind, what) for value in one_of_kind(values, list, what))
