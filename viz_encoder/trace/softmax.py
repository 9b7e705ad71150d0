"""A softmax over the last axis, followed until a product with values makes it attention."""

import weakref
from dataclasses import dataclass, field, replace
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
    put_together: bool = False  # into the whole maps of a module that attends in parts

    @property
    def rows_and_columns(self) -> tuple[int, int]:
        """Sizes of one map, if these are maps."""
        return self.sizes[-2], self.sizes[-1]


@dataclass(eq=False)
class Weights:
    """Weights in one state, after masking, slicing, dropout or reshaping."""

    maps: Tensor  # what is kept
    now: Tensor  # the model's tensor
    dropout: float = 0.0
    turned: bool = False  # whether `now` is "… key query"
    whole: Tensor | None = None  # before the first columns were left out
    keys: slice = field(default_factory=lambda: slice(None))  # the columns that remain

    @property
    def sink(self) -> Tensor | None:
        """Weight on columns that were left out later, as "… query"."""
        if self.whole is None:
            return None
        left_out = torch.ones(self.whole.shape[-1], dtype=torch.bool, device=self.whole.device)
        left_out[self.keys] = False
        wide = torch.promote_types(self.whole.dtype, torch.float32)
        return self.whole.detach()[..., left_out].sum(dim=-1, dtype=wide)


class Softmax:
    """The states of one softmax's weights that the model still holds.

    The values may meet any of them: others may be made for something else, such as an entropy.
    """

    def __init__(self, maps: Tensor, seen: SeenSoftmax) -> None:
        self.seen = seen
        self.last = Weights(maps, maps)
        self.rest: Rest | None = None  # left-out columns, which may still meet values of their own
        self._earlier: list[_Earlier] = []

    def among(self, args: list[Any]) -> Weights | None:
        """The state that is among a function's arguments, the last first."""
        if any(arg is self.last.now for arg in args):
            return self.last
        for one in reversed(self._earlier):
            now = one.now()
            if now is not None and any(arg is now for arg in args):
                return one.weights(now)
        return None

    def follow(self, to: Weights) -> None:
        """Take a further state; what the model no longer holds of the others is let go."""
        if to.now is not self.last.now:
            self._earlier = [one for one in self._earlier if one.now() is not None]
            self._earlier.append(_Earlier(self.last))
        self.last = to

    def change(self, weights: Weights, to: Tensor) -> None:
        """Follow changed weights or a subset of columns."""
        if to.ndim < weights.maps.ndim or weights.turned:  # some rows or one column were read
            return
        whole, keys = weights.whole, weights.keys
        if whole is None and (left := _columns_left(weights.now, to)) is not None:
            if self.rest is not None:  # which holds these columns
                return
            whole, keys, self.rest = weights.now, left, Rest(weights.now, self.seen)
        self.follow(replace(weights, maps=to, now=to, whole=whole, keys=keys))

    def turn(self, weights: Weights, to: Tensor) -> None:
        """Follow weights with queries and keys exchanged; other exchanges are not followed."""
        plain = weights.now.mT
        if to.shape == plain.shape and to.stride() == plain.stride():
            self.follow(replace(weights, now=to, turned=not weights.turned))


class _Earlier:
    """An earlier state, without keeping the model's tensor alive."""

    def __init__(self, weights: Weights) -> None:
        self.now = weakref.ref(weights.now)
        self._maps = None if weights.maps is weights.now else weights.maps
        self._more = (weights.dropout, weights.turned, weights.whole, weights.keys)

    def weights(self, now: Tensor) -> Weights:
        """That state, while its tensor `now` lives."""
        return Weights(now if self._maps is None else self._maps, now, *self._more)


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
