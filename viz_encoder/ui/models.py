"""Models: each loaded once for all sessions, by whoever asks first; the others wait for it."""

import threading

from viz_encoder.checkpoints import BUILTIN, LoadedEncoder, load
from viz_encoder.errors import SelectionError


class Models:
    """The encoders that this server offers, by name."""

    def __init__(self, device: str = "auto", own: LoadedEncoder | None = None) -> None:
        """Offer the built-in models, and one that the person who started the server brought."""
        self.device = device
        self._loaded: dict[str, LoadedEncoder] = {}
        self._locks = {name: threading.Lock() for name in BUILTIN}
        self._kinds = {name: entry.kind for name, entry in BUILTIN.items()}
        if own is not None:
            self._loaded[own.card.name] = own
            self._locks[own.card.name] = threading.Lock()
            self._kinds[own.card.name] = own.kind

    def names(self, kind: str | None = None) -> list[str]:
        """The models for texts ("text") or pictures ("image"); all where no kind is given."""
        return [name for name, its in self._kinds.items() if kind in (None, its)]

    def is_loaded(self, name: str) -> bool:
        """Whether asking for it costs nothing."""
        return name in self._loaded

    def get(self, name: str, kind: str) -> LoadedEncoder:
        """The model of that name, loaded if it was not yet.

        Raises:
            SelectionError: no such model is offered here, or it reads another kind of input; a
                model of pictures would take a text for the path of a file on the server.
        """
        if isinstance(name, str) and self._kinds.get(name, kind) != kind:
            raise SelectionError(f"{name} reads {self._kinds[name]}s, not {kind}s; choose another.")
        if not isinstance(name, str) or name not in self._locks:
            raise SelectionError(
                f"There is no model {name!r} here; choose one of {', '.join(self._kinds)}."
            )
        with self._locks[name]:
            if name not in self._loaded:
                self._loaded[name] = load(name, device=self.device)
            return self._loaded[name]
