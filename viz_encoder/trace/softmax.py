"""A softmax over the last axis, followed until a product with values makes it attention."""

import weakref
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(eq=False)
class SeenSoftmax:
    """A softmax that ran, whatever became of it."""

    sizes: tuple[int, ...]
    followed: bool = False  # into a product with values
    met_values: bool = False
    in_parts: bool = False  # other columns of it met other values

    @property
    def rows_and_columns(self) -> tuple[int, int]:
        """Sizes of one map, if these are maps."""
        return self.sizes[-2], self.sizes[-1]


class Softmax:
    """The state of softmax weights after masking, slicing, dropout or reshaping."""

    def __init__(self, maps: Tensor, seen: SeenSoftmax) -> None:
        """`maps` is what is kept; `now` is the model's current tensor."""
        self.maps, self.now, self.dropout, self.seen = maps, maps, 0.0, seen
        self.turned = False  # whether `now` is "… key query"
        self.whole: Tensor | None = None  # before the first columns were left out
        self.keys = slice(None)  # the columns that remain
        self.rest: Rest | None = None  # the rest, which may still meet values of their own

    def change(self, to: Tensor) -> None:
        """Update to changed weights or a subset of columns."""
        if to.ndim < self.maps.ndim or self.turned:  # some rows or one column were read
            return
        if self.whole is None and (keys := _columns_left(self.now, to)) is not None:
            self.whole, self.keys, self.rest = self.now, keys, Rest(self.now, self.seen)
        self.maps = self.now = to

    def turn(self, to: Tensor) -> None:
        """Update to weights with queries and keys exchanged; other exchanges are not followed."""
        plain = self.now.mT
        if to.shape == plain.shape and to.stride() == plain.stride():
            self.now, self.turned = to, not self.turned

    @property
    def sink(self) -> Tensor | None:
        """Weight on columns that were left out later, as "… query"."""
        if self.whole is None:
            return None
        left_out = torch.ones(self.whole.shape[-1], dtype=torch.bool, device=self.whole.device)
        left_out[self.keys] = False
        wide = torch.promote_types(self.whole.dtype, torch.float32)
        return self.whole.detach()[..., left_out].sum(dim=-1, dtype=wide)


class Rest:
    """Columns left out of a softmax, while the model still holds them."""

    def __init__(self, whole: Tensor, seen: SeenSoftmax) -> None:
        self._held = [weakref.ref(whole)]  # and other columns taken from it
        self.seen = seen

    @property
    def is_held(self) -> bool:
        """Whether the model can still use it."""
        return any(held() is not None for held in self._held)

    def take(self, args: list[Any], out: Any) -> None:
        """Track other columns taken from it, or reshaped ones."""
        if isinstance(out, Tensor) and self._is_in(args):
            self._held.append(weakref.ref(out))

    def multiply(self, args: list[Any]) -> None:
        """If they meet values, the left-out columns are not a sink."""
        self.seen.in_parts |= self._is_in(args)

    def _is_in(self, args: list[Any]) -> bool:
        ours = [one for held in self._held if (one := held()) is not None]
        return any(arg is one for arg in args for one in ours)


def _columns_left(whole: Tensor, part: Tensor) -> slice | None:
    """The columns of every row that `part` is a view of; None if it is something else."""
    fewer = part.shape[:-1] == whole.shape[:-1] and 0 < part.shape[-1] < whole.shape[-1]
    if not fewer or part.untyped_storage().data_ptr() != whole.untyped_storage().data_ptr():
        return None
    steps = [(a // b, a % b) for a, b in zip(part.stride(), whole.stride(), strict=True)]
    if any(one != (1, 0) for one in steps[:-1]) or steps[-1][1]:
        return None
    start = (part.storage_offset() - whole.storage_offset()) // whole.stride(-1)
    return slice(start, start + steps[-1][0] * part.shape[-1], steps[-1][0])
