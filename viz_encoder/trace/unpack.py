"""Unpacks a saved trace, checking each part before use."""

import math
from collections.abc import Set
from dataclasses import MISSING, fields
from reprlib import repr as shown  # truncates: untrusted input can be of any length
from typing import Any

import torch
from torch import Tensor

from viz_encoder.inputs import Grid, Sample
from viz_encoder.trace.layer import LayerTrace, Origin
from viz_encoder.trace.trace import Trace
from viz_encoder.trace.unpack_layer import Damaged, Foreign, pop_tensor, unpack_layer

PER_TOKEN = ("words", "spans", "segments")
MOST = 2**31  # no count in a trace is larger; JSON allows larger only in Python
MAX_PICTURE_SIDE = 16_384  # the most that browsers draw
Kind = type | tuple[type, ...]
SAMPLE_LISTS: dict[str, Kind] = {
    "tokens": str,
    "special": bool,
    "words": (int, type(None)),
    "segments": int,
    "texts": str,
    "notes": str,
}


def unpack(tensors: dict[str, Tensor], facts: Any) -> Trace:
    """Build a trace from tensors and facts of an untrusted file.

    Raises:
        Damaged: a part is missing, of the wrong type, or does not fit the others.
        Foreign: the description has other parts than this version writes.
    """
    _exactly(
        *(facts, "its description", "sample origin layers n_hidden key_tokens notes same removed"),
        usual={"removed"},
    )
    named = {**tensors, **{name: tensors[kept] for name, kept in facts["same"].items()}}
    sample = _sample(facts["sample"], named.pop("picture", None))
    n = len(sample.tokens)
    layers = tuple(_layer(named, i, about, n) for i, about in enumerate(facts["layers"]))
    if not layers or len({layer.cross for layer in layers}) > 1:
        raise Damaged("it has no layers, or layers of both self- and cross-attention")
    n_hidden = _one(facts["n_hidden"], int, "n_hidden")
    hidden = tuple(_state(named, f"hidden.{i}", n) for i in range(n_hidden))
    output, valid = _state(named, "output", n), _valid(named, n)
    if named:
        raise Damaged(f"it holds tensors that no trace has, such as {shown(min(named))}")
    key_tokens = _all(facts["key_tokens"], str, "key_tokens")
    if len(key_tokens) != (layers[0].k.shape[1] if layers[0].cross else 0):
        raise Damaged(f"key_tokens has {len(key_tokens)} names")
    return Trace(
        *(layers, hidden, output, valid, sample, _origin(facts["origin"])),
        key_tokens=key_tokens,
        notes=_all(facts["notes"], str, "notes"),
        removed=_removed(facts.get("removed", []), layers),
    )


def _layer(named: dict[str, Tensor], index: int, about: Any, n: int) -> LayerTrace:
    _exactly(about, f"layer {index}", "scale name cross")
    name, cross = _one(about["name"], str, "name"), _one(about["cross"], bool, "cross")
    scale = _one(about["scale"], (int, float), "scale")
    if not math.isfinite(scale):
        raise Damaged(f"layer {index} has the scale {scale}, which is not a number")
    return unpack_layer(named, index, n, float(scale), name, cross)


def _removed(about: Any, layers: tuple[LayerTrace, ...]) -> tuple[tuple[int, int], ...]:
    pairs = [_all(pair, int, "removed") for pair in _all(about, list, "removed")]
    for pair in pairs:
        there = len(pair) == 2 and 0 <= pair[0] < len(layers)
        if not there or not 0 <= pair[1] < layers[pair[0]].n_heads:
            raise Damaged(f"removed names {shown(pair)}, which is no head of it")
    return tuple((layer, head) for layer, head in pairs)


def _sample(about: Any, picture: Tensor | None) -> Sample:
    _exactly(
        about, "its sample", " ".join((*SAMPLE_LISTS, "spans", "grid", "n_prompt")), {"n_prompt"}
    )
    lists = {name: _all(about[name], kind, name) for name, kind in SAMPLE_LISTS.items()}
    pairs = _all(about["spans"], list, "spans")
    spans = tuple(_all(pair, int, "spans") for pair in pairs)
    n = len(lists["tokens"])
    if not n or len(lists["special"]) != n or any(len(pair) != 2 for pair in spans):
        raise Damaged("its tokens are not described one by one")
    for name, each in {**lists, "spans": spans}.items():
        if name in PER_TOKEN and len(each) not in (0, n):
            raise Damaged(f"{name} has {len(each)} entries for {n} tokens")
    n_prompt = _one(about.get("n_prompt", 0), int, "n_prompt")
    if not 0 <= n_prompt <= n:
        raise Damaged(f"its prompt has {n_prompt} of {n} tokens")
    return Sample(
        **lists,
        spans=spans,
        grid=_grid(about["grid"], n),
        n_prompt=n_prompt,
        picture=None if picture is None else _pixels(picture),
    )


def _pixels(picture: Tensor) -> Any:
    if picture.dtype != torch.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise Damaged("its picture is not one of rows, columns and three colors in bytes")
    height, width = picture.shape[:2]
    if not (0 < height <= MAX_PICTURE_SIDE and 0 < width <= MAX_PICTURE_SIDE):
        raise Damaged(
            f"its picture has {height:,} × {width:,} pixels; 1 to {MAX_PICTURE_SIDE:,} a side fit"
        )
    return picture.numpy()


def _grid(about: Any, n: int) -> Grid | None:
    if about is None:
        return None
    _exactly(about, "its grid", "n_rows n_cols n_prefix")
    grid = Grid(**{name: _one(value, int, name) for name, value in about.items()})
    whole = grid.n_rows > 0 and grid.n_cols > 0 and grid.n_prefix >= 0
    if not whole or grid.n_prefix + grid.n_rows * grid.n_cols != n:
        raise Damaged("its patches do not fill the picture")
    return grid


def _origin(about: Any) -> Origin:
    usual = {field.name for field in fields(Origin) if field.default is not MISSING}
    _exactly(about, "its origin", " ".join(field.name for field in fields(Origin)), usual)
    return Origin(**{name: _one(value, str, name) for name, value in about.items()})


def _state(named: dict[str, Tensor], name: str, n: int) -> Tensor:
    state = pop_tensor(named, name)
    if state.ndim != 2 or len(state) != n or not state.is_floating_point():
        raise Damaged(f"{name} has shape {tuple(state.shape)} for {n} tokens")
    return state


def _valid(named: dict[str, Tensor], n: int) -> Tensor:
    valid = pop_tensor(named, "valid")
    if valid.dtype != torch.bool or valid.shape != (n,):
        raise Damaged("valid does not mark each token")
    if not bool(valid.any()):
        raise Damaged("valid marks every token as padding")
    return valid


def _exactly(about: Any, what: str, names: str, usual: Set[str] = frozenset()) -> None:
    """Require these parts and no others; the usual ones have defaults and may be missing."""
    if not isinstance(about, dict):
        raise Damaged(f"{what} is a {type(about).__name__}")
    missing, unknown = set(names.split()) - usual - set(about), set(about) - set(names.split())
    if missing:
        raise Foreign(f"{what} lacks {', '.join(sorted(missing))}")
    if unknown:
        raise Foreign(f"{what} has the unknown part {shown(min(unknown))}")


def _one(value: Any, kind: Kind, what: str) -> Any:
    """Return the value if it is exactly of that type: in JSON, true is not a number."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if type(value) not in kinds:
        raise Damaged(f"{what} holds a {type(value).__name__}")
    if type(value) is int and abs(value) >= MOST:
        raise Damaged(f"{what} holds a number of {MOST:,} or more")
    return value


def _all(values: Any, kind: Kind, what: str) -> tuple[Any, ...]:
    return tuple(_one(value, kind, what) for value in _one(values, list, what))
