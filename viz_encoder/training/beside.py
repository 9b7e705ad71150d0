"""A watch beside a training loop: hooks, Trainer events, and a run that it does not notice."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from viz_encoder.trace.callers_state import random_states_kept


class TrainerEvents:
    """A TrainerCallback by its methods alone, for transformers is no dependency."""

    def start(self, module: nn.Module) -> None:
        """Begin to watch this module."""
        raise NotImplementedError

    def close(self) -> None:
        """Stop watching."""
        raise NotImplementedError

    def expect(self, step: int) -> None:
        """The next call of the module is the first of this step."""
        raise NotImplementedError

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """The model is known from here on."""
        self.start(given["model"])

    def on_step_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Steps are the optimizer's, of which each may have several batches."""
        self.expect(state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Close the writers."""
        self.close()

    def __getattr__(self, name: str) -> Any:
        """Any other event: nothing to do."""
        if name.startswith("on_"):
            return _nothing
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _nothing(*args: Any, **given: Any) -> None:
    """Do nothing at most events."""


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


@contextmanager
def undisturbed(module: nn.Module) -> Iterator[None]:
    """Without gradients and compiled code; afterwards random states and buffers are as before.

    It has to end before the model's own pass begins, for that one may save buffers for its backward
    pass. What a model keeps in attributes of its own, such as a cache, is not put back.
    """
    held = [(one, one.detach().clone()) for one in module.buffers()]
    devices = {one.device for one in (*module.parameters(), *module.buffers())}
    try:
        with (
            random_states_kept(devices),
            torch.no_grad(),
            _eager(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        with torch.no_grad():
            for one, before in held:
                if not torch.equal(one, before):
                    one.copy_(before)


def _eager() -> AbstractContextManager[object]:
    """Compiled code runs as it was written; torch's compiler is not imported for that."""
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    return torch.compiler.set_stance("force_eager")
