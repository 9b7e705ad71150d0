"""Saved attributions: what a file holds of a split score, and of the runs that it is of."""

import math
from typing import Any, get_args

import torch
from torch import Tensor

from viz_encoder.arguments import AnyPath, public
from viz_encoder.attribution.attribution import Attribution, put_together
from viz_encoder.attribution.frozen_run import Flow, ScorePart
from viz_encoder.attribution.readout import Of, Score
from viz_encoder.attribution.rules import Through
from viz_encoder.errors import TraceError
from viz_encoder.trace.recomputed import allowed
from viz_encoder.trace.saved import facts_of, tensors_of
from viz_encoder.trace.saved_file import (
    Damaged,
    FileKind,
    NamedTensors,
    all_of_kind,
    exactly,
    one_of_kind,
    pop_tensor,
    read,
    write,
)
from viz_encoder.trace.trace import Trace
from viz_encoder.trace.unpack import unpack

KIND = FileKind(
    "viz_encoder.attribution", "an attribution", "saved attribution", "found.save(path)"
)
ARRAYS = ("states", "brought", "before", "after")  # of a flow
WORDS = ("words", "unit", "through")


@public(fault=TraceError)
def save(found: Attribution, path: AnyPath) -> None:
    """See `Attribution.save`."""
    named: NamedTensors = {}
    runs = []
    for number, part in enumerate(found.parts):
        run = {**tensors_of(part.flow.trace), **_tensors(part)}
        named |= {f"{number}.{name}": tensor for name, tensor in run.items()}
        runs.append({
            "trace": facts_of(part.flow.trace), "sign": part.sign, "read": part.flow.read,
        })  # fmt: skip
    words = {name: getattr(found, name) for name in WORDS}
    asked = found.asked
    named["direction"] = asked.direction.cpu()
    read_as = {"of": asked.of, "token": asked.token, "less": asked.less}
    facts = {"score": found.score, "names": found.names, "runs": runs, "asked": read_as, **words}
    write(KIND, named, facts, path)


@public(fault=TraceError)
def load(path: AnyPath) -> Attribution:
    """See `Attribution.load`."""
    return read(KIND, path, _unpack)


def _tensors(part: ScorePart) -> NamedTensors:
    flow = part.flow
    arrays = {name: getattr(flow, name) for name in ARRAYS} | {"columns": part.columns}
    return {
        **{f"flow.{name}": torch.from_numpy(array) for name, array in arrays.items()},
        **{f"flow.gradients.{layer}": each for layer, each in enumerate(flow.gradients)},
    }


def _unpack(named: NamedTensors, facts: Any) -> Attribution:
    """Build it from the tensors and facts of an untrusted file; its sums must hold."""
    exactly(facts, "its description", f"score names runs asked {' '.join(WORDS)}")
    names = all_of_kind(facts["names"], str, "names")
    words, unit, through = (one_of_kind(facts[name], str, name) for name in WORDS)
    runs = all_of_kind(facts["runs"], dict, "runs")
    if len(runs) not in (1, 2) or through not in get_args(Through):
        raise Damaged("it is of no run that can be split")
    asked = _asked(pop_tensor(named, "direction"), facts["asked"])
    parts = tuple(_part(_of_run(named, number), run, len(names)) for number, run in enumerate(runs))
    if named:
        raise Damaged(f"it holds tensors of no run, such as {min(named)[:40]!r}")
    found = put_together(
        _number(facts["score"], "score"), parts, names, words, unit, through, asked
    )
    off = not found.unexplained <= allowed(parts[0].flow.gradients[0].dtype)
    if off and found.through == "values":
        raise Damaged("its shares do not add up to its score")
    return found


def _asked(direction: Tensor, about: Any) -> Score:
    exactly(about, "its question", "of token less")
    if about["of"] not in get_args(Of) or direction.ndim != 1:
        raise Damaged("it is of no known question")
    token = about["token"]
    token = None if token is None else one_of_kind(token, int, "token")
    return Score(about["of"], token, direction, _number(about["less"], "less"))


def _of_run(named: NamedTensors, number: int) -> NamedTensors:
    """Take a run's tensors out of all."""
    start = f"{number}."
    mine = [name for name in named if name.startswith(start)]
    return {name.removeprefix(start): named.pop(name) for name in mine}


def _part(named: NamedTensors, about: Any, n_columns: int) -> ScorePart:
    exactly(about, "a run", "trace sign read")
    flow = {name: named.pop(name) for name in list(named) if name.startswith("flow.")}
    trace = unpack(named, about["trace"])
    if trace.layers[0].cross:
        raise Damaged("it is of cross-attention, of which no score is split")
    columns = _array(flow, "columns", (trace.n_tokens,), torch.int64)
    places = columns[columns >= 0]
    apart = len(set(places.tolist())) == len(places)
    if not apart or columns.min() < -1 or columns.max() >= n_columns:
        raise Damaged("its tokens do not stand at columns of their own")
    sign = _number(about["sign"], "sign")
    if abs(sign) != 1:
        raise Damaged(f"a run has the sign {sign}")
    return ScorePart(sign, _flow(flow, trace, _number(about["read"], "read")), columns)


def _flow(named: NamedTensors, trace: Trace, read: float) -> Flow:
    n, n_layers, n_heads = trace.n_tokens, trace.n_layers, trace.n_heads
    whole = (n_layers, n)
    shapes = {
        "states": (n_layers + 1, n), "brought": (n_layers, n_heads, n),
        "before": whole, "after": whole,
    }  # fmt: skip
    arrays = {name: _array(named, name, shape, torch.float64) for name, shape in shapes.items()}
    gradients = tuple(
        _gradient(named, layer, (n_heads, n, ran.v.shape[-1]), ran.q.dtype)
        for layer, ran in enumerate(trace.layers)
    )
    if named:
        raise Damaged(f"it holds parts of no flow, such as {min(named)[:40]!r}")
    return Flow(trace, **arrays, read=read, gradients=gradients)


def _gradient(
    named: NamedTensors, layer: int, shape: tuple[int, ...], dtype: torch.dtype
) -> Tensor:
    found = pop_tensor(named, f"flow.gradients.{layer}")
    if found.shape != shape or found.dtype != dtype:
        raise Damaged(f"layer {layer} has gradients that do not fit")
    return found


def _array(named: NamedTensors, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> Any:
    found = pop_tensor(named, f"flow.{name}")
    if found.shape != shape or found.dtype != dtype or not bool(found.isfinite().all()):
        raise Damaged(f"{name} is not of its tokens and layers")
    return found.numpy()


def _number(value: Any, name: str) -> float:
    found = float(one_of_kind(value, (int, float), name))
    if not math.isfinite(found):
        raise Damaged(f"{name} is not a number")
    return found
