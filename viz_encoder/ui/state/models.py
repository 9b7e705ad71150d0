"""Models: each loaded once for all sessions, by whoever asks first; the others wait for it."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as shown  # cut short: it may be a stranger's, of any length

import psutil
import torch

from viz_encoder.checkpoints import (
    BUILTIN,
    LoadedEncoder,
    Plan,
    Tell,
    choose_device,
    fill,
    is_hub_id,
    plan,
    silent,
)
from viz_encoder.errors import SelectionError


@dataclass(eq=False)
class Offer:
    """A model that can be chosen: looked at, and loaded when it is first run."""

    plan: Plan | None  # None: brought by the person who started the server, and loaded already
    encoder: LoadedEncoder | None = None
    stamp: tuple[tuple[str, int, int], ...] = ()  # of its files when it was looked at
    lock: threading.Lock = field(default_factory=threading.Lock)


class Models:
    """The encoders that this server offers, by name."""

    def __init__(
        self,
        device: str = "auto",
        own: LoadedEncoder | None = None,
        *,
        folders: bool = False,
        hub: bool = False,
    ) -> None:
        """Offer the built-in models, and one that the person who started the server brought.

        Args:
            device: where models run.
            own: a model that is loaded already.
            folders: whether pages may open folders of this machine.
            hub: whether pages may open models of the Hugging Face hub.
        """
        self.device, self.folders, self.hub = device, folders, hub
        self._kinds = {name: entry.kind for name, entry in BUILTIN.items()}
        self._offers: dict[str, Offer] = {}
        self._lock = threading.Lock()
        if own is not None:
            self._offers[own.card.name] = Offer(None, own)
            self._kinds[own.card.name] = own.kind

    def names(self, kind: str | None = None) -> list[str]:
        """The models for texts ("text") or pictures ("image"); all where no kind is given."""
        return [name for name, its in self._kinds.items() if kind in (None, its)]

    def is_loaded(self, name: str) -> bool:
        """Whether asking for it costs nothing."""
        offer = self._offers.get(name)
        return offer is not None and offer.encoder is not None

    def look(self, name: str, part: str = "", tell: Tell = silent) -> Plan:
        """What a folder or a hub id holds, and what loading it would take; reads no weights.

        Raises:
            SelectionError: pages may not open that here.
            CheckpointError: it cannot be loaded; it says why.
        """
        name = name.strip() if isinstance(name, str) else ""
        if not name:
            raise SelectionError("Type the path of a model's folder first.")
        tell(0.0)
        if name in BUILTIN:
            return plan(name)
        if not self.folders and not self.hub:  # said before any look at this machine's folders
            raise SelectionError("This server opens no other models; choose one of those listed.")
        if self.folders and _is_folder(name):
            return plan(name, part=part, tell=tell)
        if not is_hub_id(name):
            raise SelectionError(f"There is no folder {shown(name)} on this machine.")
        if not self.hub:
            raise SelectionError(
                f"{shown(name)} is no folder of this machine, and this server opens no models of "
                "the hub; start it with `viz-encoder serve --hub` to allow that."
            )
        return plan(name, part=part, tell=tell)

    def open(self, name: str, part: str = "", tell: Tell = silent) -> str:
        """Look a model up, list and load it; returns its name. On any fault nothing of it stays.

        Raises:
            SelectionError: pages may not open that here.
            CheckpointError: it cannot be loaded; it says why.
        """
        if isinstance(name, str) and name.strip() in BUILTIN:  # without its digests twice
            self.get(name.strip(), tell=tell)
            return name.strip()
        found = self.look(name, part, tell)
        if found.card.name in BUILTIN and found.folder == plan(found.card.name).folder:
            self.get(found.card.name, tell=tell)
            return found.card.name
        listed = self._list(found)
        try:
            self.get(listed, tell=tell)
        except BaseException:
            with self._lock:
                if not self.is_loaded(listed):
                    self._offers.pop(listed, None)
                    self._kinds.pop(listed, None)
            raise
        return listed

    def _list(self, found: Plan) -> str:
        """Its name on the list; the same folder keeps its name, and is read again if it changed."""
        with self._lock:
            for name, known in self._offers.items():
                if known.plan is not None and _is_same(known.plan, found):
                    if known.stamp != _stamp(found):
                        self._offers[name] = Offer(found, stamp=_stamp(found))
                        self._kinds[name] = found.kind
                    return name
            name, number = found.card.name, 2
            while name in self._kinds:
                name, number = f"{found.card.name} ({number})", number + 1
            self._offers[name] = Offer(found, stamp=_stamp(found))
            self._kinds[name] = found.kind
            return name

    def get(self, name: str, kind: str | None = None, tell: Tell = silent) -> LoadedEncoder:
        """The model of that name, loaded if it was not yet.

        Raises:
            SelectionError: no such model is offered here, or it reads another kind of input (a
                model of pictures would take a text for the path of a file on the server).
        """
        offer = self._offer(name)
        if kind is not None and self._kinds[name] != kind:
            raise SelectionError(f"{name} reads {self._kinds[name]}s, not {kind}s; choose another.")
        with offer.lock:
            if offer.encoder is None:
                assert offer.plan is not None
                where = choose_device(self.device)
                offer.encoder = fill(offer.plan, tell).to(where, torch.float32)
            return offer.encoder

    def plan(self, name: str) -> Plan | None:
        """What a listed model is; None for one that came loaded."""
        return self._offer(name).plan

    def _offer(self, name: str) -> Offer:
        if not isinstance(name, str) or name not in self._kinds:
            raise SelectionError(
                f"There is no model {shown(name)} here; choose one of {', '.join(self._kinds)}."
            )
        with self._lock:
            if name not in self._offers:
                self._offers[name] = Offer(plan(name))
            return self._offers[name]


def free_bytes() -> int:
    """Memory that is free on this machine."""
    return psutil.virtual_memory().available


def _is_folder(name: str) -> bool:
    try:
        return Path(name).expanduser().is_dir()
    except (OSError, ValueError, RuntimeError):  # too long, with a NUL, or of an unknown user
        return False


def _stamp(plan: Plan) -> tuple[tuple[str, int, int], ...]:
    """Names, times and sizes of its files, which tell whether they are still the same."""
    files = sorted(entry for entry in plan.folder.iterdir() if entry.is_file())
    return tuple((f.name, f.stat().st_mtime_ns, f.stat().st_size) for f in files)


def _is_same(a: Plan, b: Plan) -> bool:
    return (a.folder.resolve(), a.family) == (b.folder.resolve(), b.family)
