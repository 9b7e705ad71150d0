"""Products that mix values by attention weights: which axes are queries, keys and heads."""

from collections.abc import Sequence
from string import ascii_letters
from typing import Any, NamedTuple

from torch import Tensor


class Mixing(NamedTuple):
    """A product of weights and values, its axes in order; axes before the last two are heads.

    order: how to permute the axes of the result to "*head query d_value".
    """

    maps: Tensor  # "*head query key"
    values: Tensor  # "*#head key d_value"
    order: tuple[int, ...]


def mixing_of(equation: Any, maps: Tensor, values: Tensor, *, maps_first: bool) -> Mixing | None:
    """The product, if it is one: each query's values summed over the keys, the maps' last axis.

    Args:
        equation: an einsum's, or "" for a matrix product.
        maps: weights; by an einsum, over their last axis.
        values: what they mix.
        maps_first: whether maps is the first factor.
    """
    if equation == "":
        return _plain_product(maps, values, maps_first)
    given = (maps, values) if maps_first else (values, maps)
    if (spelled := axes_of(equation, given)) is None:
        return None
    *factors, out = spelled
    of_maps, of_values = factors if maps_first else factors[::-1]
    rest, key = of_maps[:-1], of_maps[-1]
    own = [x for x in rest if x not in of_values]
    query = own[0] if len(own) == 1 else rest[-1] if own else ""
    heads = [x for x in rest if x != query]  # of several, some may share their values
    sizes = [x for x in of_values if x not in of_maps]
    wanted = {*heads, query, *sizes}
    each_once = all(len(set(axes)) == len(axes) for axes in (of_maps, of_values, out))
    known = query in own and len(sizes) == 1 and key in of_values and {*out} == wanted
    if not (known and each_once):
        return None
    placed = values.permute(*(of_values.index(x) for x in (*heads, key, *sizes) if x in of_values))
    for at, head in enumerate(heads):
        placed = placed if head in of_values else placed.unsqueeze(at)
    order = tuple(out.index(x) for x in (*heads, query, *sizes))
    return Mixing(maps.permute(*(of_maps.index(x) for x in (*heads, query, key))), placed, order)


def met_by_einsum(
    args: Sequence[Any], weights: Tensor, out: Tensor, *, turned: bool
) -> tuple[Tensor | None, Tensor] | None:
    """The values that an einsum mixes, None where they cannot be told, and the mixture.

    None if it does not sum over what the weights' softmax did: one with heads alone makes other
    weights, and one with rows mixes queries. turned: the weights are "… key query" here.
    """
    equation, *factors = args
    if (spelled := axes_of(equation, tuple(factors))) is None:
        return None, out
    first = factors[0] is weights
    ours, theirs = spelled[:2] if first else spelled[1::-1]
    if turned:
        ours, weights = f"{ours[:-2]}{ours[:-3:-1]}", weights.mT
    if ours[-1] not in theirs:
        return None
    mix = mixing_of(f"{ours},{theirs}->{spelled[2]}", weights, factors[first], maps_first=True)
    if mix is None or mix.maps.stride() != weights.stride():  # axes in another order
        return None, out
    return mix.values, out.permute(mix.order)


def _plain_product(maps: Tensor, values: Tensor, maps_first: bool) -> Mixing | None:
    """Values · weightsᵀ is the transposed product."""
    n_axes = max(maps.ndim, values.ndim)
    if min(maps.ndim, values.ndim) < 2:
        return None
    *heads, row, column = range(n_axes)
    if maps_first:
        return Mixing(maps, values, (*heads, row, column))
    return Mixing(maps.mT, values.mT, (*heads, column, row))


def axes_of(equation: Any, given: tuple[Tensor, ...]) -> tuple[str, str, str] | None:
    """Axis letters of both factors and the result; None unless two factors give a named result.

    An ellipsis is spelled out in letters.
    """
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
