"""Listener: the protocol for receiving what a running model does, call by call."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from torch import nn

from viz_encoder.trace.attention_call import AttentionCall, LastCopy, LaterCall
from viz_encoder.trace.softmax import SeenSoftmax


@runtime_checkable
class Listener(Protocol):
    """Receives the calls of a running model; implemented by recordings."""

    modules: Mapping[str, nn.Module]  # every recorded module, by name
    copies: LastCopy
    eager: bool

    def enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """Called when a module starts."""

    def leave(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None, out: Any
    ) -> None:
        """Called when a module ends or fails (`out` and `kwargs` are then None)."""

    def attend(self, call: AttentionCall | LaterCall, part: str) -> None:
        """Called when the running module, or part of it, has attended."""

    def softened(self, seen: SeenSoftmax) -> None:
        """Called when the running module called a softmax shaped like a map."""

    def fail(self, fault: Exception) -> None:
        """Called when something could not be captured."""

    def elsewhere(self, module: nn.Module) -> None:
        """Called when a module ran on another thread."""
