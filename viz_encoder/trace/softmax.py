"""A softmax over the last axis, on its way to the product that makes it attention."""

import torch
from torch import Tensor


class Softmax:
    """What became of the weights since: masked, cut, dropped, or in another shape."""

    def __init__(self, maps: Tensor) -> None:
        """`maps` is what is kept; `now` is the tensor that the model has in hand."""
        self.maps, self.now, self.dropout = maps, maps, 0.0
        self.whole: Tensor | None = None  # before the first columns were left out
        self.keys = slice(None)  # the columns of it that are left

    def change(self, to: Tensor) -> None:
        """The weights are other numbers now, or some of their columns are left out."""
        if self.whole is None and (keys := _columns_left(self.now, to)) is not None:
            self.whole, self.keys = self.now, keys
        self.maps = self.now = to

    @property
    def sink(self) -> Tensor | None:
        """What it gave to columns that were then left out, as "… query"."""
        if self.whole is None:
            return None
        left_out = torch.ones(self.whole.shape[-1], dtype=torch.bool, device=self.whole.device)
        left_out[self.keys] = False
        wide = torch.promote_types(self.whole.dtype, torch.float32)
        return self.whole.detach()[..., left_out].sum(dim=-1, dtype=wide)


def _columns_left(whole: Tensor, part: Tensor) -> slice | None:
    """Which columns of every row `part` is a view of; None if it is another thing."""
    fewer = part.shape[:-1] == whole.shape[:-1] and 0 < part.shape[-1] < whole.shape[-1]
    if not fewer or part.untyped_storage().data_ptr() != whole.untyped_storage().data_ptr():
        return None
    steps = [(a // b, a % b) for a, b in zip(part.stride(), whole.stride(), strict=True)]
    if any(one != (1, 0) for one in steps[:-1]) or steps[-1][1]:
        return None
    start = (part.storage_offset() - whole.storage_offset()) // whole.stride(-1)
    return slice(start, start + steps[-1][0] * part.shape[-1], steps[-1][0])
