"""Models: each loaded once for all sessions, by whoever asks first; the others wait for it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as shown  # cut short: it may be a stranger's, of any length

import psutil
import torch

from viz_encoder.checkpoints import BUILTIN, LoadedEncoder, Plan, choose_device, fill, plan
from viz_encoder.config import Embedding
from viz_encoder.errors import SelectionError

KINDS = {Embedding.TOKEN: "text", Embedding.PATCH: "image", Embedding.VECTOR: "vector"}
Tell = Callable[[float], None]


def _silent(share: float) -> None:
    """Tell nobody."""


@dataclass(eq=False)
class Offer:
    """A model that can be chosen: looked at, and loaded when it is first run."""

    plan: Plan | None  # None: brought by the person who started the server, and loaded already
    encoder: LoadedEncoder | None = None
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

    def look(self, name: str, part: str = "", tell: Tell = _silent) -> Plan:
        """What a folder or a hub id holds, and what loading it would take; reads no weights.

        Raises:
            SelectionError: pages may not open that here.
            CheckpointError: it cannot be loaded; it says why.
        """
        name = name.strip() if isinstance(name, str) else ""
        if not name:
            raise SelectionError("Type the path of a model's folder first.")
        is_folder = name.startswith((".", "~")) or Path(name).is_absolute() or Path(name).is_dir()
        if is_folder and self.folders and not Path(name).expanduser().is_dir():
            raise SelectionError(f"There is no folder {shown(name)} on this machine.")
        if is_folder and not self.folders:
            raise SelectionError("This server opens no folders; choose one of the models listed.")
        if not is_folder and not self.hub and name not in BUILTIN:
            raise SelectionError(
                f"{shown(name)} is no folder of this machine, and this server opens no models of "
                "the hub; start it with `viz-encoder serve --hub` to allow that."
            )
        return plan(name, part=part, tell=tell)

    def offer(self, plan: Plan) -> str:
        """Put a model that was looked at on the list; returns the name it has there."""
        with self._lock:
            for name, known in self._offers.items():
                if known.plan is not None and _is_same(known.plan, plan):
                    return name
            name, number = plan.card.name, 2
            while name in self._kinds:
                name, number = f"{plan.card.name} ({number})", number + 1
            self._offers[name] = Offer(plan)
            self._kinds[name] = KINDS[plan.config.embedding]
            return name

    def get(self, name: str, kind: str | None = None, tell: Tell = _silent) -> LoadedEncoder:
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


def _is_same(a: Plan, b: Plan) -> bool:
    return (a.folder.resolve(), a.family) == (b.folder.resolve(), b.family)
