"""TraceStore: the runs that open pages look at, by unguessable key, within a budget of bytes."""

import math
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from viz_encoder.analyses.survey import LayerSurvey, survey_layers
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Inputs
from viz_encoder.trace import Trace

GRACE_SECONDS = 120.0  # a page that is reloaded finds its run again
MAX_AGE_SECONDS = 3600.0
MAX_BYTES = 4 * 2**30


@dataclass(eq=False)
class Entry:
    """One stored run, with the thumbnails of its layers as they are computed."""

    trace: Trace
    expires: float
    owner: str | None
    encoder: LoadedEncoder | None = None  # that ran, where it is one of ours: its heads can speak
    inputs: Inputs | None = None  # what it ran on, for whatever must run again
    surveyed: list[LayerSurvey] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    _sweep: Iterator[LayerSurvey] | None = None

    def survey(self, layer: int) -> LayerSurvey:
        """Thumbnails and statistics of one layer; each layer is swept once, in order."""
        with self.lock:
            while len(self.surveyed) <= layer:
                if self._sweep is None:
                    self._sweep = islice(survey_layers(self.trace), len(self.surveyed), None)
                try:
                    self.surveyed.append(next(self._sweep))
                except BaseException:
                    self._sweep = None  # a generator that raised would be at its end for ever
                    raise
            return self.surveyed[layer]


class TraceStore:
    """Runs by key. The least recently used go first when the budget of bytes is spent."""

    def __init__(
        self,
        max_bytes: int = MAX_BYTES,
        clock: Callable[[], float] = time.monotonic,
        dropped: Callable[[], None] = lambda: None,
    ) -> None:
        """An empty store; `dropped` is called when runs were let go, the clock is for tests."""
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._lock = threading.Lock()
        self._max_bytes = max_bytes
        self._clock = clock
        self._dropped = dropped

    def put(
        self,
        trace: Trace,
        owner: str | None = None,
        encoder: LoadedEncoder | None = None,
        inputs: Inputs | None = None,
    ) -> str:
        """Keep a run and return its key."""
        key, expires = secrets.token_urlsafe(16), self._clock() + MAX_AGE_SECONDS
        with self._lock:
            self._entries[key] = Entry(trace, expires, owner, encoder, inputs)
            before = len(self._entries)
            self._drop_expired()
            self._make_room(key)
            fewer = len(self._entries) < before
        if fewer:
            self._dropped()
        return key

    def pin(self, trace: Trace) -> str:
        """Keep a run for as long as the server lives: the one it was started on."""
        key = self.put(trace)
        self._entries[key].expires = math.inf
        return key

    def get(self, key: str) -> Entry:
        """The run of that key, used just now.

        Raises:
            SelectionError: it is not held, or not any more.
        """
        with self._lock:
            self._drop_expired()
            if not isinstance(key, str) or key not in self._entries:
                raise SelectionError("This run is no longer held here; press Run to see it again.")
            self._entries.move_to_end(key)
            return self._entries[key]

    def release(self, owner: str) -> None:
        """Let the runs of a closed page go soon, but not before a reload could ask for them."""
        with self._lock:
            soon = self._clock() + GRACE_SECONDS
            for entry in self._entries.values():
                if entry.owner == owner:
                    entry.expires = min(entry.expires, soon)

    def claim(self, key: str, owner: str) -> None:
        """A page shows this run (again): keep it for as long as any other."""
        entry = self.get(key)
        with self._lock:
            if entry.expires < math.inf:
                entry.owner = owner
                entry.expires = self._clock() + MAX_AGE_SECONDS

    def _make_room(self, newest: str) -> None:
        """Drop the least recently used runs until the budget holds, never a pinned or new one."""
        for key in list(self._entries):
            if self._held() <= self._max_bytes:
                return
            if key != newest and self._entries[key].expires < math.inf:
                del self._entries[key]

    def _held(self) -> int:
        return sum(entry.trace.nbytes for entry in self._entries.values())

    def _drop_expired(self) -> None:
        now = self._clock()
        for key in [key for key, entry in self._entries.items() if entry.expires < now]:
            del self._entries[key]
