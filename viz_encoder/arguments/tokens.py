"""Tokens as people name them: by number or by name, of whatever the tokens are a list."""

from collections.abc import Sequence
from typing import Annotated, Any

from viz_encoder.arguments.public import read_index, said
from viz_encoder.errors import SelectionError

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

    Raises:
        SelectionError: no such token, several of that name, or padding.
    """
    also = ", or a token's name" if len(names) else ""
    if isinstance(token, str):
        number = _named(token, names, what)
    else:
        number = read_index(what, token, len(names), also=also)
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
