"""Facts about a recorded run besides its attention calls, and the notes made from them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import local
from typing import Any

from torch import Tensor, nn

from viz_encoder.errors import SelectionError
from viz_encoder.shown import counted
from viz_encoder.trace.left_out import SeenIn
from viz_encoder.trace.recorded_call import RecordedCall, is_uneven

_here = local()
WINDOWS = (
    "A sample here is a window of {} × {} patches. Windows are put together into the map of the "
    "whole picture where they divide it without padding, and the maps of a layer need at most "
    "1 GiB: give the model a picture of such a size, or fewer at once."
)


@dataclass(frozen=True, eq=False)
class Said:
    """A sentence about a run in progress, and the heads of each module whose output is zeroed."""

    note: str
    module: nn.Module
    removed: tuple[tuple[int, int], ...] = ()


@contextmanager
def noted(said: Said) -> Iterator[None]:
    """Attach the sentence to every run this thread records in the block; nesting order is free."""
    _here.said = (*said_here(), said)
    try:
        yield
    finally:
        _here.said = tuple(each for each in _here.said if each is not said)


def said_here() -> tuple[Said, ...]:
    """What currently applies to runs on this thread."""
    found: tuple[Said, ...] = getattr(_here, "said", ())
    return found


def require_no_knock(model: nn.Module, what: str) -> None:
    """Raise if an ablation is active, which only covers whole runs of the model, not of its parts.

    Raises:
        SelectionError: heads of this model are being ablated.
    """
    if not (said := said_here()):
        return
    parts = set(model.modules())
    if any(parts.intersection(each.module.modules()) for each in said):
        raise SelectionError(
            f"{what} cannot be used inside vz.ablate of this model, which would change what it "
            "runs by itself; leave the block first."
        )


@dataclass
class RunFacts:
    """Facts about one run of the recorded module."""

    raised: bool = False
    sizes: frozenset[int] = frozenset()  # from the first two axes of the module's arguments
    given: tuple[Tensor, ...] = ()  # ids and pixels that the module was called with
    softmaxes: list[SeenIn] = field(default_factory=list)
    said: dict[str, None] = field(default_factory=dict)

    def listen(self) -> None:
        """Pick up what currently applies on this thread."""
        for each in said_here():
            self.said[each.note] = None

    def ended(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> None:
        """Called when the module ends; `kwargs` is None if it raised."""
        self.raised = kwargs is None
        given = [x for x in (*args, *(kwargs or {}).values()) if isinstance(x, Tensor)]
        self.given = tuple(x for x in given if _names_tokens(x))
        wide = [x for x in given if not x.is_nested and x.ndim >= 2]
        unbatched = any(x.ndim == 2 and x.is_floating_point() for x in wide)
        if wide and not unbatched:
            self.sizes = frozenset(size for x in wide for size in x.shape[:2])

    def notes(self, calls: Sequence[RecordedCall]) -> tuple[str, ...]:
        """One sentence for each fact the maps alone would not show."""
        told = (self._half(calls), _uneven(calls), self._rows(calls))
        return (*self.said, *filter(None, told))

    def _half(self, calls: Sequence[RecordedCall]) -> str:
        return self.raised * (
            "The model raised an exception in this run: only the "
            f"{counted(len(calls), 'layer')} that attended before it are here."
        )

    def _rows(self, calls: Sequence[RecordedCall]) -> str:
        n_samples = calls[0].shape[0]  # one stack has one size
        if not self.sizes or n_samples in self.sizes:
            return ""
        if window := calls[0].window:
            return WINDOWS.format(*window)
        return (
            f"Each attention call ran on {counted(n_samples, 'sequence')}, which is not the batch "
            "that the model was given. So a sample here may be a head or a window, and a layer "
            "may be one sample's: look at recording.calls."
        )


def _names_tokens(x: Tensor) -> bool:
    """Ids "batch token", or pixels "batch channel height width"."""
    if x.is_nested:
        return False
    return x.ndim == 4 if x.is_floating_point() else x.ndim == 2 and x.dtype.itemsize > 1


def _uneven(calls: Sequence[RecordedCall]) -> str:
    if not is_uneven(calls[0]) or calls[0].cross:
        return ""
    n_queries, n_keys = calls[0].shape[2:]
    asked = counted(n_queries, "query", "queries")
    return (
        f"Each attention call had {asked} and {counted(n_keys, 'key')}, which have "
        "names of their own here. What needs a key for each query, such as rollout, is refused."
    )
