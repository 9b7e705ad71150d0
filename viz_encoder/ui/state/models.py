"""Models: each loaded once for all sessions, by whoever asks first; the others wait for it."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as shown  # truncates: untrusted input can be of any length

import psutil
import torch

from viz_encoder.arguments import Progress
from viz_encoder.checkpoints import (
    BUILTIN,
    HubModel,
    LoadedEncoder,
    Plan,
    cached_names,
    choose_device,
    fetch,
    fill,
    is_hub_id,
    look_up,
    patient,
    plan,
    plan_cached,
    require_part,
    silent,
)
from viz_encoder.errors import CheckpointError, SelectionError


@dataclass(eq=False)
class Offer:
    """A model that can be chosen: looked at, and loaded when it is first run."""

    plan: Plan | None  # None: brought by the person who started the server, and loaded already
    encoder: LoadedEncoder | None = None
    stamp: tuple[tuple[str, int, int], ...] = ()  # of its files when looked up
    lock: threading.Lock = field(default_factory=threading.Lock)


class Models:
    """The encoders that this server offers, by name."""

    def __init__(
        self,
        device: str = "auto",
        own: LoadedEncoder | None = None,
        *,
        local: bool = False,
    ) -> None:
        """Offer the built-in models, and one that the person who started the server brought.

        Args:
            device: where models run.
            own: a model that is loaded already.
            local: whether pages may open folders of this machine and models of the hub: only
                where all who reach them are trusted.
        """
        self.device, self.local = device, local
        # A person's own comes first: what is first is chosen where nothing else is.
        self._kinds = {} if own is None else {own.card.name: own.kind}
        # What is still to be installed comes last.
        offered = sorted(BUILTIN.items(), key=lambda item: item[1].missing != "")
        self._kinds |= {name: entry.kind for name, entry in offered if name not in self._kinds}
        self._offers: dict[str, Offer] = {}
        self._lock = threading.Lock()
        if own is not None:
            self._offers[own.card.name] = Offer(None, own)

    def names(self, kind: str | None = None) -> list[str]:
        """The models for texts ("text") or pictures ("image"); all where no kind is given."""
        return [name for name, its in self._kinds.items() if kind in (None, its)]

    def is_loaded(self, name: str) -> bool:
        """Whether asking for it costs nothing."""
        offer = self._offers.get(name)
        return offer is not None and offer.encoder is not None

    def look(self, name: str, part: str = "", tell: Progress = silent) -> Plan | HubModel:
        """Look up a folder or Hub model, without reading weights or downloading.

        A folder of this machine comes first, then the hub's local cache; only what is in neither
        is looked up on the hub.

        Raises:
            SelectionError: pages may not open that here.
            CheckpointError: it cannot be loaded; it says why.
        """
        name = name.strip() if isinstance(name, str) else ""
        if not name:
            raise SelectionError("Type a folder or the name of a model on the hub first.")
        tell(0.0)
        if name in BUILTIN:
            return plan(name)
        self._require_local()  # before any look at this machine's folders
        if _is_folder(name):
            return plan(name, part=part, tell=tell)
        if not is_hub_id(name):
            raise SelectionError(f"There is no folder {shown(name)} on this computer.")
        require_part(part)
        return plan_cached(name, part) or patient(lambda: look_up(name, part=part), tell)

    def download(self, name: str, part: str = "", tell: Progress = silent) -> str:
        """Bring a model of the hub into its local cache, from where `open` takes it.

        Raises:
            SelectionError: pages may not open that here.
            CheckpointError: there is no such model, or it could not be downloaded; it says why.
        """
        found = self.look(name, part, tell)
        if isinstance(found, HubModel):
            fetch(found, tell=tell)
        return name.strip()

    def cached(self) -> list[Plan]:
        """The models in the hub's local cache that can be loaded, without asking a network.

        Raises:
            SelectionError: pages may not open that here.
        """
        self._require_local()
        return list(filter(None, map(_loadable, cached_names())))

    def open(self, name: str, part: str = "", tell: Progress = silent) -> str:
        """Look a model up, list and load it; returns its name. On any fault nothing of it stays.

        Raises:
            SelectionError: pages may not open that here, or it was not downloaded yet.
            CheckpointError: it cannot be loaded; it says why.
        """
        if isinstance(name, str) and name.strip() in BUILTIN:  # without its digests twice
            self.get(name.strip(), tell=tell)
            return name.strip()
        found = self.look(name, part, tell)
        if isinstance(found, HubModel):
            raise SelectionError(f"{found.name} is not downloaded yet; download it first.")
        if self._is_built_in(found):
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

    def _is_built_in(self, found: Plan) -> bool:
        """Whether it is the very folder of the built-in model that is offered under its name."""
        entry = BUILTIN.get(found.card.name)
        if entry is None or entry.missing or found.folder != entry.locate():
            return False
        offered = self.plan(found.card.name)  # a custom model of that name takes its place
        return offered is not None and offered.folder == found.folder

    def _require_local(self) -> None:
        if not self.local:
            raise SelectionError("This server opens no other models; choose one of those listed.")

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

    def get(self, name: str, kind: str | None = None, tell: Progress = silent) -> LoadedEncoder:
        """The model of that name, loaded if it was not yet."""
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
        """Plan of a listed model; None for one passed in loaded."""
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


def _loadable(name: str) -> Plan | None:
    try:
        return plan_cached(name)
    except CheckpointError:
        return None


def _is_folder(name: str) -> bool:
    try:
        return Path(name).expanduser().is_dir()
    except (OSError, ValueError, RuntimeError):  # too long, with a NUL, or of an unknown user
        return False


def _stamp(plan: Plan) -> tuple[tuple[str, int, int], ...]:
    """Names, times and sizes of its files, which tell whether they are still the same."""
    files = sorted(entry for entry in _folder(plan).iterdir() if entry.is_file())
    return tuple((f.name, f.stat().st_mtime_ns, f.stat().st_size) for f in files)


def _is_same(a: Plan, b: Plan) -> bool:
    return (_folder(a).resolve(), a.family) == (_folder(b).resolve(), b.family)


def _folder(plan: Plan) -> Path:
    assert plan.folder is not None
    return plan.folder
