"""SameRuns: a text or example that ran on a model already is shown again, and not run twice."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import Expired
from viz_encoder.ui.state.store import TraceStore

REMEMBERED = 1024  # inputs whose run may still be held
MAX_CHARACTERS = 20_000  # per remembered input


@dataclass(eq=False)
class _Asked:
    """One input of one model; while it runs, others who request it wait here."""

    key: str = ""
    running: threading.Lock = field(default_factory=threading.Lock)


class SameRuns:
    """Maps inputs to held runs: a class of 30 with one text needs one run."""

    def __init__(self) -> None:
        self._asked: OrderedDict[Hashable, _Asked] = OrderedDict()
        self._lock = threading.Lock()

    def key_of(
        self,
        link: dict[str, str],
        encoder: LoadedEncoder,
        store: TraceStore,
        make: Callable[[], str],
    ) -> str:
        """The key of the held run that this link makes; `make` runs it where none is held."""
        if sum(map(len, link.values())) > MAX_CHARACTERS:
            return make()
        asked = self._place(tuple(link.items()))
        with asked.running:
            if not _is_of(store, asked.key, encoder):
                asked.key = make()
            return asked.key

    def _place(self, what: Hashable) -> _Asked:
        with self._lock:
            asked = self._asked.pop(what, None) or _Asked()
            self._asked[what] = asked
            while len(self._asked) > REMEMBERED:
                self._asked.popitem(last=False)
            return asked


def _is_of(store: TraceStore, key: str, encoder: LoadedEncoder) -> bool:
    """Whether it is still held, of this very model: a folder may have been read again since."""
    if not key:
        return False
    try:
        return store.get(key).encoder is encoder
    except Expired:
        return False
