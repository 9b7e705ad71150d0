"""Saved traces: what a file holds of a run, and the run that it holds, each part checked."""

from dataclasses import asdict, dataclass, fields, replace
from reprlib import repr as shown  # truncates: untrusted input can be of any length
from typing import Any

import numpy as np
import torch
from jaxtyping import jaxtyped
from torch import Tensor

from viz_encoder.arguments import AnyPath, public
from viz_encoder.errors import TraceError
from viz_encoder.inputs import Sample
from viz_encoder.model.attention import N_SIGNATURES
from viz_encoder.trace.layer import TENSORS, LayerTrace, Origin
from viz_encoder.trace.saved_file import Damaged, FileKind, pop_tensor, read, write
from viz_encoder.trace.trace import Trace

KIND = FileKind("viz_encoder.trace", "a run", "saved trace", "trace.save(path)")
PER_TOKEN = ("special", "words", "spans", "segments")
MAX_PICTURE_SIDE = 16_384  # the most that browsers draw
FLOATS = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
MAX_SCORE = 1e7  # beyond it, float32 rounds a score by more than 1, so no map could be checked
HINTS: dict[str, Any] = {field.name: field.type for field in fields(LayerTrace)}


@dataclass(frozen=True)
class LayerFacts:
    """What is no tensor of a layer."""

    scale: float
    name: str
    cross: bool


@dataclass(frozen=True)
class TraceFacts:
    """What is no tensor of a run; its sample is without the picture."""

    sample: Sample
    origin: Origin
    layers: tuple[LayerFacts, ...]
    n_hidden: int
    key_tokens: tuple[str, ...]
    notes: tuple[str, ...]
    removed: tuple[tuple[int, int], ...] = ()


@public(fault=TraceError)
def save(trace: Trace, path: AnyPath) -> None:
    """See `Trace.save`."""
    write(KIND, tensors_of(trace), facts_of(trace), path)


@public(fault=TraceError)
def load(path: AnyPath) -> Trace:
    """See `Trace.load`."""
    return read(KIND, path, TraceFacts, unpack)


def tensors_of(trace: Trace) -> dict[str, Tensor]:
    """The tensors of a run, by name."""
    named: dict[str, Tensor] = {"output": trace.output, "valid": trace.valid}
    named |= {f"hidden.{i}": state for i, state in enumerate(trace.hidden_states)}
    for i, layer in enumerate(trace.layers):
        for part in TENSORS:
            if getattr(layer, part) is not None:
                named[f"layers.{i}.{part}"] = getattr(layer, part)
    if trace.sample.picture is not None:
        named["picture"] = torch.from_numpy(np.array(trace.sample.picture))
    return named


def facts_of(trace: Trace) -> TraceFacts:
    """Everything but the tensors."""
    return TraceFacts(
        replace(trace.sample, picture=None),
        trace.origin,
        tuple(LayerFacts(layer.scale, layer.name, layer.cross) for layer in trace.layers),
        len(trace.hidden_states),
        trace.key_tokens,
        trace.notes,
        trace.removed,
    )


def unpack(tensors: dict[str, Tensor], facts: TraceFacts) -> Trace:
    """Build a trace from tensors and facts of an untrusted file.

    Raises:
        Damaged: a part is missing or does not fit the others.
    """
    named, sample = dict(tensors), facts.sample
    n = len(sample.tokens)
    _require_sample(sample, n)
    if "picture" in named:
        sample = replace(sample, picture=_pixels(named.pop("picture")))
    layers = tuple(_layer(named, i, about, n) for i, about in enumerate(facts.layers))
    if not layers or len({layer.cross for layer in layers}) > 1:
        raise Damaged("it has no layers, or layers of both self- and cross-attention")
    hidden = tuple(_state(named, f"hidden.{i}", n) for i in range(facts.n_hidden))
    output, valid = _state(named, "output", n), pop_tensor(named, "valid")
    if valid.dtype != torch.bool or valid.shape != (n,) or not bool(valid.any()):
        raise Damaged("valid does not mark each token, or marks every token as padding")
    if named:
        raise Damaged(f"it holds tensors that no trace has, such as {shown(min(named))}")
    if len(facts.key_tokens) != (layers[0].k.shape[1] if layers[0].cross else 0):
        raise Damaged(f"key_tokens has {len(facts.key_tokens)} names")
    for at, head in facts.removed:
        if not 0 <= at < len(layers) or not 0 <= head < layers[at].n_heads:
            raise Damaged(f"removed lists the head {at}.{head}, which the run does not have")
    return Trace(
        *(layers, hidden, output, valid, sample, facts.origin),
        key_tokens=facts.key_tokens,
        notes=facts.notes,
        removed=facts.removed,
    )


def _require_sample(sample: Sample, n: int) -> None:
    for name in PER_TOKEN:
        if (found := len(getattr(sample, name))) != n and (found or name == "special"):
            raise Damaged(f"{name} has {found} entries for {n} tokens")
    if not n or not 0 <= sample.n_prompt <= n:
        raise Damaged(f"its prompt has {sample.n_prompt} of {n} tokens")
    if (grid := sample.grid) is not None:
        whole = grid.n_rows > 0 and grid.n_cols > 0 and grid.n_prefix >= 0
        if not whole or grid.n_prefix + grid.n_rows * grid.n_cols != n:
            raise Damaged("its patches do not fill the picture")


def _pixels(picture: Tensor) -> Any:
    if picture.dtype != torch.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        raise Damaged("its picture is not one of rows, columns and three colors in bytes")
    height, width = picture.shape[:2]
    if not (0 < height <= MAX_PICTURE_SIDE and 0 < width <= MAX_PICTURE_SIDE):
        raise Damaged(
            f"its picture has {height:,} × {width:,} pixels; 1 to {MAX_PICTURE_SIDE:,} a side fit"
        )
    return picture.numpy()


def _state(named: dict[str, Tensor], name: str, n: int) -> Tensor:
    state = pop_tensor(named, name)
    if state.ndim != 2 or len(state) != n or not state.is_floating_point():
        raise Damaged(f"{name} has shape {tuple(state.shape)} for {n} tokens")
    return state


def _layer(named: dict[str, Tensor], index: int, about: LayerFacts, n: int) -> LayerTrace:
    parts = {part: named.pop(f"layers.{index}.{part}", None) for part in TENSORS}
    with jaxtyped("context"):  # in which an axis has one size
        odd = [part for part, x in parts.items() if not isinstance(x, HINTS[part])]
    if odd:
        raise Damaged(f"layer {index} has no {odd[0]} that fits its other tensors")
    layer = LayerTrace(**parts, **asdict(about))  # type: ignore[arg-type]
    if fault := _not_fitting(layer, n) or _not_computed(layer):
        raise Damaged(f"layer {index} has {fault}")
    return layer


def _not_fitting(layer: LayerTrace, n: int) -> str:
    """Sizes that no annotation tells, as the end of a sentence; "" where they are right."""
    (n_heads, n_queries, _), (n_shared, n_keys, _) = layer.q.shape, layer.k.shape
    if n_queries != n or not n_keys or (not layer.cross and n_keys != n):
        return f"{n_queries} queries and {n_keys} keys for {n} tokens"
    if not n_heads or not n_shared or n_heads % n_shared:
        return f"{n_heads} heads, which cannot share {n_shared} heads of keys"
    relative, signature = layer.relative, layer.signature
    if relative is not None and (layer.cross or relative.shape[1] != 2 * n - 1):
        return f"relative positions of {tuple(relative.shape)} that do not fit"
    if signature is not None and signature.shape[2] != N_SIGNATURES:
        return f"a signature of {tuple(signature.shape)} that does not fit"
    return ""


def _not_computed(layer: LayerTrace) -> str:
    """Numbers of which no map is computed; q, k or v may be NaN: a failed run is worth a look."""
    floats = {part: x for part in TENSORS if (x := getattr(layer, part)) is not None}
    floats.pop("mask", None)
    for part, x in floats.items():
        if x.dtype not in FLOATS:
            return f"a {part} of {x.dtype}, a dtype that maps are not computed in"
        # A bias may be −inf: that is how a sum forbids a pair.
        if part in ("bias", "relative") and bool((x.isnan() | x.isposinf()).any()):
            return f"a {part} with numbers that are NaN or infinite"
    wide = {
        floats[part].dtype == torch.float64 for part in ("q", "k", "v", "maps") if part in floats
    }
    if len(wide) > 1:
        return "numbers of both double and single precision"
    if layer.maps is not None:
        return ""  # shown as they are
    finite = [x.double().nan_to_num(0.0, 0.0, 0.0) for x in (layer.q, layer.k)]
    longest = [float(x.norm(dim=-1).max()) for x in finite]
    score = longest[0] * longest[1] * abs(layer.scale)
    return "" if score <= MAX_SCORE else f"scores of up to {score:.1e}, too large to compute maps"
