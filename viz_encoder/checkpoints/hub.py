"""The Hugging Face hub: the files that a model is read from, at one pinned commit."""

import re
from collections.abc import Callable
from pathlib import Path
from reprlib import repr as shown  # cut short: it may be of any length
from typing import Any

from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils.tqdm import tqdm

from viz_encoder.errors import CheckpointError

FILES = (
    *("config.json", "model.safetensors", "model-*.safetensors", "model.safetensors.index.json"),
    *("tokenizer.json", "tokenizer_config.json", "vocab.txt", "preprocessor_config.json"),
    "README.md",
)
HUB_ID = re.compile(r"[A-Za-z0-9][\w.\-]{0,95}/[\w.\-]{1,96}", re.ASCII)
REVISION = re.compile(r"[A-Za-z0-9][\w.\-]*(/[\w.\-]+)*", re.ASCII)
HTTP_FAULT: Any = HfHubHTTPError.__bases__[0]  # of the HTTP library that the hub's client uses


def is_hub_id(name: str) -> bool:
    """Whether it is written as the hub's names are: organization/name."""
    return HUB_ID.fullmatch(name) is not None and ".." not in name


def download(
    name: str, revision: str = "", tell: Callable[[float], None] | None = None
) -> tuple[Path, str]:
    """The folder in the hub's local cache, and the commit it holds; never any code or pickle.

    Args:
        name: organization/name.
        revision: branch, tag or commit; the newest of the main branch if not given.
        tell: called now and then while files come; what it raises ends the download.

    Raises:
        CheckpointError: no such model or revision, no access to it, or no connection.
    """
    if revision and (not REVISION.fullmatch(revision) or ".." in revision or len(revision) > 200):
        raise CheckpointError(f"{shown(revision)} is no branch, tag or commit of the hub.")
    try:
        path = snapshot_download(
            name,
            revision=revision or None,
            allow_patterns=list(FILES),
            tqdm_class=_told(tell) if tell is not None else None,
        )
    except GatedRepoError as fault:
        raise CheckpointError(
            f"{name} is given only to those who have agreed to its terms; agree to them on the "
            "hub, and log in here with `hf auth login`."
        ) from fault
    except RevisionNotFoundError as fault:
        raise CheckpointError(f"{name} has no revision {shown(revision)} on the hub.") from fault
    except RepositoryNotFoundError as fault:
        raise CheckpointError(
            f"The hub has no public model {name}; check its spelling: organization/name."
        ) from fault
    except (HfHubHTTPError, HFValidationError) as fault:
        said = " ".join(str(fault).split())[:200].rstrip(".")
        raise CheckpointError(f"The hub did not give {name}: {said}.") from fault
    except (LocalEntryNotFoundError, EntryNotFoundError, HTTP_FAULT, OSError) as fault:
        raise CheckpointError(
            f"{name} is not in the local cache and the hub cannot be reached from here; connect "
            "to the internet, or give the path of a folder that holds the model."
        ) from fault
    return Path(path), Path(path).name


def _told(tell: Callable[[float], None]) -> Any:
    """A progress bar that draws nothing and tells how much of a file has come."""

    class Told(tqdm):
        def __init__(self, *args: Any, **options: Any) -> None:
            told = {**options, "disable": False, "file": _Nowhere()}
            super().__init__(*args, **told)  # type: ignore[no-untyped-call]

        def update(self, n: float | None = 1) -> bool | None:
            if self.total:
                tell(min(1.0, (self.n + (n or 0)) / self.total))
            return super().update(n)

    return Told


class _Nowhere:
    def write(self, _: str) -> int:
        return 0

    def flush(self) -> None:
        """Nothing was written."""
