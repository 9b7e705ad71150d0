"""Custom masks of each layer: one for all, or others by layer and head."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from jaxtyping import Shaped
from torch import Tensor

from viz_encoder.errors import InputError, SelectionError
from viz_encoder.model import masks

# One mask for all, or by layer (3) and by layer and head (3, 5).
CustomMask = Shaped[Tensor, "*axes"] | Mapping[Any, Tensor]


def of_each_layer(
    given: CustomMask | None, n_layers: int, whole: tuple[int, int, int, int]
) -> list[masks.Mask | None]:
    """The custom mask of each layer, None where it has none.

    Args:
        given: one mask for all layers, or a mask for each named layer (3) or head (3, 5); if a
            head has two, both must allow a pair.
        n_layers: how many layers there are.
        whole: the run's (batch, head, query, key).

    Raises:
        SelectionError: no such layer or head.
        InputError: a mask that is not bool, or does not fit.
    """
    if given is None:
        return [None] * n_layers
    if isinstance(given, Tensor):
        return [masks.require_fit(masks.custom(given), whole)] * n_layers
    found: list[masks.Mask | None] = [None] * n_layers
    for place, mask in given.items():
        layer, head = _place(place, n_layers, whole[1])
        fitting = masks.require_fit(masks.custom(mask), whole)
        if head is not None:
            fitting = _in_one_head(fitting, head, whole[1])
        found[layer] = masks.combine(found[layer], fitting)
    return found


def _place(place: Any, n_layers: int, n_heads: int) -> tuple[int, int | None]:
    layer, head = place if isinstance(place, tuple) and len(place) == 2 else (place, None)
    for what, number, count in (("layer", layer, n_layers), ("head", head, n_heads)):
        if what == "head" and number is None:
            continue
        if not isinstance(number, Integral) or isinstance(number, bool):
            raise SelectionError(
                f"A mask is given for {place!r}; name a layer, such as 3, or a layer and a head, "
                "such as (3, 5)."
            )
        if not 0 <= int(number) < count:
            raise SelectionError(
                f"A mask is given for {what} {number}; this model has {count}, counted from 0."
            )
    return int(layer), None if head is None else int(head)


def _in_one_head(mask: masks.Mask, head: int, n_heads: int) -> masks.Mask:
    """The mask in that head; every other head of the layer may attend to all."""
    if mask.shape[1] != 1:
        raise InputError(
            f"The mask for head {head} has {mask.shape[1]} heads; give a mask for one head: "
            "(query, key) or (batch, query, key)."
        )
    whole = mask.new_ones(mask.shape[0], n_heads, *mask.shape[2:])
    whole[:, head] = mask[:, 0]
    return whole
