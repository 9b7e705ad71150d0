"""Unpacks a saved trace, checking each part before use."""

import math
from dataclasses import MISSING, fields
from reprlib import repr as shown  # truncates: untrusted input can be of any length
from typing import Any

import torch
from torch import Tensor

from viz_encoder.inputs import Grid, Sample
from viz_encoder.model.attention import N_SIGNATURES
from viz_encoder.trace.layer import TENSORS, LayerTrace, Origin
from viz_encoder.trace.saved_file import (
    Damaged,
    Types,
    all_of_kind,
    exactly,
    one_of_kind,
    pop_tensor,
)
from viz_encoder.trace.trace import Trace

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


FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
MAX_SCORE = 1e7  # beyond it, float32 rounds a score by more than 1, so no map could be checked


def unpack_layer(
    named: dict[str, Tensor], index: int, n: int, scale: float, name: str, cross: bool
) -> LayerTrace:
    """Unpack one layer of n queries.

    Raises:
        Damaged: a tensor is missing, of the wrong type, or does not fit the others.
    """
    q, k, v = (pop_tensor(named, f"layers.{index}.{part}") for part in "qkv")
    more = {part: named.pop(f"layers.{index}.{part}", None) for part in TENSORS[3:]}
    layer = LayerTrace(q, k, v, scale, name=name, cross=cross, **more)
    for check in (_check_kinds, _check_sizes, _check_extras, _check_numbers):
        try:
            check(layer, n)
        except Damaged as fault:
            raise Damaged(f"layer {index} has {fault}") from None
    return layer


def _floats(layer: LayerTrace) -> dict[str, Tensor]:
    parts = (part for part in TENSORS if part != "mask")
    return {part: x for part in parts if (x := getattr(layer, part)) is not None}


def _check_kinds(layer: LayerTrace, n: int) -> None:
    for part, x in _floats(layer).items():
        if x.dtype not in FLOATS:
            raise Damaged(f"a {part} of {x.dtype}, a dtype that maps are not computed in")
    if layer.mask is not None and layer.mask.dtype != torch.bool:
        raise Damaged("a mask that is not bool")
    shown = (layer.q, layer.k, layer.v, layer.maps)
    if len({torch.promote_types(x.dtype, torch.float32) for x in shown if x is not None}) > 1:
        raise Damaged("numbers of both double and single precision")


def _check_sizes(layer: LayerTrace, n: int) -> None:
    q, k, v = layer.q, layer.k, layer.v
    if any(x.ndim != 3 for x in (q, k, v)):
        raise Damaged("queries, keys or values that do not have three axes")
    shared = q.shape[0] and k.shape[0] and k.shape[1] and q.shape[0] % k.shape[0] == 0
    if not shared or k.shape[:2] != v.shape[:2] or q.shape[2] != k.shape[2]:
        raise Damaged("queries and keys of sizes that do not fit")
    if q.shape[1] != n or (not layer.cross and k.shape[1] != n):
        raise Damaged(f"{q.shape[1]} queries and {k.shape[1]} keys for {n} tokens")


def _check_extras(layer: LayerTrace, n: int) -> None:
    whole = (layer.n_heads, n, layer.k.shape[1])
    for part in (layer.mask, layer.bias):
        if part is not None and not _broadcasts(part, whole):
            raise Damaged(f"a mask or bias of {tuple(part.shape)} that does not fit")
    relative = layer.relative
    if relative is not None and (layer.cross or relative.shape != (layer.n_heads, 2 * n - 1)):
        raise Damaged(f"relative positions of {tuple(relative.shape)} that do not fit")
    if layer.maps is not None and layer.maps.shape != whole:
        raise Damaged(f"maps of {tuple(layer.maps.shape)}, not {whole}")
    if layer.sink is not None and layer.sink.shape != whole[:2]:
        raise Damaged(f"a sink of {tuple(layer.sink.shape)} that does not fit")
    if layer.put is not None and layer.put.shape != (*whole[:2], layer.v.shape[2]):
        raise Damaged(f"what W_O was given of {tuple(layer.put.shape)} that does not fit")
    signature = layer.signature
    if signature is not None and signature.shape != (*whole[:2], N_SIGNATURES):
        raise Damaged(f"a signature of {tuple(signature.shape)} that does not fit")


def _check_numbers(layer: LayerTrace, n: int) -> None:
    """Check for finite numbers, but allow NaN in q, k or v: a failed run is worth inspecting."""
    for part, x in _floats(layer).items():
        # A bias may be −inf: that is how a sum forbids a pair.
        if part in ("bias", "relative") and bool((x.isnan() | x.isposinf()).any()):
            raise Damaged(f"a {part} with numbers that are NaN or infinite")
    if layer.maps is not None:
        return  # shown as they are
    finite = [x.double().nan_to_num(0.0, 0.0, 0.0) for x in (layer.q, layer.k)]
    longest = [float(x.norm(dim=-1).max()) for x in finite]
    score = longest[0] * longest[1] * abs(layer.scale)
    if not score <= MAX_SCORE:
        raise Damaged(f"scores of up to {score:.1e}, too large to compute maps from")


def _broadcasts(part: Tensor, whole: tuple[int, int, int]) -> bool:
    sizes = zip(part.shape, whole, strict=True) if part.ndim == len(whole) else ((0, 1),)
    return all(size in (1, full) for size, full in sizes)
