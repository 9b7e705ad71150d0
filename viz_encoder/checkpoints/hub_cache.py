"""The hub's local cache: which of its models can be opened without a network."""

from pathlib import Path

from huggingface_hub import constants, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError

from viz_encoder.checkpoints.weights import weight_files
from viz_encoder.errors import CheckpointError

# Organizations that now hold models with short names; other programs cache them under either name.
OF_SHORT_NAMES = ("google-bert", "FacebookAI", "distilbert", "albert", "google-t5", "almanach")
FOLDER, BETWEEN = "models--", "--"


def cached_folder(name: str, revision: str = "") -> Path | None:
    """The folder of a model that is whole in the cache; no network is asked.

    Args:
        name: organization/name, or an old short name.
        revision: branch, tag or commit; the main branch if not given.
    """
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
