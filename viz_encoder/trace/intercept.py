"""Intercepts the attention calls of a running model, with one interceptor per thread.

A TorchFunctionMode sees scaled_dot_product_attention however it was imported, and the softmax and
matrix product of eager models. Global module hooks tell which module is running. Both are installed
only while a recording is open, and act only on the thread that opened it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock, get_ident, local
from typing import Any, Protocol, runtime_checkable

from torch import nn
from torch._C import _current_graph_task_id
from torch.compiler import is_dynamo_compiling
from torch.nn.modules import module as torch_module

from viz_encoder.trace.attention_call import AttentionCall, LastCopy, LaterCall
from viz_encoder.trace.callers_state import PLAIN, ModePlace, detached_from_caller
from viz_encoder.trace.fused import LAYER, KernelWatch, fused_call, takes_fused_kernel
from viz_encoder.trace.softmax import SeenSoftmax
from viz_encoder.trace.torch_ops import Operations

DECIDERS = (nn.TransformerEncoder, nn.TransformerEncoderLayer)
_here = local()


@runtime_checkable
class Listener(Protocol):
    """What is told of everything that runs on its thread."""

    eager: bool
    copies: LastCopy
    modules: Mapping[str, nn.Module]

    def enter(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """A module starts."""

    def leave(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None, out: Any
    ) -> None:
        """A module ends."""

    def attend(self, call: AttentionCall | LaterCall, part: str) -> None:
        """The running module has attended."""

    def softened(self, seen: SeenSoftmax) -> None:
        """A softmax that may be attention."""

    def fail(self, fault: Exception) -> None:
        """Something could not be captured; the model ran on."""

    def elsewhere(self, module: nn.Module) -> None:
        """A module ran on another, unwatched thread."""


class Interceptor(Operations):
    """Sits between a model and torch on one thread, and runs every call unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners: list[Listener] = []
        self._thread = get_ident()
        self._watch = KernelWatch(self._saw_fused)
        self._place = ModePlace(self)
        self._away = False
        self._was_away: list[bool] = []
        self._marked: dict[int, nn.Module] = {}
        self._plain: set[type[nn.Module]] = set()  # never runs a fused kernel

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run `func`, through a handler if it is part of attention."""
        # While dynamo compiles, it traces this very code; the calls it runs are seen anyway.
        handler = None if is_dynamo_compiling() else self.handler(func)
        # Leave the model's own tensor subclasses alone.
        if handler is None or (types and not all(one in PLAIN for one in types)):
            return func(*args, **kwargs) if kwargs else func(*args)
        return handler(func, args, kwargs or {})

    @property
    def eager(self) -> bool:
        """Whether any listener wants the maps of models that compute their own softmax."""
        return any(listener.eager for listener in self.listeners)

    def tell(self, make: Callable[[], AttentionCall | LaterCall], part: str = "") -> None:
        """Pass make()'s result to the listeners; our own errors never reach the model."""
        if _is_backward():
            return
        try:
            with detached_from_caller():
                call = make()
            for listener in self.listeners:
                listener.attend(call, part)
        except Exception as fault:
            for listener in self.listeners:
                listener.fail(fault)

    def softened(self, seen: SeenSoftmax) -> None:
        """Report a softmax to the listeners, followed or not."""
        if not _is_backward():
            for listener in self.listeners:
                listener.softened(seen)

    def open(self) -> None:
        """Install the mode and the hooks."""
        hook(self)
        self._place.push()

    def close(self) -> None:
        """Remove the mode and the hooks."""
        self._go(False)
        self._place.step_out()
        unhook(self)
        for module in self._marked.values():
            unmark(module)

    def listen(self, listener: Listener) -> None:
        """Add a listener; its nn.MultiheadAttention modules now expose their keyword arguments."""
        self.listeners.append(listener)
        for module in listener.modules.values():
            if _runs_code_of(module, nn.MultiheadAttention) and id(module) not in self._marked:
                self._marked[id(module)] = module
                mark(module)

    def enter(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> None:
        """Called when a module starts; keywords are passed for marked modules only."""
        if get_ident() != self._thread:
            for listener in self.listeners:
                listener.elsewhere(module)
            return
        if not _is_backward():
            for listener in self.listeners:
                try:
                    listener.enter(module, args)
                except Exception as fault:
                    listener.fail(fault)
        self._was_away.append(self._away)
        if type(module) not in self._plain:
            self._go(self._must_be_away(module, args, kwargs))
        elif self._away:
            self._go(False)

    def leave(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None, out: Any
    ) -> None:
        """Called when a module ends or fails (`out` and `kwargs` are then None)."""
        if get_ident() != self._thread:
            return
        self._go(self._was_away.pop() if self._was_away else False)
        if _is_backward():
            return
        for listener in self.listeners:
            try:
                listener.leave(module, args, kwargs, out)
            except Exception as fault:
                listener.fail(fault)

    def _must_be_away(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> bool:
        if not _runs_code_of(module, nn.MultiheadAttention):
            if any(_runs_code_of(module, decider) for decider in DECIDERS):
                return True
            self._plain.add(type(module))
            return False
        if kwargs is None:  # not in a recorded model
            return True
        was_away = self._away
        self._go(True)
        fused = takes_fused_kernel(module, args, kwargs)
        self._go(was_away)
        return fused

    def _go(self, away: bool) -> None:
        if away and not self._away:
            self._place.step_out()
            self._watch.__enter__()  # type: ignore[no-untyped-call]
        elif self._away and not away:
            self._watch.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            self._place.come_back()
        self._away = away

    def _saw_fused(self, func: Any, given: dict[str, Any], out: Any) -> None:
        part = "self_attn" if func is LAYER else ""
        copies = self.listeners[0].copies
        self.tell(lambda: fused_call(func, given, out, self.masks, copies), part)


def _is_backward() -> bool:
    """Whether autograd is running: rerunning checkpointed layers is not a new run."""
    return _current_graph_task_id() != -1


def _runs_code_of(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether it is exactly of that class, with torch's own forward."""
    return isinstance(module, kind) and type(module).forward is kind.forward


def is_listening() -> bool:
    """Whether a recording is open on this thread."""
    interceptor: Interceptor | None = getattr(_here, "interceptor", None)
    return interceptor is not None and bool(interceptor.listeners)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report everything this thread runs in the block to the listener.

    Blocks may end in any order, as in coroutines; the last one removes the hooks.
    """
    interceptor: Interceptor | None = getattr(_here, "interceptor", None)
    if interceptor is None or not interceptor.listeners:
        interceptor = _here.interceptor = Interceptor()
        interceptor.open()
    try:
        interceptor.listen(listener)
        yield
    finally:
        interceptor.listeners.remove(listener)
        if not interceptor.listeners:
            interceptor.close()


# One pair of global hooks for all recordings, always the same functions under the same key, so that
# compiled functions recompile once under record(), not at every block.
KEY = "viz_encoder"  # cannot collide: torch's keys are numbers
HOOKS = (
    *("_global_forward_pre_hooks", "_global_forward_hooks"),
    *("_global_forward_hooks_with_kwargs", "_global_forward_hooks_always_called"),
)
_lock = Lock()
_told: "tuple[Interceptor, ...]" = ()


def hook(one: "Interceptor") -> None:
    """Start reporting to `one` the modules that run, on any thread."""
    global _told
    with _lock:
        _told = (*_told, one)
        for name, value in zip(HOOKS, (_enter, _leave, True, True), strict=True):
            getattr(torch_module, name)[KEY] = value


def unhook(one: "Interceptor") -> None:
    """Stop reporting to `one`."""
    global _told
    with _lock:
        _told = tuple(each for each in _told if each is not one)
        if not _told:
            for name in HOOKS:
                getattr(torch_module, name).pop(KEY)


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
