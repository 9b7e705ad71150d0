"""How a watch runs before and after a module's call: as hooks, or around its compiled call."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Hook:
    """A hook that is left behind where a module is copied or pickled."""

    def __init__(self, act: Callable[..., None]) -> None:
        self.act = act

    def __call__(self, module: nn.Module, *given: Any) -> None:
        """Call the callback, but not while torch compiles."""
        if not torch.compiler.is_compiling():  # by a module around this one: nothing could be seen
            self.act(module, *given)

    def __reduce__(self) -> tuple[Callable[[], Callable[..., None]], tuple[()]]:
        """Pickle as a no-op."""
        return _no_hook, ()


def _no_hook() -> Callable[..., None]:
    return _ignored


def _ignored(*given: Any) -> None:
    """Replaces the hook in copied or loaded modules."""


def around(
    before: Callable[..., None], module: nn.Module, call: Callable[..., Any]
) -> Callable[..., Any]:
    """The compiled call, with a look before it."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if not torch.compiler.is_compiling():
            before(module, args, kwargs)
        return call(*args, **kwargs)

    return run
