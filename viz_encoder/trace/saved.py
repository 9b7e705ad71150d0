"""Saved traces: one versioned safetensors file, no pickle; what is not known is refused."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from reprlib import repr as shown  # truncates: untrusted input can be of any length
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from viz_encoder.arguments import AnyPath, public
from viz_encoder.checkpoints.files import read_safetensors
from viz_encoder.errors import CheckpointError, TraceError
from viz_encoder.trace.layer import TENSORS
from viz_encoder.trace.trace import Trace
from viz_encoder.trace.unpack import unpack
from viz_encoder.trace.unpack_layer import Damaged, Foreign
from viz_encoder.whole_file import is_file, shortened, write_beside

FORMAT = "viz_encoder.trace"
VERSION = 1
SUFFIX = ".safetensors"
# Errors that a foreign description can cause; their messages would not help a reader.
FAULTS = (LookupError, TypeError, ValueError, RecursionError, AttributeError, OverflowError)


def require_name(path: AnyPath) -> None:
    """Raise if it is not a path or has another format's extension.

    Raises:
        TraceError: either of these.
    """
    if not str(path):
        raise TraceError("path is empty; give a file's name, such as run.safetensors.")
    suffix = Path(path).suffix
    if suffix and suffix.lower() != SUFFIX:
        raise TraceError(
            f"{shortened(path)} ends in {shortened(suffix)}, but a run is written in the "
            f"safetensors format; name it {shortened(Path(path).stem)}{SUFFIX}."
        )


@public(fault=TraceError)
def save(trace: Trace, path: AnyPath) -> None:
    """See `Trace.save`; an existing file is replaced only once the new one is complete."""
    require_name(path)
    named: dict[str, Tensor] = {"output": trace.output, "valid": trace.valid}
    named |= {f"hidden.{i}": state for i, state in enumerate(trace.hidden_states)}
    for i, layer in enumerate(trace.layers):
        for part in TENSORS:
            if getattr(layer, part) is not None:
                named[f"layers.{i}.{part}"] = getattr(layer, part)
    if trace.sample.picture is not None:
        named["picture"] = torch.from_numpy(np.array(trace.sample.picture))
    kept, shared_tensors = _each_once(named)
    facts = json.dumps(_facts(trace, shared_tensors))
    content = {
        "format": FORMAT,
        "version": str(VERSION),
        "content": facts,
        "sha256": _digest(kept, facts),
    }
    write_beside(lambda beside: save_file(kept, beside, content), path)


@public(fault=TraceError)
def load(path: AnyPath) -> Trace:
    """See `Trace.load`."""
    if not str(path):
        raise TraceError("path is empty; give the path of a saved trace.")
    path = Path(path)
    if not is_file(path):
        name = shortened(path.name or str(path))
        raise TraceError(f"There is no file {name!r}; give the path of a saved trace.")
    try:
        tensors, metadata = read_safetensors(path)
    except CheckpointError as fault:
        raise TraceError(
            f"{path.name} is not a saved trace, or is incomplete; save one with trace.save(path)."
        ) from fault
    if metadata.get("format") != FORMAT:
        raise TraceError(f"{path.name} holds no saved trace; save one with trace.save(path).")
    if metadata.get("version") != str(VERSION):
        raise TraceError(
            f"{path.name} was written by another version of viz_encoder, in format "
            f"{shown(metadata.get('version'))}; this one reads format {VERSION}. Save the run "
            "again with this version."
        )
    try:
        _require_whole(tensors, metadata)
        return unpack(tensors, json.loads(metadata["content"]))
    except Foreign as fault:
        raise TraceError(
            f"{path.name} was written by another version of viz_encoder: {fault}. Save the run "
            "again with this version."
        ) from None
    except Damaged as fault:
        why = str(fault)
    except FAULTS:
        why = "its description cannot be read"
    raise TraceError(f"{path.name} is damaged or was changed: {why}; save it again.")


def _require_whole(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Check the tensors against the stored digest; older files have none."""
    foreign = set(metadata) - {"format", "version", "content", "sha256"}
    kept = metadata.get("sha256")
    if foreign or (kept is not None and kept != _digest(tensors, metadata["content"])):
        raise Damaged("its content is not what was saved")


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


def _facts(trace: Trace, shared_tensors: dict[str, str]) -> dict[str, Any]:
    """Everything but the tensors, as JSON; rare parts are left out if absent."""
    sample = {k: v for k, v in vars(trace.sample).items() if k not in ("grid", "picture")}
    grid = trace.sample.grid
    return {
        "sample": {**sample, "grid": asdict(grid) if grid else None},
        "origin": asdict(trace.origin),
        "layers": [
            {"scale": layer.scale, "name": layer.name, "cross": layer.cross}
            for layer in trace.layers
        ],
        "n_hidden": len(trace.hidden_states),
        "key_tokens": trace.key_tokens,
        "notes": trace.notes,
        "same": shared_tensors,
        **({"removed": trace.removed} if trace.removed else {}),
    }
