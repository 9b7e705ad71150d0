"""Family: what one file must declare so that a kind of checkpoint can be loaded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from viz_encoder.config import EncoderConfig

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Family:
    """A kind of checkpoint, as data.

    The tensor map is a table of two columns: the name on disk and ours, where # is a layer's
    number and * is weight or bias. `a|b|c` on our side splits a fused tensor into equal parts;
    a name that maps to `-` is known and not needed.
    """

    model_types: tuple[str, ...]
    defaults: Json  # config keys that files leave out
    config: Callable[[Json], EncoderConfig]
    tensors: str
    optional_prefixes: tuple[str, ...] = ()  # such as "bert.", put there by heads
    adapt: Callable[[dict[str, Tensor], EncoderConfig], dict[str, Tensor]] | None = None
