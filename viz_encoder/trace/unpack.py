"""Unpacks a saved trace, checking each part before use."""

import math
from dataclasses import MISSING, fields
from reprlib import repr as shown  # truncates: untrusted input can be of any length
from typing import Any

import torch
from torch import Tensor

from viz_encoder.inputs import Grid, Sample
from viz_encoder.trace.checked import Damaged, Types, all_of_kind, exactly, one_of_kind, pop_tensor
from viz_encoder.trace.layer import LayerTrace, Origin
from viz_encoder.trace.trace import Trace
from viz_encoder.trace.unpack_layer import unpack_layer

PER_TOKEN = ("words", "spans", "segments")
MAX_PICTURE_SIDE = 16_384  # the most that browsers draw
SAMPLE_LISTS: dict[str, Types] = {
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
    exactly(
        *(facts, "its description", "sample origin layers n_hidden key_tokens notes removed"),
        usual={"removed"},
    )
    named = dict(tensors)
    sample = _sample(facts["sample"], named.pop("picture", None))
    n = len(sample.tokens)
    layers = tuple(_layer(named, i, about, n) for i, about in enumerate(facts["layers"]))
    if not layers or len({layer.cross for layer in layers}) > 1:
        raise Damaged("it has no layers, or layers of both self- and cross-attention")
    n_hidden = one_of_kind(facts["n_hidden"], int, "n_hidden")
    hidden = tuple(_state(named, f"hidden.{i}", n) for i in range(n_hidden))
    output, valid = _state(named, "output", n), _valid(named, n)
    if named:
        raise Damaged(f"it holds tensors that no trace has, such as {shown(min(named))}")
    key_tokens = all_of_kind(facts["key_tokens"], str, "key_tokens")
    if len(key_tokens) != (layers[0].k.shape[1] if layers[0].cross else 0):
        raise Damaged(f"key_tokens has {len(key_tokens)} names")
    return Trace(
        *(layers, hidden, output, valid, sample, _origin(facts["origin"])),
        key_tokens=key_tokens,
        notes=all_of_kind(facts["notes"], str, "notes"),
        removed=_removed(facts.get("removed", []), layers),
    )


def _layer(named: dict[str, Tensor], index: int, about: Any, n: int) -> LayerTrace:
    exactly(about, f"layer {index}", "scale name cross")
    name, cross = (
        one_of_kind(about["name"], str, "name"),
        one_of_kind(about["cross"], bool, "cross"),
    )
    scale = one_of_kind(about["scale"], (int, float), "scale")
    if not math.isfinite(scale):
        raise Damaged(f"layer {index} has the scale {scale}, which is not a number")
    return unpack_layer(named, index, n, float(scale), name, cross)


def _removed(about: Any, layers: tuple[LayerTrace, ...]) -> tuple[tuple[int, int], ...]:
    pairs = [all_of_kind(pair, int, "removed") for pair in all_of_kind(about, list, "removed")]
    for pair in pairs:
        there = len(pair) == 2 and 0 <= pair[0] < len(layers)
        if not there or not 0 <= pair[1] < layers[pair[0]].n_heads:
            raise Damaged(f"removed names {shown(pair)}, which is no head of it")
    return tuple((layer, head) for layer, head in pairs)


def _sample(about: Any, picture: Tensor | None) -> Sample:
    exactly(
        about, "its sample", " ".join((*SAMPLE_LISTS, "spans", "grid", "n_prompt")), {"n_prompt"}
    )
    lists = {name: all_of_kind(about[name], kind, name) for name, kind in SAMPLE_LISTS.items()}
    pairs = all_of_kind(about["spans"], list, "spans")
    spans = tuple(all_of_kind(pair, int, "spans") for pair in pairs)
    n = len(lists["tokens"])
    if not n or len(lists["special"]) != n or any(len(pair) != 2 for pair in spans):
        raise Damaged("its tokens are not described one by one")
    for name, each in {**lists, "spans": spans}.items():
        if name in PER_TOKEN and len(each) not in (0, n):
            raise Damaged(f"{name} has {len(each)} entries for {n} tokens")
    n_prompt = one_of_kind(about.get("n_prompt", 0), int, "n_prompt")
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
    exactly(about, "its grid", "n_rows n_cols n_prefix")
    grid = Grid(**{name: one_of_kind(value, int, name) for name, value in about.items()})
    whole = grid.n_rows > 0 and grid.n_cols > 0 and grid.n_prefix >= 0
    if not whole or grid.n_prefix + grid.n_rows * grid.n_cols != n:
        raise Damaged("its patches do not fill the picture")
    return grid


def _origin(about: Any) -> Origin:
    usual = {field.name for field in fields(Origin) if field.default is not MISSING}
    exactly(about, "its origin", " ".join(field.name for field in fields(Origin)), usual)
    return Origin(**{name: one_of_kind(value, str, name) for name, value in about.items()})


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
