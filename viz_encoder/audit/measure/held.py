"""Held: tensors and what they held, which shows what a call has changed in place, and undoes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, eq=False)
class HeldTensors:
    """Tensors by name, each beside a copy of what it held."""

    tensors: dict[str, Tensor]
    before: dict[str, Tensor]

    @classmethod
    def of(cls, tensors: dict[str, Tensor]) -> "HeldTensors":
        """Copy the current values."""
        return cls(tensors, {name: one.detach().clone() for name, one in tensors.items()})

    def changed(self) -> list[str]:
        """The names of those that hold something else now."""
        return [name for name, one in self.tensors.items() if not _same(one, self.before[name])]

    def put_back(self) -> None:
        """Restore the values in place."""
        with torch.no_grad():
            for name in self.changed():
                self.tensors[name].copy_(self.before[name])

    @contextmanager
    def put_back_after(self) -> Iterator[None]:
        """Restore the values on exit, whatever happens."""
        try:
            yield
        finally:
            self.put_back()


def _same(one: Tensor, before: Tensor) -> bool:
    if one.shape != before.shape:  # resized in place: no mask
        return True
    return torch.equal(one, before) or torch.allclose(one, before, rtol=0, atol=0, equal_nan=True)


def state_of(whole: nn.Module, others: list[Tensor]) -> dict[str, Tensor]:
    """The tensors that a model keeps from call to call, without its weights.

    Args:
        whole: its buffers, and tensors that are plain attributes of its modules.
        others: tensors that its functions lead to.
    """
    found = {_plain(name): one for name, one in (*whole.named_buffers(), *_attributes(whole))}
    known = {id(one) for one in found.values()}
    more = [one for one in others if id(one) not in known and not isinstance(one, nn.Parameter)]
    return found | {f"{number}": one for number, one in enumerate(more)}


def _attributes(whole: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for name, module in whole.named_modules():
        for attribute, value in vars(module).items():
            if isinstance(value, Tensor):
                yield f"{name}.{attribute}", value


def _plain(name: str) -> str:
    """Name within the caller's own module."""
    parts = name.split(".")
    if parts[0] == "parts":
        return ".".join(parts[2:])
    return ".".join(parts[1:]) if parts[0] == "call" else name
