"""KeyedStore: what open pages look at, by unguessable key; Kept: what is computed once of a run."""

import math
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from viz_encoder.errors import SelectionError

# The client's address, set for each request; "" outside of requests, as at startup.
CLIENT: ContextVar[str] = ContextVar("client", default="")


GRACE_SECONDS = 120.0  # a page that is reloaded finds its results again
MAX_AGE_SECONDS = 3600.0  # since it was used last
MAX_BYTES = 4 * 2**30


@dataclass(eq=False, kw_only=True)
class StoreEntry(ABC):
    """Entry of a store."""

    owners: set[str] = field(default_factory=set)  # the open pages that show it
    client: str = ""  # who had it made
    expires: float = 0.0
    kept_for: float = MAX_AGE_SECONDS  # after it was used
    store: "KeyedStore[Any]" = field(init=False)  # that holds it

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Its size in memory."""


E = TypeVar("E", bound=StoreEntry)


class KeyedStore(Generic[E]):
    """Entries by key.

    When the budget of bytes is spent, the client who holds most loses what it used least recently:
    a client never loses a run to one who holds more.
    """

    gone = "This result has expired on the server; compute it again."
    fault: type[SelectionError] = SelectionError

    def __init__(
        self,
        max_bytes: int = MAX_BYTES,
        clock: Callable[[], float] = time.monotonic,
        dropped: Callable[[], None] = lambda: None,
    ) -> None:
        """An empty store; `dropped` is called when entries were let go, the clock is for tests."""
        self._entries: OrderedDict[str, E] = OrderedDict()
        self._sizes: dict[str, int] = {}  # bytes of each entry when room was last made
        self._lock = threading.Lock()
        self._max_bytes = max_bytes
        self._clock = clock
        self._dropped = dropped

    def keep(self, entry: E) -> str:
        """Keep it from now on, and return its key."""
        key, entry.expires = secrets.token_urlsafe(16), self._clock() + entry.kept_for
        entry.client, entry.store = CLIENT.get(), self
        with self._lock:
            self._entries[key] = entry
            before = len(self._entries)
            self._drop_expired()
            self._make_room(key)
            fewer = len(self._entries) < before
        if fewer:
            self._dropped()
        return key

    def get(self, key: str) -> E:
        """The entry of that key, used just now.

        Raises:
            SelectionError: it is not held, or not any more.
        """
        with self._lock:
            self._drop_expired()
            if not isinstance(key, str) or key not in self._entries:
                raise self.fault(self.gone)
            entry = self._entries[key]
            self._entries.move_to_end(key)
            entry.expires = max(entry.expires, self._clock() + entry.kept_for)
            before = len(self._entries)
            if entry.nbytes != self._sizes.get(key):  # grew with results computed from it
                self._make_room(key)
            fewer = len(self._entries) < before
        if fewer:
            self._dropped()
        return entry

    def find(self, wanted: Callable[[E], bool]) -> str | None:
        """The key of an entry that is wanted, if one is held."""
        with self._lock:
            self._drop_expired()
            return next((key for key, entry in self._entries.items() if wanted(entry)), None)

    def release(self, owner: str) -> None:
        """Let a closed page's entries go soon, but not before a reload could ask for them."""
        with self._lock:
            soon = self._clock() + GRACE_SECONDS
            for entry in self._entries.values():
                if owner in entry.owners:
                    entry.owners.remove(owner)
                    if not entry.owners and entry.expires < math.inf:
                        entry.expires = min(entry.expires, soon)
                        entry.kept_for = GRACE_SECONDS  # an answer on its way counts as use, too

    def claim(self, key: str, owner: str) -> None:
        """A page shows this entry (again)."""
        entry = self.get(key)
        with self._lock:
            entry.owners.add(owner)
            entry.kept_for = MAX_AGE_SECONDS
            entry.expires = max(entry.expires, self._clock() + MAX_AGE_SECONDS)

    def hold(self, key: str) -> None:
        """Keep this entry for as long as the server lives."""
        self.get(key).expires = math.inf

    def _make_room(self, newest: str) -> None:
        """Drop entries until the budget holds, never a pinned one or the newest."""
        self._sizes = sizes = {key: entry.nbytes for key, entry in self._entries.items()}
        held: Counter[str] = Counter()
        for key, size in sizes.items():
            held[self._entries[key].client] += size
        loose = [k for k in sizes if k != newest and self._entries[k].expires < math.inf]
        while loose and held.total() > self._max_bytes:
            heaviest = max((self._entries[key].client for key in loose), key=held.__getitem__)
            key = next(key for key in loose if self._entries[key].client == heaviest)
            loose.remove(key)
            held[heaviest] -= sizes[key]
            del self._entries[key]

    def _drop_expired(self) -> None:
        now = self._clock()
        for key in [key for key, entry in self._entries.items() if entry.expires < now]:
            del self._entries[key]


Result = TypeVar("Result")


class Kept(Generic[Result]):
    """Results by what was asked, for as long as their run; of each run the last few.

    Those that are as large as a run are kept of so many `runs` alone.

    One is computed at a time: each may hold much memory, and whoever waits may find what it wants.
    """

    def __init__(self, most: int, runs: int | None = None) -> None:
        self._most, self._runs = most, runs
        self._known: WeakKeyDictionary[StoreEntry, OrderedDict[Hashable, Result]]
        self._known = WeakKeyDictionary()
        self._lock, self._one_at_a_time = threading.Lock(), threading.Lock()

    def of(self, entry: StoreEntry, asked: Hashable, compute: Callable[[], Result]) -> Result:
        """What is known, or else what `compute` gives."""
        try:
            return self._find(entry, asked)
        except KeyError:
            pass
        with self._one_at_a_time:
            try:
                return self._find(entry, asked)  # whoever came first may have asked for it
            except KeyError:
                found = compute()
                self._keep(entry, asked, found)
                return found

    def _find(self, entry: StoreEntry, asked: Hashable) -> Result:
        with self._lock:
            known = self._known.get(entry, OrderedDict())
            known.move_to_end(asked)
            return known[asked]

    def _keep(self, entry: StoreEntry, asked: Hashable, found: Result) -> None:
        with self._lock:
            known = self._known.setdefault(entry, OrderedDict())
            known[asked] = found
            while len(known) > self._most:
                known.popitem(last=False)
            if self._runs and len(self._known) > self._runs:
                del self._known[next(iter(self._known))]
