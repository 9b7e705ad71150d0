"""public: a function whose arguments are read as its annotations say, before it sees them."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache, cached_property, wraps
from typing import Annotated, Any, ParamSpec, TypeVar, get_type_hints, overload

import numpy as np

from viz_encoder.arguments.hints import is_listed, reader_of, words_of
from viz_encoder.arguments.kinds import MISS, Reader, whole
from viz_encoder.errors import InputError, SelectionError, VizEncoderError
from viz_encoder.shown import brief, one_line

MAX_DIGITS = 9


def is_digits(text: str) -> bool:
    """Whether these are plain digits; int() would also take "+3", "1_1" and digits of others."""
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def written_number(text: str) -> int | None:
    """The whole number, such as "-3"; None if it is none."""
    return int(text) if is_digits(text.removeprefix("-")) else None


def written_heads(text: str) -> int | tuple[int, ...] | None:
    """One head's number, or those of several ("1,7"), none twice; None if it is neither."""
    parts = text.split(",")
    if not all(map(is_digits, parts)):
        return None
    numbers = tuple(dict.fromkeys(map(int, parts)))
    return numbers[0] if len(numbers) == 1 else numbers


P = ParamSpec("P")
R = TypeVar("R")
Fault = type[VizEncoderError]
PLAIN = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, range, slice)


@overload
def public(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def public(*, fault: Fault) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def public(function: Any = None, *, fault: Fault = SelectionError) -> Any:
    """Read each argument that is given; refuse what is of another kind than its annotation says.

    Numbers of numpy and torch become Python's, several values a tuple. A default is taken as it is.

    Args:
        function: what is decorated.
        fault: what is raised for a number or a name; for an object, InputError where it is not
            said.
    """
    if function is None:
        return lambda given: public(given) if fault is SelectionError else _read(given, fault)
    return _read(function, fault)


def _read(function: Callable[..., Any], fault: Fault) -> Callable[..., Any]:
    signature = _Signature(function, fault)

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        places = dict(zip(signature.order, given, strict=False))
        read = {name: signature.read(name, value, places) for name, value in places.items()}
        named = {signature.now(name): value for name, value in named.items()}
        named = {name: signature.read(name, value, {}) for name, value in named.items()}
        signature.count_from_the_end(read, named)
        return function(*read.values(), *given[len(read) :], **named)

    return call


class _Signature:
    """A function's parameters; its annotations are looked at when it is first called."""

    def __init__(self, function: Callable[..., Any], fault: Fault) -> None:
        self.function, self.fault = function, fault
        ordered = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        every = inspect.signature(function).parameters.values()
        self.order = tuple(each.name for each in every if each.kind in ordered)
        self.names = {each.name for each in every}
        self.of_run = self.names & {"layer", "head", "state", "among"}

    def now(self, name: str) -> str:
        """The name of today: what counts hidden states was once called a layer."""
        once = name == "layer" and name not in self.names and "state" in self.names
        return "state" if once else name

    def count_from_the_end(self, *given: dict[str, Any]) -> None:
        """Give a run's negative layers, heads and states their numbers, as Python counts."""
        run = next((x for one in given for x in one.values() if _is_run(x)), None)
        if run is None or not self.of_run:
            return
        every = {name: value for one in given for name, value in one.items()}
        for one in given:
            for name in one.keys() & (self.of_run - {"head"}):
                one[name] = from_the_end(one[name], run.n_layers + (name != "layer"))
            if "head" in one.keys() & self.of_run:
                one["head"] = from_the_end(one["head"], _n_heads(run, every.get("layer", 0)))

    @cached_property
    def readers(self) -> dict[str, Reader]:
        hints = get_type_hints(self.function, include_extras=True)
        return {name: reader_of(hint) for name, hint in hints.items() if name != "return"}

    def read(self, name: str, value: Any, places: dict[str, Any]) -> Any:
        """The value, if it is one; without an annotation it is taken as it is."""
        reader = self.readers.get(name)
        if reader is None:
            return value
        found = reader.read(value)
        if found is MISS:
            raise _refused(name, value, reader, self.fault, self._swapped(name, value, places))
        return found

    def _swapped(self, name: str, value: Any, places: dict[str, Any]) -> str:
        """The correct call, if two arguments were swapped."""
        for other, its in places.items():
            readers = self.readers.get(name), self.readers.get(other)
            if None in readers or other == name or not any(one.is_object for one in readers if one):
                continue
            if readers[1].read(value) is not MISS and readers[0].read(its) is not MISS:  # type: ignore[union-attr]
                call = f"{self.function.__name__}({', '.join(self.order[: len(places)])})"
                return f" {name} and {other} are swapped; write {call}."
        return ""


def _is_run(x: Any) -> bool:
    return hasattr(type(x), "n_layers") and hasattr(type(x), "n_heads")


def _n_heads(run: Any, layer: Any) -> int:
    layers = getattr(run, "layers", ())
    known = isinstance(layer, int) and 0 <= layer < len(layers)
    return int(layers[layer].n_heads if known else run.n_heads)


def from_the_end(value: Any, count: int) -> Any:
    """A negative number, or those of several, as Python counts; anything else as it is."""
    if isinstance(value, tuple):
        return tuple(from_the_end(each, count) for each in value)
    counts = isinstance(value, int) and not isinstance(value, bool) and -count <= value < 0
    return value + count if counts else value


def read_argument(name: str, value: Any, hint: Any, fault: Fault = SelectionError) -> Any:
    """Read one value by one annotation, such as Annotated[int, AtLeast(1)].

    Raises:
        VizEncoderError: it is something else; of the kind `fault`.
    """
    reader = reader_of(hint)
    found = reader.read(value)
    if found is MISS:
        raise _refused(name, value, reader, fault)
    return found


def read_fields(made: Any, fault: Fault) -> None:
    """Read each field of a frozen dataclass in place, in its __post_init__.

    Raises:
        VizEncoderError: one is of another kind than its annotation says; of the kind `fault`.
    """
    for name, hint in _hints(type(made)).items():  # type: ignore[arg-type]
        object.__setattr__(made, name, read_argument(name, getattr(made, name), hint, fault))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def read_index(
    what: str, value: Any, count: int, *, also: str = "", fault: Fault = SelectionError
) -> int:
    """The number of a layer, head or token, counted from 0.

    Args:
        what: how the argument is called.
        value: what was given.
        count: how many there are.
        also: what else may be given, as the end of the sentence.
        fault: what is raised.

    Raises:
        SelectionError: there is none of that number.
    """
    number = whole(value)
    if number is MISS or not 0 <= number < count:
        raise fault(f"There is no {what} {said(value)}; choose 0 to {count - 1}{also}.")
    return int(number)


def said(value: Any) -> str:
    """A value that was given, in a few words: itself where it is plain, else its type."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, np.generic):
        return said(value.item())
    if isinstance(value, float):
        return repr(float(value))
    is_array = hasattr(value, "shape") and hasattr(value, "dtype")
    plain = value is None or isinstance(value, PLAIN) or is_array
    return one_line(brief(value)) if plain else f"of type {type(value).__name__}"


def _refused(
    name: str, value: Any, reader: Reader, fault: Fault, more: str = ""
) -> VizEncoderError:
    kind = InputError if reader.is_object and fault is SelectionError else fault
    verb, must = "is", "it must be"
    if reader.entry is not None and is_listed(value):  # one of them is wrong
        value = next(entry for entry in value if reader.entry.read(entry) is MISS)
        reader, verb, must = reader.entry, "holds", "each must be"
    words = words_of(reader.words, value)
    must = "choose" if words.startswith("one of") else must
    return kind(f"{name} {verb} {said(value)}; {must} {words}.{more}")


Token = Annotated[int | str, "the number of a token or its name"]
MARKS = ("##", "▁", "Ġ", "Ċ")  # marks of subwords and word starts, which users do not type
FEW = 12  # names that a sentence lists


def read_token(
    token: Token, names: Sequence[str], what: str = "token", *, valid: Any = None
) -> int:
    """The number of the token that is meant, by its number or by its name.

    A name is written as the model writes it, or without its marks and in any case.

    Args:
        token: what was given.
        names: of all tokens.
        what: how the argument is called.
        valid: which tokens are real (one entry each), where padding cannot be meant.
    """
    also = ", or a token's name" if len(names) else ""
    if isinstance(token, str):
        number = _named(token, names, what)
    else:
        number = read_index(what, from_the_end(token, len(names)), len(names), also=also)
    if valid is not None and not bool(valid[number]):
        raise SelectionError(f"{what.capitalize()} {number} is padding; choose a real token.")
    return number


def bare(name: str) -> str:
    """A token's name as people type it."""
    for mark in MARKS:
        name = name.removeprefix(mark)
    return name.casefold()


def _named(name: str, names: Sequence[str], what: str) -> int:
    exact = [at for at, each in enumerate(names) if each == name]
    found = exact or [at for at, each in enumerate(names) if bare(each) == bare(name)]
    if len(found) == 1:
        return found[0]
    if not found:
        first = ", ".join(each[:20] for each in names[:FEW])
        more = " …" if len(names) > FEW else ""
        raise SelectionError(f"There is no {what} {said(name)}; the tokens are {first}{more}.")
    numbers = ", ".join(map(str, found[:10]))
    raise SelectionError(
        f"Tokens {numbers} are all {said(name)}; give the number of the one you mean."
    )
