"""Saved files: one versioned safetensors file each, no pickle; what is not known is refused."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from pathlib import Path
from reprlib import repr as shown  # truncates: untrusted input can be of any length
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

import torch
from safetensors.torch import save_file
from torch import Tensor

from viz_encoder.arguments import AnyPath
from viz_encoder.checkpoints.files import read_safetensors
from viz_encoder.errors import CheckpointError, TraceError
from viz_encoder.whole_file import is_file, shortened, write_beside

MOST = 2**31  # no count in a file is larger; JSON allows larger only in Python


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


def decoded(hint: Any, value: Any, what: str) -> Any:
    """The value as an annotation says, of exactly its types: in JSON, true is not a number.

    Raises:
        Damaged: it is of other types, or a number too large.
        Foreign: a dataclass lacks a part, or has another.
    """
    inner, origin = get_args(hint), get_origin(hint)
    if is_dataclass(hint):
        return _object(hint, value, what)
    if type(None) in inner:
        return None if value is None else decoded(inner[0], value, what)
    if origin is tuple and type(value) is list:
        kinds = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        if len(value) != len(kinds):
            raise Damaged(f"{what} holds {len(value)} values for {len(kinds)}")
        return tuple(decoded(kind, each, what) for kind, each in zip(kinds, value, strict=True))
    if origin is Literal and value in inner:
        return value
    if type(value) is not hint and (hint, type(value)) != (float, int):
        raise Damaged(f"{what} holds a {type(value).__name__}")
    if type(value) is int and abs(value) >= MOST:
        raise Damaged(f"{what} holds a number of {MOST:,} or more")
    if type(value) is float and not math.isfinite(value):
        raise Damaged(f"{what} is {value}, which is not a number")
    return float(value) if hint is float else value


def _object(kind: Any, value: Any, what: str) -> Any:
    """A dataclass with these parts and no others; those with defaults may be missing."""
    if not isinstance(value, dict):
        raise Damaged(f"its {what} is a {type(value).__name__}")
    parts = {part.name: part for part in fields(kind)}
    missing = [n for n, part in parts.items() if part.default is MISSING and n not in value]
    unknown = set(value) - set(parts)
    if missing:
        raise Foreign(f"its {what} lacks {', '.join(missing)}")
    if unknown:
        raise Foreign(f"its {what} has the unknown part {shown(min(unknown))}")
    return kind(**{name: decoded(parts[name].type, each, name) for name, each in value.items()})


Made = TypeVar("Made")
Facts = TypeVar("Facts")
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


def write(kind: FileKind, named: Mapping[str, Tensor], facts: Any, path: AnyPath) -> None:
    """Write tensors and facts, a dataclass; an existing file is replaced by the whole new one.

    Raises:
        TraceError: no such path, or it cannot be written.
    """
    require_name(path, kind)
    kept, same = _each_once(named)
    content = json.dumps({**asdict(facts), "same": same})
    about = {
        "format": kind.format,
        "version": str(VERSION),
        "content": content,
        "sha256": _digest(kept, content),
    }
    write_beside(lambda beside: save_file(kept, beside, about), path)


def read(
    kind: FileKind,
    path: AnyPath,
    about: type[Facts],
    unpack: Callable[[NamedTensors, Facts], Made],
) -> Made:
    """What `unpack` makes of a file's tensors and of its facts, which are `about`.

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
        named, facts = _whole(tensors, metadata)
        return unpack(named, decoded(about, facts, "description"))
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
