"""The kinds of single values: how each is read, and what it is called in a sentence."""

import math
import operator
from collections.abc import Callable, Iterable
from enum import Enum
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

LARGEST = 2**63 - 1  # in arrays and tensors
MISS = object()  # returned by a reader for unreadable values
AS_IT_IS = "as it is"  # in Annotated: the function reads it itself
Words = str | Callable[[Any], str]  # what is allowed; may depend on the given value


class Reader(NamedTuple):
    """A kind of value: what it must be, in words, and the value as Python's own, or MISS."""

    words: Words
    read: Callable[[Any], Any]
    is_object: bool = False  # an encoder, a run or a tensor, not a number or a name
    entry: "Reader | None" = None  # for lists: the reader of their entries


class Limit(NamedTuple):
    """A bound on a number; the error names the violated limit."""

    words: str
    bound: float
    compare: Callable[[Any, Any], bool]

    def allows(self, value: Any) -> bool:
        """Whether it is within."""
        return self.compare(value, self.bound)


def at_least(bound: float) -> Limit:
    """Lower bound, inclusive."""
    return Limit(f"of at least {bound:,}", bound, operator.ge)


def at_most(bound: float) -> Limit:
    """Upper bound, inclusive."""
    return Limit(f"of at most {bound:,}", bound, operator.le)


def above(bound: float) -> Limit:
    """Larger."""
    return Limit(f"above {bound:,}", bound, operator.gt)


def below(bound: float) -> Limit:
    """Smaller."""
    return Limit(f"below {bound:,}", bound, operator.lt)


class OneOf:
    """A name from a set."""

    def __init__(self, known: Iterable[str]) -> None:
        """The names, in the order in which a sentence lists them."""
        self.known = tuple(known)

    def __repr__(self) -> str:
        """The names, as a signature shows them."""
        return f"OneOf({', '.join(map(repr, self.known))})"

    @property
    def words(self) -> str:
        """All limits in words."""
        return f"one of {', '.join(self.known)}"

    def allows(self, value: Any) -> bool:
        """Whether it is one."""
        return value in self.known


Count = Annotated[int, at_least(1)]
Most = Annotated[int, at_least(0)]  # how many at most
Seed = Annotated[int, at_least(0)]
# Told the share that is done; what it raises ends the work.
Progress = Callable[[float], object]
AnyPath = Annotated[str | Path, "a path"]


def whole(value: Any) -> Any:
    """Python's, numpy's and torch's whole numbers of 64 bits; no bool, float or text is one."""
    if type(value) is int:  # nearly always
        return value if -LARGEST <= value <= LARGEST else MISS
    if isinstance(value, bool) or getattr(value, "ndim", None) or _of_bools(value):
        return MISS
    try:
        return whole(operator.index(value))
    except (TypeError, ValueError, RuntimeError):
        return MISS


def real(value: Any) -> Any:
    """A finite number, whole or not, as a float."""
    if isinstance(value, bool | complex | str | bytes) or getattr(value, "ndim", None):
        return MISS
    if _of_bools(value):
        return MISS
    try:
        number = float(value.detach() if isinstance(value, Tensor) else value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return MISS
    return number if math.isfinite(number) else MISS


def switch(value: Any) -> Any:
    """True or False, numpy's too; 0, 1 and "no" are neither."""
    return bool(value) if isinstance(value, bool | np.bool_) else MISS


def text(value: Any) -> Any:
    """A str, and nothing that would have to become one."""
    return value if isinstance(value, str) else MISS


def path(value: Any) -> Any:
    """A Path, or what says that it is one."""
    if not isinstance(value, PathLike):
        return MISS
    written = fspath(value)
    return Path(written) if isinstance(written, str) else MISS


def member(kind: type[Enum], value: Any) -> Any:
    """The member of an enum, by its value, too."""
    named = isinstance(value, str)
    return next((one for one in kind if value is one or (named and value == one.value)), MISS)


def part(value: Any) -> Any:
    """A slice, its ends and its step whole numbers or left out."""
    if not isinstance(value, slice):
        return MISS
    ends = [None if end is None else whole(end) for end in (value.start, value.stop, value.step)]
    return MISS if MISS in ends or ends[2] == 0 else slice(*ends)


def array(value: Any, n_axes: int | None, dtypes: Any) -> Any:
    """A numpy array, also of a tensor or of a list of numbers; whole numbers become floats."""
    if isinstance(value, Tensor):
        value = (value.float() if value.dtype is torch.bfloat16 else value).detach().cpu()
    try:
        made = np.asarray(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return MISS
    if made.dtype.kind in "iu" and "float64" in dtypes:
        made = made.astype(np.float64)
    return made if _fits(made, n_axes, dtypes) else MISS


def tensor(value: Any, n_axes: int | None, dtypes: Any) -> Any:
    """A tensor, also of a numpy array."""
    try:
        made = torch.from_numpy(value) if isinstance(value, np.ndarray) else value
    except (TypeError, ValueError):
        return MISS
    return made if isinstance(made, Tensor) and _fits(made, n_axes, dtypes) else MISS


def _module_words(value: Any) -> str:
    holders = {"model": "encoder.model", "module": "recording.module"}
    held = [name for name in holders if isinstance(getattr(value, name, None), nn.Module)]
    its = f"; give its {held[0]}, such as {holders[held[0]]}" if held else ""
    return f"a torch.nn.Module{its}"


def _whole_words(value: Any) -> str:
    large = isinstance(value, int) and abs(value) > LARGEST
    return "a whole number below 2^63" if large else "a whole number"


KNOWN: dict[type, Reader] = {
    bool: Reader("True or False", switch),
    int: Reader(_whole_words, whole),
    float: Reader("a number", real),
    str: Reader("a text", text),
    Path: Reader("a path", path),
    slice: Reader("a slice of whole numbers, such as slice(0, 8)", part),
}


def known_kind(kind: type, words: Words, read: Callable[[Any], Any] | None = None) -> None:
    """Say how values of a class are called, and what else is taken for one (None: nothing is)."""
    KNOWN[kind] = Reader(words, lambda value: _of_class(kind, read, value), is_object=True)


def of_class(kind: type) -> Reader:
    """The reader of a class: what was said of it, or its instances alone."""
    if kind in KNOWN:
        return KNOWN[kind]
    if issubclass(kind, Enum):
        names = OneOf(str(one.value) for one in kind)
        return Reader(names.words, lambda value: member(kind, value))
    article = "an" if kind.__name__[0] in "AEIO" else "a"
    words = f"{article} {kind.__name__}"
    return Reader(words, lambda value: _of_class(kind, None, value), is_object=True)


def _of_class(kind: type, read: Callable[[Any], Any] | None, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    found = None if read is None else read(value)
    return MISS if found is None else found


def _of_bools(value: Any) -> bool:
    return str(getattr(value, "dtype", "")).removeprefix("torch.") == "bool"


def _fits(value: Any, n_axes: int | None, dtypes: Any) -> bool:
    dtype = str(value.dtype).removeprefix("torch.")
    return (n_axes is None or value.ndim == n_axes) and (dtypes is None or dtype in dtypes)


known_kind(nn.Module, _module_words)
