"""Kept: the last few results of each run, each computed once however many ask for it."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from viz_encoder.ui.state.expiring_store import StoreEntry

Result = TypeVar("Result")


class Kept(Generic[Result]):
    """Results by what was asked, for as long as their run; of each run the last few.

    One is computed at a time: each may hold much memory, and whoever waits may find what it wants.
    """

    def __init__(self, most: int) -> None:
        self._most = most
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
