"""Saved traces: one safetensors file, versioned, no pickle; what is not understood is refused."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from viz_encoder.checkpoints.files import read_safetensors
from viz_encoder.errors import CheckpointError, TraceError
from viz_encoder.inputs import Grid, Sample
from viz_encoder.trace.layer import LayerTrace, Origin
from viz_encoder.trace.trace import Trace

FORMAT = "viz_encoder.trace"
VERSION = 1
LAYER_TENSORS = ("q", "k", "v", "mask", "bias", "signature", "maps")
PER_TOKEN = ("tokens", "special", "words", "spans", "segments")


def save(trace: Trace, path: str | Path) -> None:
    """Write a trace to a file; a file of that name is replaced only when the new one is whole.

    Raises:
        TraceError: the file cannot be written.
    """
    named: dict[str, Tensor] = {"output": trace.output, "valid": trace.valid}
    named |= {f"hidden.{i}": state for i, state in enumerate(trace.hidden_states)}
    for i, layer in enumerate(trace.layers):
        for part in LAYER_TENSORS:
            if getattr(layer, part) is not None:
                named[f"layers.{i}.{part}"] = getattr(layer, part)
    if trace.sample.picture is not None:
        named["picture"] = torch.from_numpy(np.array(trace.sample.picture))
    kept, same = _without_twins(named)
    content = {
        "format": FORMAT,
        "version": str(VERSION),
        "content": json.dumps(_facts(trace, same)),
    }
    _write(kept, content, Path(path))


def load(path: str | Path) -> Trace:
    """Read a trace that `save` wrote.

    Raises:
        TraceError: not a saved trace, of another version, or damaged.
    """
    path = Path(path)
    if not path.is_file():
        raise TraceError(f"There is no file {path.name!r}; give the path of a saved trace.")
    try:
        tensors, metadata = read_safetensors(path)
    except CheckpointError as fault:
        raise TraceError(f"{path.name} is no saved trace. {fault}") from fault
    if metadata.get("format") != FORMAT:
        raise TraceError(f"{path.name} holds no saved trace; save one with trace.save(path).")
    if metadata.get("version") != str(VERSION):
        raise TraceError(
            f"{path.name} was saved in version {metadata.get('version')!r} of the format; this "
            f"program reads version {VERSION}. Save it again with this version."
        )
    try:
        return _trace(tensors, json.loads(metadata["content"]))
    except (KeyError, TypeError, ValueError, RecursionError, AttributeError) as fault:
        raise TraceError(f"{path.name} is damaged or was changed: {fault}.") from fault


def _without_twins(named: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Each distinct tensor once, and for the others the name it is kept under."""
    kept: dict[str, Tensor] = {}
    first: dict[tuple[Any, ...], str] = {}
    same: dict[str, str] = {}
    for name, tensor in named.items():
        place = (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride())
        if tensor.numel() and place in first:
            same[name] = first[place]
            continue
        first[place] = name
        kept[name] = tensor.detach().cpu().contiguous().clone()
    return kept, same


def _facts(trace: Trace, same: dict[str, str]) -> dict[str, Any]:
    """All that is no tensor, as JSON."""
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
        "same": same,
    }


def _write(tensors: dict[str, Tensor], metadata: dict[str, str], path: Path) -> None:
    """To a file beside the target first, so that a full disk leaves no half of one."""
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as fault:
        raise TraceError(f"{path} cannot be written: {fault.strerror}.") from fault
    os.close(handle)
    try:
        save_file(tensors, beside, metadata)
        Path(beside).replace(path)
    except Exception as fault:
        Path(beside).unlink(missing_ok=True)
        raise TraceError(f"{path} cannot be written: {fault}.") from fault


def _trace(tensors: dict[str, Tensor], facts: Any) -> Trace:
    """Each part is checked before it is put in its place."""
    if not isinstance(facts, dict):
        raise ValueError("its description is no object")
    named = {**tensors, **{name: tensors[kept] for name, kept in facts["same"].items()}}
    sample = _sample(facts["sample"], named.pop("picture", None))
    n = len(sample.tokens)
    layers = tuple(_layer(named, i, about, n) for i, about in enumerate(facts["layers"]))
    if not layers:
        raise ValueError("it has no layers")
    hidden = tuple(_state(named, f"hidden.{i}", n) for i in range(facts["n_hidden"]))
    output, valid = _state(named, "output", n), named.pop("valid")
    if valid.dtype != torch.bool or valid.shape != (n,):
        raise ValueError("valid does not mark each token")
    if named:
        raise ValueError(f"it holds tensors that no trace has: {', '.join(sorted(named)[:4])}")
    return Trace(
        *(layers, hidden, output, valid, sample, Origin(**facts["origin"])),
        key_tokens=tuple(facts["key_tokens"]),
        notes=tuple(facts["notes"]),
    )


def _sample(about: dict[str, Any], picture: Tensor | None) -> Sample:
    grid = Grid(**about["grid"]) if about["grid"] else None
    lists = {name: tuple(value) for name, value in about.items() if name != "grid"}
    lists["spans"] = tuple((int(start), int(stop)) for start, stop in lists["spans"])
    n = len(lists["tokens"])
    if not n or not all(isinstance(token, str) for token in lists["tokens"]):
        raise ValueError("its tokens are no texts")
    for name in PER_TOKEN:
        if lists.get(name) and len(lists[name]) != n:
            raise ValueError(f"{name} has {len(lists[name])} entries for {n} tokens")
    if grid and grid.n_prefix + grid.n_rows * grid.n_cols != n:
        raise ValueError("its patches do not fill the picture")
    shown = None if picture is None else picture.to(torch.uint8).numpy()
    return Sample(**lists, grid=grid, picture=shown)


def _state(named: dict[str, Tensor], name: str, n: int) -> Tensor:
    state = named.pop(name)
    if state.ndim != 2 or len(state) != n:
        raise ValueError(f"{name} has shape {tuple(state.shape)} for {n} tokens")
    return state


def _layer(named: dict[str, Tensor], index: int, about: dict[str, Any], n: int) -> LayerTrace:
    q, k, v = (named.pop(f"layers.{index}.{part}") for part in "qkv")
    mask, bias, signature, maps = (
        named.pop(f"layers.{index}.{part}", None) for part in LAYER_TENSORS[3:]
    )
    cross = bool(about["cross"])
    _check_sizes(index, q, k, v, n if not cross else k.shape[1])
    if q.shape[1] != n:
        raise ValueError(f"layer {index} has {q.shape[1]} queries for {n} tokens")
    whole = (q.shape[0], n, k.shape[1])
    if mask is not None and mask.dtype != torch.bool:
        raise ValueError(f"layer {index} has a mask that is not bool")
    for part in (mask, bias, maps):
        if part is not None and not _broadcasts(part, whole):
            raise ValueError(f"layer {index} has a mask, bias or map of {tuple(part.shape)}")
    if signature is not None and (signature.ndim != 3 or signature.shape[:2] != whole[:2]):
        raise ValueError(f"layer {index} has a signature that does not fit")
    name, scale = str(about["name"]), float(about["scale"])
    return LayerTrace(q, k, v, scale, mask, bias, signature, name, cross, maps)


def _check_sizes(index: int, q: Tensor, k: Tensor, v: Tensor, n_keys: int) -> None:
    if any(x.ndim != 3 or not x.is_floating_point() for x in (q, k, v)):
        raise ValueError(f"layer {index} has queries, keys or values that are none")
    shared = k.shape[0] and q.shape[0] % k.shape[0] == 0
    if not shared or k.shape[:2] != v.shape[:2] or q.shape[2] != k.shape[2]:
        raise ValueError(f"layer {index} has queries and keys of sizes that do not fit")
    if k.shape[1] != n_keys:
        raise ValueError(f"layer {index} has {k.shape[1]} keys for {n_keys} tokens")


def _broadcasts(part: Tensor, whole: tuple[int, int, int]) -> bool:
    sizes = zip(part.shape, whole, strict=True) if part.ndim == len(whole) else ((0, 1),)
    return all(size in (1, full) for size, full in sizes)
