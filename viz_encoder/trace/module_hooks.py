"""torch's global module hooks: one pair for all recordings, there while any is open.

The same functions stand under the same key each time, so that a compiled function which calls
modules is compiled once more under record(), and not at each block anew.
"""

import threading
from typing import Any, Protocol, runtime_checkable

from torch import nn
from torch.compiler import is_dynamo_compiling
from torch.nn.modules import module as torch_module

KEY = "viz_encoder"  # which no hook of torch has: theirs are numbers
_lock = threading.Lock()
_told: "tuple[Hooked, ...]" = ()


@runtime_checkable
class Hooked(Protocol):
    """Who is told of the modules that run, on any thread."""

    def enter(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> None:
        """A module starts; keywords are told of marked ones only."""

    def leave(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None, out: Any
    ) -> None:
        """A module has ended, or failed (out and kwargs are then None)."""


def hook(one: Hooked) -> None:
    """Tell it from now on."""
    global _told
    with _lock:
        _told = (*_told, one)
        torch_module._global_forward_pre_hooks[KEY] = _enter  # type: ignore[index]
        torch_module._global_forward_hooks[KEY] = _leave  # type: ignore[index]
        torch_module._global_forward_hooks_with_kwargs[KEY] = True  # type: ignore[index]
        torch_module._global_forward_hooks_always_called[KEY] = True  # type: ignore[index]


def unhook(one: Hooked) -> None:
    """Tell it no more."""
    global _told
    with _lock:
        _told = tuple(each for each in _told if each is not one)
        if not _told:
            torch_module._global_forward_pre_hooks.pop(KEY)  # type: ignore[call-overload]
            torch_module._global_forward_hooks.pop(KEY)  # type: ignore[call-overload]
            torch_module._global_forward_hooks_with_kwargs.pop(KEY)  # type: ignore[call-overload]
            torch_module._global_forward_hooks_always_called.pop(KEY)  # type: ignore[call-overload]


def mark(module: nn.Module) -> None:
    """Ask for its keywords when it starts, which torch shows to no other global hook."""
    with _lock:
        marks: dict[Any, Any] = module._forward_pre_hooks_with_kwargs
        marks[KEY] = marks.get(KEY, 0) + 1


def unmark(module: nn.Module) -> None:
    """Ask for them no more, if nobody else does."""
    with _lock:
        marks: dict[Any, Any] = module._forward_pre_hooks_with_kwargs
        marks[KEY] = marks.get(KEY, 1) - 1
        if not marks[KEY]:
            del marks[KEY]


def _enter(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
    if is_dynamo_compiling():  # our code would become part of what is compiled
        return
    for each in _told:
        each.enter(module, args, kwargs)


def _leave(module: nn.Module, args: tuple[Any, ...], *rest: Any) -> None:
    if is_dynamo_compiling():
        return
    *keywords, out = rest  # torch leaves the keywords out where forward has failed
    for each in _told:
        each.leave(module, args, keywords[0] if keywords else None, out)
