"""The Hugging Face hub: a model's files, looked up first, then brought into the local cache."""

import queue
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from huggingface_hub import constants, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils.tqdm import tqdm

from viz_encoder.arguments import Progress
from viz_encoder.checkpoints.hub_faults import HubUnreachable, plainly_said, require_revision
from viz_encoder.checkpoints.hub_lookup import HubModel, look_up
from viz_encoder.checkpoints.weights import silent, weight_files
from viz_encoder.errors import CheckpointError

# Organizations that now hold models with short names; other programs cache them under either name.
OF_SHORT_NAMES = ("google-bert", "FacebookAI", "distilbert", "albert", "google-t5", "almanach")
FOLDER, BETWEEN = "models--", "--"


def cached_folder(name: str, revision: str = "") -> Path | None:
    """The folder of a model that is whole in the cache; no network is asked."""
    others = () if "/" in name else tuple(f"{owner}/{name}" for owner in OF_SHORT_NAMES)
    for each in (name, *others):
        try:
            found = try_to_load_from_cache(each, "config.json", revision=revision or None)
        except (HFValidationError, OSError, ValueError):
            continue
        if isinstance(found, str) and _is_whole(Path(found).parent):
            return Path(found).parent
    return None


def cached_names() -> list[str]:
    """The names of all models in the cache, those that cannot be opened too."""
    try:
        folders = sorted(Path(constants.HF_HUB_CACHE).glob(f"{FOLDER}*"))
    except OSError:
        return []
    return [folder.name.removeprefix(FOLDER).replace(BETWEEN, "/", 1) for folder in folders]


def _is_whole(folder: Path) -> bool:
    """Whether every weight file is there: a download may have been stopped."""
    try:
        weight_files(folder)
    except (CheckpointError, OSError):
        return False
    return True


BEAT = 0.1  # seconds between two looks at whether to go on
PATIENCE = 30.0  # seconds for a lookup, whatever the network does
Result = TypeVar("Result")


def download(
    name: str, revision: str = "", tell: Progress = silent, part: str = ""
) -> tuple[Path, str]:
    """The folder in the hub's local cache, and the commit it holds; never any code or pickle.

    Without a network it is what the cache holds already.

    Args:
        name: organization/name, or an old short name.
        revision: branch, tag or commit; the newest of the main branch if not given.
        tell: called now and then while files come; what it raises ends the download. Without it
            the hub's own bars are shown.
        part: "text" or "vision", for a model that has both.

    Raises:
        CheckpointError: no such model or revision, none that we load, no access, no connection.
    """
    require_revision(revision)
    try:
        found = patient(lambda: look_up(name, revision, part), tell)
    except HubUnreachable:
        folder = cached_folder(name, revision)
        if folder is None:
            raise
        return folder, folder.name
    return fetch(found, revision, tell)


def fetch(found: HubModel, revision: str = "", tell: Progress = silent) -> tuple[Path, str]:
    """Bring the files of a model that was looked up into the local cache; see `download`."""
    _require_room(found)
    coming = Coming(found.n_bytes or 0)

    def bring() -> str:
        return snapshot_download(
            found.name,
            revision=revision or None,
            allow_patterns=list(found.files),
            tqdm_class=_told(coming) if tell is not silent else None,
        )

    with plainly_said(found.name, revision):
        try:
            path = Path(bring() if tell is silent else beside(bring, tell, coming.share))
        finally:
            coming.stopped.set()
    return path, path.name


def patient(work: Callable[[], Result], tell: Progress) -> Result:
    """Ask the hub, but no longer than `PATIENCE`, and no longer than `tell` lets it."""
    return beside(work, tell, lambda: 0.0, PATIENCE)


def beside(
    work: Callable[[], Result], tell: Progress, share: Callable[[], float], seconds: float = 1e9
) -> Result:
    """Work in a thread of its own, and tell from this one: what `tell` raises ends the wait."""
    done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put((work(), None))
        except BaseException as fault:
            done.put((None, fault))

    threading.Thread(target=run, daemon=True).start()
    until = time.monotonic() + seconds
    while True:
        try:
            result, fault = done.get(timeout=BEAT)
        except queue.Empty:
            tell(share())
            if time.monotonic() > until:
                raise HubUnreachable(
                    f"The hub did not answer within {seconds:.0f} seconds; try again later."
                ) from None
            continue
        if fault is not None:
            raise fault
        return result


class Coming:
    """Tracks a download through its progress bars; once stopped, the next update aborts it."""

    def __init__(self, n_bytes: int) -> None:
        """n_bytes is the size of all files together; 0 where it is not known."""
        self.n_bytes, self.stopped = n_bytes, threading.Event()
        self.bars: dict[int, float] = {}

    def add(self, bar: int, n: float) -> None:
        """A bar of bytes has moved."""
        if self.stopped.is_set():
            raise CheckpointError("The download was stopped.")
        self.bars[bar] = self.bars.get(bar, 0.0) + n

    def share(self) -> float:
        """0 … 1; two bars of the same bytes (received, written) count once."""
        came = max(self.bars.copy().values(), default=0.0)
        return min(1.0, came / self.n_bytes) if self.n_bytes else 0.0


def _told(coming: Coming) -> Any:
    """A progress bar that draws nothing and counts the bytes."""

    class Told(tqdm):
        def __init__(self, *args: Any, **options: Any) -> None:
            options.pop("name", None)
            self.counts_bytes = options.get("unit") == "B"
            told = {**options, "disable": False, "file": _Nowhere()}
            super().__init__(*args, **told)  # type: ignore[no-untyped-call]

        def update(self, n: float | None = 1) -> bool | None:
            coming.add(id(self) if self.counts_bytes else 0, (n or 0) * self.counts_bytes)
            return super().update(n)

    return Told


class _Nowhere:
    def write(self, _: str) -> int:
        return 0

    def flush(self) -> None:
        """Do nothing: nothing is written."""


def _require_room(found: HubModel) -> None:
    place, needed = Path(constants.HF_HUB_CACHE), found.n_bytes or 0
    there = next((folder for folder in (place, *place.parents) if folder.exists()), None)
    free = shutil.disk_usage(there).free if there is not None else needed
    if needed > free:
        raise CheckpointError(
            f"{found.name} needs {needed / 1e6:,.0f} MB, but only {free / 1e6:,.0f} MB are free "
            "where the hub's cache is. Set HF_HOME to a folder with more room."
        )
