"""Which heads are meant: "all", or pairs of a layer and a head."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from viz_encoder.config import EncoderConfig
from viz_encoder.errors import SelectionError

Head = tuple[int, int]  # layer, head


def chosen(heads: Any, config: EncoderConfig) -> tuple[Head, ...]:
    """The heads, in order, none twice.

    Args:
        heads: "all", or pairs (layer, head), both counted from 0.
        config: of the encoder that has them.

    Raises:
        SelectionError: none, or one that is not there.
    """
    if isinstance(heads, str):
        if heads != "all":
            raise SelectionError(f'heads is {heads!r}; give "all" or pairs such as [(3, 0)].')
        every = (
            (layer, head) for layer in range(config.n_layers) for head in range(config.n_heads)
        )
        return tuple(every)
    if not isinstance(heads, Iterable):
        raise SelectionError(f'heads is {heads!r}; give "all" or pairs such as [(3, 0)].')
    found = tuple(sorted({_head(each, config) for each in heads}))
    if not found:
        raise SelectionError('No head is given; give "all" or pairs such as [(3, 0)].')
    return found


def _head(pair: Any, config: EncoderConfig) -> Head:
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise SelectionError(f"{pair!r} is not a head; give a layer and a head, such as (3, 0).")
    for what, number, count in zip(
        ("layer", "head"), pair, (config.n_layers, config.n_heads), strict=True
    ):
        if not isinstance(number, Integral) or isinstance(number, bool):
            raise SelectionError(f"The {what} in {pair!r} is not an integer; write (3, 0).")
        if not 0 <= int(number) < count:
            raise SelectionError(f"There is no {what} {number}; choose 0 to {count - 1}.")
    return int(pair[0]), int(pair[1])
