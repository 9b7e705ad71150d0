"""Looking a model of the hub up: what it is, and what a download would bring; nothing is kept."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

from huggingface_hub import HfApi, constants, hf_hub_url
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    build_hf_headers,
    get_session,
    hf_raise_for_status,
)

from viz_encoder.checkpoints.family import Json
from viz_encoder.checkpoints.files import MAX_JSON_BYTES
from viz_encoder.checkpoints.hub_faults import plainly_said, require_revision
from viz_encoder.checkpoints.recognize import family_of
from viz_encoder.checkpoints.weights import INDEX, WHOLE
from viz_encoder.errors import CheckpointError, UnsafeFile

SHARDS = "model-*.safetensors"
# Never any code or pickle.
FILES = (
    *("config.json", WHOLE, SHARDS, INDEX, "README.md"),
    *("tokenizer.json", "tokenizer_config.json", "vocab.txt", "preprocessor_config.json"),
    # From sentence-transformers: pooling settings and prompts.
    *("modules.json", "sentence_*_config.json", "config_sentence_transformers.json"),
    *("?_*/config.json", "?_*/model.safetensors"),
)
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")
SECONDS = 10.0  # for the hub to begin an answer


@dataclass(frozen=True)
class HubModel:
    """A model of the hub that was looked up and not downloaded."""

    name: str  # as it was asked for
    id: str  # as the hub has it: google-bert/bert-base-uncased for bert-base-uncased
    commit: str
    family: str
    license: str
    files: tuple[str, ...]  # downloaded files
    n_bytes: int | None  # their total size; None if the Hub does not report it
    n_parameters: int = 0  # 0: not said

    @property
    def address(self) -> str:
        """Its page."""
        return f"https://huggingface.co/{self.id}"


def look_up(name: str, revision: str = "", part: str = "") -> HubModel:
    """Ask the hub for a model's files and its config.json; nothing is downloaded or stored.

    Args:
        name: organization/name, or an old short name.
        revision: branch, tag or commit; the newest of the main branch if not given.
        part: "text" or "vision", for a model that has both.

    Raises:
        HubUnreachable: no network, no answer in time, or too many requests.
        UnknownFamily: its model_type is not one that we load.
        UnsafeFile: it has pickled weights only, or asks to run code.
        CheckpointError: no such model or revision, or no access to it.
    """
    require_revision(revision)
    with plainly_said(name, revision), _readable(name):
        info = HfApi().model_info(
            name, revision=revision or None, files_metadata=True, timeout=SECONDS
        )
        sizes = {file.rfilename: file.size for file in info.siblings or ()}
        commit = str(info.sha or revision or "main")
    files = _wanted(name, sizes)
    family, _ = family_of(_config(name, commit, sizes), part)
    known = [size for size in (sizes[file] for file in files) if size is not None]
    return HubModel(
        name=name,
        id=str(info.id),
        commit=commit,
        family=family.model_types[0],
        license=_license(info),
        files=files,
        n_bytes=sum(known) if len(known) == len(files) else None,
        n_parameters=int(getattr(info.safetensors, "total", 0) or 0),
    )


def _wanted(name: str, sizes: Mapping[str, int | None]) -> tuple[str, ...]:
    """Files to download; a model without safetensors is refused before any download."""
    if "config.json" not in sizes:
        raise CheckpointError(f"{name} has no config.json on the hub, so it cannot be loaded.")
    if WHOLE not in sizes and INDEX not in sizes:
        pickled = [file for file in sizes if file.endswith(PICKLES) and "/" not in file]
        if pickled:
            raise UnsafeFile(
                f"{name} has only pickled weights on the hub ({pickled[0][:60]}), which are never "
                "opened, because they can run code. Look for a revision of it with "
                "model.safetensors; or, if you trust it, load it with transformers, save it with "
                "save_pretrained(folder), and open that folder."
            )
        raise CheckpointError(f"{name} has no model.safetensors on the hub; choose another model.")
    chosen = (file for file in sizes if any(fnmatch(file, pattern) for pattern in FILES))
    whole = WHOLE in sizes
    return tuple(f for f in chosen if not (whole and (f == INDEX or fnmatch(f, SHARDS))))


def _config(name: str, commit: str, sizes: Mapping[str, int | None]) -> Json:
    """config.json, a few kilobytes, read and not stored."""
    if (sizes["config.json"] or 0) > MAX_JSON_BYTES:
        raise UnsafeFile(f"config.json of {name} is over {MAX_JSON_BYTES // 2**20} MB.")
    address = hf_hub_url(name, "config.json", revision=commit, endpoint=constants.ENDPOINT)
    with plainly_said(name, commit), _readable(name):
        answer = get_session().get(
            address, headers=build_hf_headers(), timeout=SECONDS, follow_redirects=True
        )
        hf_raise_for_status(answer)
        content = json.loads(answer.content)
        if not isinstance(content, dict):
            raise TypeError("no object")
        return content


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Explains unreadable answers, such as a network's login page in place of the Hub."""
    try:
        yield
    except (TypeError, KeyError, AttributeError, RecursionError, ValueError) as fault:
        if isinstance(fault, ValueError) and type(fault) not in (ValueError, json.JSONDecodeError):
            raise
        raise CheckpointError(
            f"The answer for {name} cannot be read, and may not come from the hub; is there a "
            "proxy or a login page in between?"
        ) from fault


def _license(info: Any) -> str:
    said = getattr(info.card_data, "license", None)
    said = said[0] if isinstance(said, list) and said else said
    tags = [tag.partition(":")[2] for tag in info.tags or () if tag.startswith("license:")]
    stated = said if isinstance(said, str) else (tags or [""])[0]
    return " ".join(stated.split())[:80] or "not stated"
