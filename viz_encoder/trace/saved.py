"""Saved traces: one safetensors file, versioned, no pickle; what is not understood is refused."""

import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from viz_encoder.checkpoints.files import read_safetensors
from viz_encoder.errors import CheckpointError, TraceError
from viz_encoder.inputs import Grid, Sample
from viz_encoder.model.attention import N_SIGNATURES
from viz_encoder.trace.layer import LayerTrace, Origin
from viz_encoder.trace.trace import Trace

FORMAT = "viz_encoder.trace"
VERSION = 1
LAYER_TENSORS = ("q", "k", "v", "mask", "bias", "signature", "maps", "relative")
PER_TOKEN = ("words", "spans", "segments")
FAULTS = (KeyError, TypeError, ValueError, RecursionError, AttributeError, OverflowError)
Kind = type | tuple[type, ...]
SAMPLE_LISTS: dict[str, Kind] = {
    "tokens": str,
    "special": bool,
    "words": (int, type(None)),
    "segments": int,
    "texts": str,
    "notes": str,
}


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
    except FAULTS as fault:
        raise TraceError(f"{path.name} is damaged or was changed: {str(fault)[:200]}.") from fault


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
    """Each part is checked before it is put in its place: the file may be a stranger's."""
    _exactly(facts, "its description", "sample origin layers n_hidden key_tokens notes same")
    named = {**tensors, **{name: tensors[kept] for name, kept in facts["same"].items()}}
    sample = _sample(facts["sample"], named.pop("picture", None))
    n = len(sample.tokens)
    layers = tuple(_layer(named, i, about, n) for i, about in enumerate(facts["layers"]))
    if not layers or len({layer.cross for layer in layers}) > 1:
        raise ValueError("it has no layers, or layers of both self- and cross-attention")
    n_hidden = _one(facts["n_hidden"], int, "n_hidden")
    hidden = tuple(_state(named, f"hidden.{i}", n) for i in range(n_hidden))
    output, valid = _state(named, "output", n), named.pop("valid")
    if valid.dtype != torch.bool or valid.shape != (n,):
        raise ValueError("valid does not mark each token")
    if named:
        raise ValueError(f"it holds tensors that no trace has: {', '.join(sorted(named)[:4])}")
    key_tokens = _all(facts["key_tokens"], str, "key_tokens")
    if len(key_tokens) != (layers[0].k.shape[1] if layers[0].cross else 0):
        raise ValueError(f"key_tokens has {len(key_tokens)} names")
    return Trace(
        *(layers, hidden, output, valid, sample, _origin(facts["origin"])),
        key_tokens=key_tokens,
        notes=_all(facts["notes"], str, "notes"),
    )


def _sample(about: Any, picture: Tensor | None) -> Sample:
    _exactly(about, "its sample", " ".join((*SAMPLE_LISTS, "spans", "grid")))
    lists = {name: _all(about[name], kind, name) for name, kind in SAMPLE_LISTS.items()}
    pairs = _all(about["spans"], list, "spans")
    spans = tuple(_all(pair, int, "spans") for pair in pairs)
    n = len(lists["tokens"])
    if not n or len(lists["special"]) != n or any(len(pair) != 2 for pair in spans):
        raise ValueError("its tokens are not described one by one")
    for name, each in {**lists, "spans": spans}.items():
        if name in PER_TOKEN and len(each) not in (0, n):
            raise ValueError(f"{name} has {len(each)} entries for {n} tokens")
    if picture is not None and (picture.dtype != torch.uint8 or picture.shape[2:] != (3,)):
        raise ValueError("its picture is none")
    shown = None if picture is None or not picture.numel() else picture.numpy()
    return Sample(**lists, spans=spans, grid=_grid(about["grid"], n), picture=shown)


def _grid(about: Any, n: int) -> Grid | None:
    if about is None:
        return None
    _exactly(about, "its grid", "n_rows n_cols n_prefix")
    grid = Grid(**{name: _one(value, int, name) for name, value in about.items()})
    whole = grid.n_rows > 0 and grid.n_cols > 0 and grid.n_prefix >= 0
    if not whole or grid.n_prefix + grid.n_rows * grid.n_cols != n:
        raise ValueError("its patches do not fill the picture")
    return grid


def _origin(about: Any) -> Origin:
    _exactly(about, "its origin", " ".join(field.name for field in fields(Origin)))
    return Origin(**{name: _one(value, str, name) for name, value in about.items()})


def _state(named: dict[str, Tensor], name: str, n: int) -> Tensor:
    state = named.pop(name)
    if state.ndim != 2 or len(state) != n or not state.is_floating_point():
        raise ValueError(f"{name} has shape {tuple(state.shape)} for {n} tokens")
    return state


def _layer(named: dict[str, Tensor], index: int, about: Any, n: int) -> LayerTrace:
    _exactly(about, f"layer {index}", "scale name cross")
    q, k, v = (named.pop(f"layers.{index}.{part}") for part in "qkv")
    mask, bias, signature, maps, relative = (
        named.pop(f"layers.{index}.{part}", None) for part in LAYER_TENSORS[3:]
    )
    cross, scale = _one(about["cross"], bool, "cross"), about["scale"]
    _check_sizes(index, q, k, v)
    if q.shape[1] != n or (not cross and k.shape[1] != n):
        raise ValueError(f"layer {index} has {q.shape[1]} queries, {k.shape[1]} keys of {n} tokens")
    if type(scale) not in (int, float) or not math.isfinite(scale):
        raise ValueError(f"layer {index} has a scale that is no number")
    whole = (q.shape[0], n, k.shape[1])
    if mask is not None and mask.dtype != torch.bool:
        raise ValueError(f"layer {index} has a mask that is not bool")
    for part in (bias, signature, maps, relative):
        if part is not None and not part.is_floating_point():
            raise ValueError(f"layer {index} has a bias, signature or map of {part.dtype}")
    if any(part is not None and not _broadcasts(part, whole) for part in (mask, bias)):
        raise ValueError(f"layer {index} has a mask or bias that does not fit")
    if relative is not None and (cross or relative.shape != (q.shape[0], 2 * n - 1)):
        raise ValueError(f"layer {index} has relative positions of {tuple(relative.shape)}")
    if maps is not None and maps.shape != whole:
        raise ValueError(f"layer {index} has maps of {tuple(maps.shape)}")
    if signature is not None and signature.shape != (*whole[:2], N_SIGNATURES):
        raise ValueError(f"layer {index} has a signature that does not fit")
    if len({_wide(x) for x in (q, k, v, maps) if x is not None}) > 1:
        raise ValueError(f"layer {index} mixes numbers of double and of single precision")
    name = _one(about["name"], str, "name")
    return LayerTrace(q, k, v, float(scale), mask, bias, signature, name, cross, maps, relative)


def _check_sizes(index: int, q: Tensor, k: Tensor, v: Tensor) -> None:
    if any(x.ndim != 3 or not x.is_floating_point() for x in (q, k, v)):
        raise ValueError(f"layer {index} has queries, keys or values that are none")
    shared = q.shape[0] and k.shape[0] and k.shape[1] and q.shape[0] % k.shape[0] == 0
    if not shared or k.shape[:2] != v.shape[:2] or q.shape[2] != k.shape[2]:
        raise ValueError(f"layer {index} has queries and keys of sizes that do not fit")


def _broadcasts(part: Tensor, whole: tuple[int, int, int]) -> bool:
    sizes = zip(part.shape, whole, strict=True) if part.ndim == len(whole) else ((0, 1),)
    return all(size in (1, full) for size, full in sizes)


def _wide(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


def _exactly(about: Any, what: str, names: str) -> None:
    if not isinstance(about, dict) or set(about) != set(names.split()):
        raise ValueError(f"{what} does not have the parts {names.replace(' ', ', ')}")


def _one(value: Any, kind: Kind, what: str) -> Any:
    """The value, if it is of that very type: to JSON, true is no number."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if type(value) not in kinds:
        raise ValueError(f"{what} holds a {type(value).__name__}")
    return value


def _all(values: Any, kind: Kind, what: str) -> tuple[Any, ...]:
    return tuple(_one(value, kind, what) for value in _one(values, list, what))
