"""Unpacks one layer of a saved trace, checking that its shapes fit and its numbers are usable."""

import torch
from torch import Tensor

from viz_encoder.model.attention import N_SIGNATURES
from viz_encoder.trace.checked import Damaged, pop_tensor
from viz_encoder.trace.layer import TENSORS, LayerTrace

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
