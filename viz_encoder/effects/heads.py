"""What is given to effects: inputs, each run by itself, and a choice of heads."""

from collections.abc import Sequence
from numbers import Integral
from typing import Annotated, Any, Literal

from viz_encoder.arguments import read_index
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import InputError, SelectionError


def one_by_one(given: Any) -> list[Any]:
    """Each input by itself; a list of numbers is one input, a list of anything else is several."""
    if not isinstance(given, list):
        return [given]
    if not given:
        raise InputError("The list is empty; give at least one input.")
    return [given] if isinstance(given[0], Integral) else given


HeadPlace = tuple[int, int]  # layer, head


Heads = Annotated[Literal["all"] | Sequence[HeadPlace], '"all", or pairs such as [(3, 0)]']


def chosen(heads: Heads, config: EncoderConfig) -> tuple[HeadPlace, ...]:
    """The heads, in order, none twice."""
    if heads == "all":
        every = (
            (layer, head) for layer in range(config.n_layers) for head in range(config.n_heads)
        )
        return tuple(every)
    found = tuple(sorted({_head(*each, config) for each in heads}))
    if not found:
        raise SelectionError('No head is given; give "all" or pairs such as [(3, 0)].')
    return found


def _head(layer: int, head: int, config: EncoderConfig) -> HeadPlace:
    return read_index("layer", layer, config.n_layers), read_index("head", head, config.n_heads)
