"""Model files, read with suspicion: caps before work, safetensors only, no way out of a folder."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from reprlib import repr as shown  # truncates: untrusted input can be of any length
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from viz_encoder.errors import CheckpointError, UnsafeFile

MAX_JSON_BYTES = 32 * 2**20
MAX_HEADER_BYTES = 32 * 2**20
MAX_TENSORS = 10_000


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """A JSON object from a file of the folder."""
    content = _parsed(folder, name)
    if not isinstance(content, dict):
        raise CheckpointError(f"{name} holds {type(content).__name__}, not an object.")
    return content


def read_json_list(folder: Path, name: str, most: int) -> list[Any]:
    """A JSON list of at most so many entries from a file of the folder."""
    content = _parsed(folder, name)
    if not isinstance(content, list) or len(content) > most:
        raise CheckpointError(f"{name} must hold a list of at most {most:,} entries.")
    return content


def _parsed(folder: Path, name: str) -> Any:
    path = inside(folder, name)
    if path.stat().st_size > MAX_JSON_BYTES:
        raise UnsafeFile(f"{name} is over {MAX_JSON_BYTES // 2**20} MB; no model needs that.")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as fault:
        raise CheckpointError(
            f"{name} is not valid JSON: {fault}. Save the model again."
        ) from fault


def inside(folder: Path, name: str) -> Path:
    """The regular file `name` of the folder; links out of it are refused."""
    path = folder / name
    if not there(path):
        raise CheckpointError(f"{folder.name or folder} has no {name}; {_what_is_there(folder)}")
    root, real = folder.resolve(), path.resolve()
    # The hub's cache stores files as links to ../../blobs, a sibling of the snapshot folder, and
    # its newer versions let those be links to a store that all models share.
    repo = root.parent.parent
    snapshot = root.parent.name == "snapshots" and repo.name.startswith("models--")
    stores = (repo / "blobs", repo.parent / "blobs") if snapshot else (repo / "blobs",)
    if not any(real.is_relative_to(place) for place in (root, *stores)):
        raise UnsafeFile(
            f"{name} is a link that leaves the folder {folder.name}; copy the file there."
        )
    if not real.is_file():
        raise UnsafeFile(f"{name} is not a regular file.")
    return path


def printable(name: str) -> str:
    """A stranger's name, its invisible and direction-turning characters written out."""
    return name if name.isprintable() else ascii(name)


def there(path: Path) -> bool:
    """Whether there is such a file; none that cannot be looked at (links in a ring, no right)."""
    try:
        return path.exists()
    except OSError:
        return False


def read_tensors(folder: Path, name: str, wanted: list[str]) -> Iterator[tuple[str, Tensor]]:
    """The wanted tensors of a safetensors file, one after the other.

    Raises:
        UnsafeFile: a header over the limit, a name given twice, or too many tensors.
        CheckpointError: no safetensors file, or values that are not finite.
    """
    path = inside(folder, name)
    read_header(path)
    with _opened(path) as file:
        for key in wanted:
            tensor = _read(file, key)
            if tensor.is_floating_point() and not bool(torch.isfinite(_widened(key, tensor)).all()):
                raise CheckpointError(f"{name}: {key} holds NaN or infinite values; save it again.")
            yield key, tensor


def _read(file: Any, key: str) -> Tensor:
    try:
        return file.get_tensor(key)
    except AttributeError as fault:  # a dtype that this torch does not have
        raise CheckpointError(
            f"{key} is of a dtype that torch {torch.__version__} lacks; save it as float32, or use "
            "a newer torch."
        ) from fault


def _widened(key: str, tensor: Tensor) -> Tensor:
    try:
        return tensor.float()
    except (NotImplementedError, RuntimeError) as fault:  # four-bit floats, two to a byte
        raise CheckpointError(
            f"{key} is {tensor.dtype}, which cannot be converted to float32 here; save it as "
            "float32."
        ) from fault


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The file in the library's hands; what it finds wrong is said in our words."""
    try:
        with safe_open(str(path), framework="pt") as file:
            yield file
    except (SafetensorError, OSError, ValueError) as fault:
        raise CheckpointError(
            f"{path.name} is not a complete safetensors file: {fault}."
        ) from fault


def read_safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata of a safetensors file, its header checked first.

    Raises:
        UnsafeFile: a header over the limit, a name given twice, or too many tensors.
        CheckpointError: no whole safetensors file.
    """
    read_header(path)
    with _opened(path) as file:
        return {key: file.get_tensor(key) for key in file.keys()}, file.metadata() or {}  # noqa: SIM118


def sha256(path: Path) -> str:
    """The file's digest, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_header(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor; read by ourselves, for the library lets a name given twice pass."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > min(MAX_HEADER_BYTES, path.stat().st_size):
            raise UnsafeFile(
                f"{path.name} announces a header of {size:,} bytes; it is not a safetensors file, "
                "or a damaged one. Only safetensors are read, never pickles."
            )
        header = file.read(size)
    try:
        entries = json.loads(header, object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as fault:
        raise CheckpointError(f"{path.name} has no readable safetensors header.") from fault
    if not isinstance(entries, dict):
        raise CheckpointError(
            f"{path.name} has a header of {type(entries).__name__}, not an object."
        )
    if len(entries) > MAX_TENSORS:
        raise UnsafeFile(
            f"{path.name} lists {len(entries):,} tensors; the limit is {MAX_TENSORS:,}."
        )
    with _opened(path):  # which checks sizes and offsets, and reads no data
        return {k: tuple(e["shape"]) for k, e in entries.items() if k != "__metadata__"}


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise UnsafeFile(f"The safetensors header lists {shown(twin)} twice; save the model again.")
    return content


def _what_is_there(folder: Path) -> str:
    if not folder.is_dir():
        return "there is no such folder."
    names = sorted(entry.name for entry in folder.iterdir())
    if any(name.endswith((".bin", ".pt", ".pth", ".pkl")) for name in names):
        return "pickled weights are never opened; save the model as safetensors."
    shown_names = ", ".join(printable(name)[:40] for name in names[:8])
    return f"it holds {shown_names or 'nothing'}{' …' * (len(names) > 8)}."
