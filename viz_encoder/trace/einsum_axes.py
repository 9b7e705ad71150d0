"""The axes of an einsum's two factors and of its result, a letter each."""

from string import ascii_letters
from typing import Any

from torch import Tensor


def axes_of(equation: Any, given: tuple[Tensor, ...]) -> tuple[str, str, str] | None:
    """With letters for "..."; None if it is no product of two, or does not say its result."""
    if not isinstance(equation, str):  # axes as lists of numbers
        return None
    factors, _, out = equation.replace(" ", "").partition("->")
    names = factors.split(",")
    if not len(names) == len(given) == 2 or not out:
        return None
    unused = [x for x in ascii_letters if x not in equation]
    sizes = [x.ndim - len(n.replace("...", "")) for n, x in zip(names, given, strict=True)]
    dots = "".join(unused[: max(sizes)])
    one, other = (
        n.replace("...", dots[len(dots) - size :]) for n, size in zip(names, sizes, strict=True)
    )
    return one, other, out.replace("...", dots)
