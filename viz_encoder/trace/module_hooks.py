"""torch's global module hooks: one pair for all recordings, installed while any is open.

The same functions are always registered under the same key, so that compiled functions recompile
once under record(), not at every block.
"""

import threading
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.compiler import is_dynamo_compiling
from torch.nn.modules import module as torch_module

if TYPE_CHECKING:
    from viz_encoder.trace.intercept import Interceptor

KEY = "viz_encoder"  # cannot collide: torch's keys are numbers
_lock = threading.Lock()
_told: "tuple[Interceptor, ...]" = ()


def hook(one: "Interceptor") -> None:
    """Start reporting to `one` the modules that run, on any thread."""
    global _told
    with _lock:
        _told = (*_told, one)
        torch_module._global_forward_pre_hooks[KEY] = _enter  # type: ignore[index]
        torch_module._global_forward_hooks[KEY] = _leave  # type: ignore[index]
        torch_module._global_forward_hooks_with_kwargs[KEY] = True  # type: ignore[index]
        torch_module._global_forward_hooks_always_called[KEY] = True  # type: ignore[index]


def unhook(one: "Interceptor") -> None:
    """Stop reporting to `one`."""
    global _told
    with _lock:
        _told = tuple(each for each in _told if each is not one)
        if not _told:
            torch_module._global_forward_pre_hooks.pop(KEY)  # type: ignore[call-overload]
            torch_module._global_forward_hooks.pop(KEY)  # type: ignore[call-overload]
            torch_module._global_forward_hooks_with_kwargs.pop(KEY)  # type: ignore[call-overload]
            torch_module._global_forward_hooks_always_called.pop(KEY)  # type: ignore[call-overload]


def mark(module: nn.Module) -> None:
    """Request a module's keywords at its start, which torch passes to no other global hook."""
    with _lock:
        marks: dict[Any, Any] = module._forward_pre_hooks_with_kwargs
        marks[KEY] = marks.get(KEY, 0) + 1


def unmark(module: nn.Module) -> None:
    """Withdraw the request, unless others still have one."""
    with _lock:
        marks: dict[Any, Any] = module._forward_pre_hooks_with_kwargs
        marks[KEY] = marks.get(KEY, 1) - 1
        if not marks[KEY]:
            del marks[KEY]


def _enter(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
    if is_dynamo_compiling():  # our code would be compiled into the model
        return
    for each in _told:
        each.enter(module, args, kwargs)


def _leave(module: nn.Module, args: tuple[Any, ...], *rest: Any) -> None:
    if is_dynamo_compiling():
        return
    *keywords, out = rest  # torch omits the keywords if forward failed
    for each in _told:
        each.leave(module, args, keywords[0] if keywords else None, out)
