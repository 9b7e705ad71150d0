"""Saved files: one versioned safetensors file each, no pickle; what is not known is refused."""

import hashlib
import json
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from reprlib import (
    repr as shown,  # truncates: untrusted input can be of any length
)
from typing import Any, NamedTuple, TypeVar

import torch
from safetensors.torch import save_file
from torch import Tensor

from viz_encoder.arguments import AnyPath
from viz_encoder.checkpoints.files import read_safetensors
from viz_encoder.errors import CheckpointError, TraceError
from viz_encoder.whole_file import is_file, shortened, write_beside

MOST = 2**31  # no count in a file is larger; JSON allows larger only in Python
Types = type | tuple[type, ...]


class Foreign(ValueError):
    """The description has other parts than this version writes."""


class Damaged(ValueError):
    """A fault in a saved file, worded as the end of a sentence."""


def pop_tensor(named: dict[str, Tensor], name: str) -> Tensor:
    """Pop a required tensor from those not yet used.

    Raises:
        Damaged: it is not there.
    """
    if name not in named:
        raise Damaged(f"it has no tensor {name}")
    return named.pop(name)


def exactly(about: Any, what: str, names: str, usual: Set[str] = frozenset()) -> None:
    """Require these parts and no others; the usual ones have defaults and may be missing.

    Raises:
        Damaged: it has no parts.
        Foreign: it has others.
    """
    if not isinstance(about, dict):
        raise Damaged(f"{what} is a {type(about).__name__}")
    missing, unknown = set(names.split()) - usual - set(about), set(about) - set(names.split())
    if missing:
        raise Foreign(f"{what} lacks {', '.join(sorted(missing))}")
    if unknown:
        raise Foreign(f"{what} has the unknown part {shown(min(unknown))}")


def one_of_kind(value: Any, kind: Types, what: str) -> Any:
    """Return the value if it is exactly of that type: in JSON, true is not a number.

    Raises:
        Damaged: it is not, or a number too large.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if type(value) not in kinds:
        raise Damaged(f"{what} holds a {type(value).__name__}")
    if type(value) is int and abs(value) >= MOST:
        raise Damaged(f"{what} holds a number of {MOST:,} or more")
    return value


def all_of_kind(values: Any, kind: Types, what: str) -> tuple[Any, ...]:
    """Return the entries of a list if each is exactly of that type.

    Raises:
        Damaged: one is not.
    """
    return tuple(one_of_kind(value, kind, what) for value in one_of_kind(values, list, what))


Made = TypeVar("Made")
NamedTensors = dict[str, Tensor]
VERSION = 1
SUFFIX = ".safetensors"
# Errors that a foreign description can cause; their messages would not help a reader.
FAULTS = (LookupError, TypeError, ValueError, RecursionError, AttributeError, OverflowError)


class FileKind(NamedTuple):
    """What a file holds: its name in the file, and in sentences."""

    format: str
    what: str  # "a run"
    saved: str  # "saved trace"
    call: str  # "trace.save(path)"

    @property
    def noun(self) -> str:
        """Its name without an article."""
        return self.what.partition(" ")[2]


def require_name(path: AnyPath, kind: FileKind) -> None:
    """Raise if it is not a path or has another format's extension.

    Raises:
        TraceError: either of these.
    """
    if not str(path):
        raise TraceError(f"path is empty; give a file's name, such as {kind.noun}{SUFFIX}.")
    suffix = Path(path).suffix
    if suffix and suffix.lower() != SUFFIX:
        raise TraceError(
            f"{shortened(path)} ends in {shortened(suffix)}, but {kind.what} is written in the "
            f"safetensors format; name it {shortened(Path(path).stem)}{SUFFIX}."
        )


def write(
    kind: FileKind, named: Mapping[str, Tensor], facts: Mapping[str, Any], path: AnyPath
) -> None:
    """Write tensors and facts; an existing file is replaced only once the new one is complete.

    Raises:
        TraceError: no such path, or it cannot be written.
    """
    require_name(path, kind)
    kept, same = _each_once(named)
    content = json.dumps({**facts, "same": same})
    about = {
        "format": kind.format,
        "version": str(VERSION),
        "content": content,
        "sha256": _digest(kept, content),
    }
    write_beside(lambda beside: save_file(kept, beside, about), path)


def read(kind: FileKind, path: AnyPath, unpack: Callable[[NamedTensors, Any], Made]) -> Made:
    """What `unpack` makes of a file's tensors and facts; it raises Damaged or Foreign.

    Raises:
        TraceError: no such file, of another kind or version, or damaged.
    """
    if not str(path):
        raise TraceError(f"path is empty; give the path of a {kind.saved}.")
    path = Path(path)
    if not is_file(path):
        raise TraceError(f"There is no file {shortened(path)!r}; give the path of a {kind.saved}.")
    try:
        tensors, metadata = read_safetensors(path)
    except CheckpointError as fault:
        raise TraceError(
            f"{path.name} is not a {kind.saved}, or is incomplete; save one with {kind.call}."
        ) from fault
    _require_kind(kind, path, metadata)
    again = f"Save the {kind.noun} again with this version."
    try:
        return unpack(*_whole(tensors, metadata))
    except Foreign as fault:
        raise TraceError(
            f"{path.name} was written by another version of viz_encoder: {fault}. {again}"
        ) from None
    except Damaged as fault:
        why = str(fault)
    except FAULTS:
        why = "its description cannot be read"
    raise TraceError(f"{path.name} is damaged or was changed: {why}; save it again.")


def _require_kind(kind: FileKind, path: Path, metadata: Mapping[str, str]) -> None:
    if metadata.get("format") != kind.format:
        raise TraceError(f"{path.name} holds no {kind.saved}; save one with {kind.call}.")
    if metadata.get("version") != str(VERSION):
        raise TraceError(
            f"{path.name} was written by another version of viz_encoder, in format "
            f"{shown(metadata.get('version'))}; this one reads format {VERSION}. Save the "
            f"{kind.noun} again with this version."
        )


def _whole(tensors: NamedTensors, metadata: Mapping[str, str]) -> tuple[NamedTensors, Any]:
    """All tensors by name, and the facts; checked against the digest, which older files lack."""
    foreign = set(metadata) - {"format", "version", "content", "sha256"}
    kept = metadata.get("sha256")
    if foreign or (kept is not None and kept != _digest(tensors, metadata["content"])):
        raise Damaged("its content is not what was saved")
    facts = json.loads(metadata["content"])
    same = facts.pop("same")
    return {**tensors, **{name: tensors[first] for name, first in same.items()}}, facts


def _digest(tensors: Mapping[str, Tensor], facts: str) -> str:
    """SHA-256 of all tensors with their names and shapes, and of the facts."""
    digest = hashlib.sha256(facts.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\0{name}:{tensor.dtype}:{tuple(tensor.shape)}\0".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _each_once(named: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Each distinct tensor once, and for duplicates the name it is stored under."""
    kept: dict[str, Tensor] = {}
    first: dict[tuple[Any, ...], str] = {}
    shared_tensors: dict[str, str] = {}
    for name, tensor in named.items():
        place = (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        if tensor.numel() and place in first:
            shared_tensors[name] = first[place]
            continue
        first[place] = name
        kept[name] = tensor.detach().cpu().contiguous().clone()
    return kept, shared_tensors
