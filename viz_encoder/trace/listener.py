"""Listener: who is told what a running model does, call by call."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from torch import nn

from viz_encoder.trace.attention_call import AttentionCall, LastCopy, LaterCall
from viz_encoder.trace.softmax import SeenSoftmax


@runtime_checkable
class Listener(Protocol):
    """Who is told: a recording."""

    modules: Mapping[str, nn.Module]  # all that is recorded, by name
    copies: LastCopy
    eager: bool

    def enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """A module starts."""

    def leave(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None, out: Any
    ) -> None:
        """A module has ended, or failed (out and kwargs are then None)."""

    def attend(self, call: AttentionCall | LaterCall, part: str) -> None:
        """The running module, or a part of it, has attended."""

    def softened(self, seen: SeenSoftmax) -> None:
        """The running module has called a softmax whose rows and columns may be a map's."""

    def fail(self, fault: Exception) -> None:
        """Something could not be captured."""

    def elsewhere(self, module: nn.Module) -> None:
        """A module ran on another thread."""
