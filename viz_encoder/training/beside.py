"""Beside a training: the batch that runs is recorded, and nothing of the loop is disturbed."""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from viz_encoder.audit.measure.slots import of_tokens
from viz_encoder.trace.attention_call import AttentionCall, LaterCall
from viz_encoder.trace.callers_state import detached_from_caller, random_states_kept
from viz_encoder.trace.one_stack import modules_within
from viz_encoder.trace.record import Recording
from viz_encoder.trace.recorded_call import RecordedCall
from viz_encoder.training.leaks import LayerIntent, LayerLeaks, LeakFinder


class BatchRecording(Recording):
    """One call of a model: every sample's leaks, and data for the statistics of some."""

    def __init__(
        self, module: nn.Module, meant: Sequence[LayerIntent], n_kept: int, within: str = ""
    ) -> None:
        """`meant` is empty where nothing is to be judged, one for all layers or one a layer."""
        super().__init__(module, hidden=False)
        self.meant, self.n_kept = tuple(meant), n_kept
        self.kept: list[int] = []
        self._is_within = modules_within(within, self.modules)
        self._names = {id(part): f"{name}." for name, part in self.modules.items() if name}
        self._pending: list[RecordedCall] = []
        self._judged: list[tuple[RecordedCall, LayerLeaks]] = []
        self._finder = LeakFinder()

    @property
    def leaks(self) -> tuple[LayerLeaks, ...]:
        """Leaks of the self-attention layers over the batch's tokens, in order."""
        there = {id(call) for call in self.calls}
        return tuple(leaks for call, leaks in self._judged if id(call) in there)

    @property
    def fault(self) -> Exception | None:
        """An exception while observing; the model ran on."""
        return self._fault

    def attend(self, call: AttentionCall | LaterCall, part: str) -> None:
        """The running module has attended; whether to another sequence shows when it ends."""
        last = self._calls[-1] if self._calls else None
        super().attend(call, part)
        if self._calls and self._calls[-1] is not last:
            self._pending.append(self._calls[-1])

    def leave(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None, out: Any
    ) -> None:
        """A module has ended: its calls are judged, and most of what they ran on is let go."""
        super().leave(module, args, kwargs, out)
        if not self._pending or (id(module) not in self._names and module is not self.module):
            return
        name = self._names.get(id(module), "")
        done = [call for call in self._pending if f"{call.name}.".startswith(name)]
        if module is not self.module:  # a module around tells whether those given heads are cross
            done = [call for call in done if call.beside]
        self._pending = [call for call in self._pending if call not in done]
        with detached_from_caller():
            for call in done:
                self._reduce(call)

    def _reduce(self, call: RecordedCall) -> None:
        ran = call.attention
        if (meant := self._meant_for(call)) is not None:
            found = of_tokens(ran, meant.allowed, meant.queries)
            if found is not None:
                ran, slots = found
                self._judged.append((call, self._finder.find(ran, meant, slots)))
        n_samples = call.shape[0]
        count = min(self.n_kept, n_samples)
        self.kept = torch.linspace(0, n_samples - 1, count).round().int().tolist()
        cut: dict[str, Any] = {
            name: _some(getattr(ran, name), self.kept, n_samples) for name in BATCHED
        }
        call.ran = ran._replace(**cut)

    def _meant_for(self, call: RecordedCall) -> LayerIntent | None:
        inside = self._is_within(call.name)
        if not self.meant or call.cross or call.attention.ragged or not inside:
            return None
        meant = self.meant[min(len(self._judged), len(self.meant) - 1)]
        return meant if call.shape[0] == len(meant.valid) else None


BATCHED = ("q", "k", "v", "mask", "bias", "maps", "signature", "sink")


def _some(x: Tensor | None, kept: list[int], n_samples: int) -> Tensor | None:
    """Some samples, as a copy, so that the others are let go."""
    return x if x is None or x.shape[0] != n_samples or n_samples == len(kept) else x[kept]


def nothing(*args: Any, **given: Any) -> None:
    """What is done at most events of a Trainer, and by the hook of a copied module."""


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
    return nothing


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
