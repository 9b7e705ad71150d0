"""A reader for each annotation: what may be given where a signature says so."""

import inspect
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
from jaxtyping import AbstractArray
from torch import Tensor

from viz_encoder.arguments import kinds
from viz_encoder.arguments.kinds import MISS, Reader, Words
from viz_encoder.shown import counted

NOTHING = Reader("", lambda value: MISS if value is not None else None)
ANYTHING = Reader("anything", lambda value: value)
UNIONS = (Union, types.UnionType)
SEVERAL = (tuple, list, Sequence, Collection, Iterable)


@cache
def reader_of(hint: Any) -> Reader:
    """The reader of an annotation; what no rule here knows is taken as it is."""
    origin = get_origin(hint)
    if hint is None or hint is types.NoneType:
        return NOTHING
    if origin is Annotated and kinds.AS_IT_IS in get_args(hint):
        return ANYTHING
    if origin is Annotated:
        return _narrowed(*get_args(hint))
    if origin in UNIONS:
        return _any_of([reader_of(one) for one in get_args(hint)])
    if origin is Literal:
        known = get_args(hint)
        return Reader(
            kinds.OneOf(known).words if len(known) > 1 else repr(*known),
            lambda value: value if isinstance(value, str) and value in known else MISS,
        )
    if origin in SEVERAL:
        return _several(origin, get_args(hint))
    if origin is Mapping:
        return _mapping(*map(reader_of, get_args(hint)))
    if origin is Callable:
        return _function(get_args(hint)[0])
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return _array(hint)
    return kinds.of_class(hint) if isinstance(hint, type) and hint is not Any else ANYTHING


def words_of(words: Words, value: Any) -> str:
    """Describe what is allowed to the caller who gave this value."""
    return words if isinstance(words, str) else words(value)


def _narrowed(hint: Any, *rules: Any) -> Reader:
    """Annotated[int, AtLeast(1)], or Annotated[int | str, "words for both"]."""
    wide, limits = reader_of(hint), [rule for rule in rules if hasattr(rule, "allows")]
    said = [*(rule for rule in rules if rule not in limits), wide.words][0]

    def words(value: Any) -> str:
        """The type, and the first limit this value violates."""
        found = wide.read(value)
        missed = [one.words for one in limits if found is MISS or not one.allows(found)]
        if missed and isinstance(limits[0], kinds.OneOf):
            return missed[0]
        if isinstance(value, int) and found is MISS and not isinstance(value, bool):
            missed = []  # too large for any: the words say so
        return " ".join([words_of(said, value), *missed[:1]])

    def read(value: Any) -> Any:
        found = wide.read(value)
        checked = MISS if found is None else found  # None is within no limits, and taken as it is
        return found if checked is MISS or all(one.allows(found) for one in limits) else MISS

    return Reader(words, read, wide.is_object)


def _any_of(readers: list[Reader]) -> Reader:

    def read(value: Any) -> Any:
        return next((found for one in readers if (found := one.read(value)) is not MISS), MISS)

    def words(value: Any) -> str:
        every = dict.fromkeys(words_of(one.words, value) for one in readers)
        *first, last = [each for each in every if each]
        return f"{', '.join(first)} or {last}" if first else last

    entry = next((one.entry for one in readers if one.entry is not None), None)
    objects = all(one.is_object for one in readers if one is not NOTHING)
    return Reader(words, read, objects, entry)


def _several(origin: type, entries: tuple[Any, ...]) -> Reader:
    """Several values as a tuple; one alone is taken for a list of it."""
    fixed = origin is tuple and Ellipsis not in entries
    if not entries:
        entries = (Any,)
    if fixed:
        return _fixed([reader_of(entry) for entry in entries])
    each = reader_of(entries[0])

    def read(value: Any) -> Any:
        if is_listed(value, origin):
            found = tuple(each.read(entry) for entry in value)
            if not any(entry is MISS for entry in found):
                return found
        alone = MISS if each is ANYTHING or value is None else each.read(value)
        return MISS if alone is MISS else (alone,)

    def words(value: Any) -> str:
        return "a list" if each is ANYTHING else f"{words_of(each.words, value)}, or a list of them"

    return Reader(words, read, each.is_object, each)


def _fixed(readers: list[Reader]) -> Reader:

    def read(value: Any) -> Any:
        if not is_listed(value, tuple):
            return MISS
        entries = list(value)
        if len(entries) != len(readers):
            return MISS
        found = tuple(one.read(entry) for one, entry in zip(readers, entries, strict=True))
        return MISS if any(entry is MISS for entry in found) else found

    return Reader(
        lambda value: f"({', '.join(words_of(one.words, value) for one in readers)})", read
    )


def is_listed(value: Any, origin: type = Sequence) -> bool:
    """Whether it is a list of values, and no text, table or scalar that could be walked through."""
    if isinstance(value, str | bytes | bytearray | Mapping):
        return False
    if isinstance(value, np.ndarray | Tensor):
        return value.ndim == 1
    unordered = isinstance(value, Set) and origin not in (Collection, Iterable)
    return isinstance(value, Iterable if origin is Iterable else Collection) and not unordered


def _mapping(keys: Reader, values: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return MISS
        found = {keys.read(name): values.read(entry) for name, entry in value.items()}
        return MISS if MISS in found or any(one is MISS for one in found.values()) else found

    def words(value: Any) -> str:
        return f"a dict of {words_of(keys.words, value)}: {words_of(values.words, value)}"

    return Reader(words, read)


def _function(takes: Any) -> Reader:
    """A callable that takes this many arguments, as far as can be known before the call."""
    n = None if takes is Ellipsis else len(takes)

    def read(value: Any) -> Any:
        if not callable(value):
            return MISS
        try:
            signature = inspect.signature(value)
        except (TypeError, ValueError):  # unknown for a builtin
            return value
        try:
            signature.bind(*[None] * (n or 0))
        except TypeError:
            return value if n is None else MISS
        return value

    takes = "" if n is None else f" of {counted(n, 'argument')}"
    return Reader(f"a function{takes}", read)


def _array(hint: Any) -> Reader:
    """An annotation of jaxtyping, by its kind of array, its number of axes and its dtypes.

    jaxtyping's own check would hold the sizes to those of whoever calls.
    """
    n_axes = None if hint.index_variadic is not None else len(hint.dims)
    dtypes = hint.dtypes if isinstance(hint.dtypes, tuple | list) else None
    of_numpy = hint.array_type is np.ndarray
    read = kinds.array if of_numpy else kinds.tensor
    what = hint.__name__.partition("[")[0].lower()
    shape = f" ({', '.join(hint.dim_str.split())})" if hint.dim_str else ""
    words = f"{'a numpy array' if of_numpy else 'a tensor'} of {what}{shape}"
    return Reader(words, lambda value: read(value, n_axes, dtypes), is_object=True)
