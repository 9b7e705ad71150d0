"""KeyedStore: what open pages look at, by unguessable key, within a budget of bytes and an age."""

import math
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from viz_encoder.errors import SelectionError

GRACE_SECONDS = 120.0  # a page that is reloaded finds its results again
MAX_AGE_SECONDS = 3600.0
MAX_BYTES = 4 * 2**30


class Held(Protocol):
    """What a store holds."""

    expires: float
    owner: str | None

    @property
    def nbytes(self) -> int:
        """Its size in memory."""


E = TypeVar("E", bound=Held)


class KeyedStore(Generic[E]):
    """Entries by key. The least recently used go first when the budget of bytes is spent."""

    gone = "This result has expired on the server; compute it again."

    def __init__(
        self,
        max_bytes: int = MAX_BYTES,
        clock: Callable[[], float] = time.monotonic,
        dropped: Callable[[], None] = lambda: None,
    ) -> None:
        """An empty store; `dropped` is called when entries were let go, the clock is for tests."""
        self._entries: OrderedDict[str, E] = OrderedDict()
        self._lock = threading.Lock()
        self._max_bytes = max_bytes
        self._clock = clock
        self._dropped = dropped

    def keep(self, entry: E) -> str:
        """Keep it from now on, and return its key."""
        key, entry.expires = secrets.token_urlsafe(16), self._clock() + MAX_AGE_SECONDS
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
                raise SelectionError(self.gone)
            self._entries.move_to_end(key)
            return self._entries[key]

    def release(self, owner: str) -> None:
        """Let a closed page's entries go soon, but not before a reload could ask for them."""
        with self._lock:
            soon = self._clock() + GRACE_SECONDS
            for entry in self._entries.values():
                if entry.owner == owner:
                    entry.expires = min(entry.expires, soon)

    def claim(self, key: str, owner: str) -> None:
        """A page shows this entry (again): keep it for as long as any other."""
        entry = self.get(key)
        with self._lock:
            if entry.expires < math.inf:
                entry.owner = owner
                entry.expires = self._clock() + MAX_AGE_SECONDS

    def hold(self, key: str) -> None:
        """Keep this entry for as long as the server lives."""
        self.get(key).expires = math.inf

    def _make_room(self, newest: str) -> None:
        """Drop the least recently used until the budget holds, never a pinned or new one."""
        for key in list(self._entries):
            if self._held() <= self._max_bytes:
                return
            if key != newest and self._entries[key].expires < math.inf:
                del self._entries[key]

    def _held(self) -> int:
        return sum(entry.nbytes for entry in self._entries.values())

    def _drop_expired(self) -> None:
        now = self._clock()
        for key in [key for key, entry in self._entries.items() if entry.expires < now]:
            del self._entries[key]
