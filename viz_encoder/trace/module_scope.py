"""Resolves `within`: a module by name, with everything in it, or all that match a pattern."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from viz_encoder.errors import TraceError

NUMBERED = re.compile(r"(?:.*_)?\d+")  # "3", "encoder_layer_3"


def modules_within(within: str, modules: Collection[str]) -> Callable[[str], bool]:
    """Build a predicate on module names.

    Raises:
        TraceError: it is neither a module name nor a regular expression.
    """
    if not within:
        return lambda name: True
    if within in modules:
        return lambda name: f"{name}.".startswith(f"{within}.")
    try:
        found = re.compile(within).search
    except (re.error, TypeError) as fault:
        raise TraceError(
            f"within is {within!r}, which is neither the name of a module nor a regular "
            f"expression ({fault})."
        ) from None
    return lambda name: found(name) is not None


def patterns_for(names: Sequence[str], modules: Collection[str]) -> Iterator[str]:
    """Patterns that may select these names, simplest first: none, a module, a word, a regex."""
    parts = [name.split(".") for name in names]
    columns = [tuple(dict.fromkeys(column)) for column in zip(*parts, strict=False)]
    shared = next((n for n, column in enumerate(columns) if len(column) > 1), len(columns))
    yield ""
    yield from (name for name in map(".".join, _beginnings(parts[0][:shared])) if name in modules)
    yield from (column[0] for column in columns if len(column) == 1 and not _number_of(column[0]))
    for one in (_any_number, _one_of):
        yield from (rf"^{start}" for start in map(r"\.".join, _beginnings([*map(one, columns)])))
    yield f"^{_one_of(tuple(dict.fromkeys(names)))}$"


def _beginnings(parts: list[str]) -> Iterator[list[str]]:
    return (parts[:end] for end in range(1, len(parts) + 1))


def _any_number(column: tuple[str, ...]) -> str:
    escaped = re.escape(column[0])
    return escaped if len(column) == 1 else re.sub(r"\d+$", lambda _: r"\d+", escaped)


def _one_of(column: tuple[str, ...]) -> str:
    each = "|".join(map(re.escape, column))
    return each if len(column) == 1 else f"({each})"


def literal(pattern: str) -> str:
    """The pattern as a Python literal."""
    return f"r'{pattern}'" if "\\" in pattern else repr(pattern)


def stem(name: str) -> str:
    """A name up to its first number, or without its last part if it has none."""
    parts = name.split(".")
    return ".".join(parts[: next((n for n, part in enumerate(parts) if _number_of(part)), -1)])


def block(name: str) -> str:
    """A name up to and including its last number."""
    parts = name.split(".")
    return ".".join(
        parts[: max((n + 1 for n, part in enumerate(parts) if _number_of(part)), default=0)]
    )


def kind(name: str) -> str:
    """A name with its numbers replaced by *."""
    parts = name.split(".")
    return ".".join(re.sub(r"\d+$", "*", part) if _number_of(part) else part for part in parts)


def _number_of(part: str) -> bool:
    return NUMBERED.fullmatch(part) is not None
