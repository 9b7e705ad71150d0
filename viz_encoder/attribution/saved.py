"""Saved attributions: what a file holds of a split score, and of the runs that it is of."""

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from viz_encoder.arguments import AnyPath, public
from viz_encoder.attribution.attribution import Attribution, put_together
from viz_encoder.attribution.frozen_run import Flow, ScorePart
from viz_encoder.attribution.readout import Of, Score
from viz_encoder.attribution.rules import Through
from viz_encoder.errors import TraceError
from viz_encoder.trace.recomputed import allowed
from viz_encoder.trace.saved import TraceFacts, facts_of, tensors_of, unpack
from viz_encoder.trace.saved_file import Damaged, FileKind, NamedTensors, pop_tensor, read, write
from viz_encoder.trace.trace import Trace

KIND = FileKind(
    "viz_encoder.attribution", "an attribution", "saved attribution", "found.save(path)"
)
ARRAYS = ("states", "brought", "before", "after")  # of a flow


@dataclass(frozen=True)
class _AskedFacts:
    of: Of
    token: int | None
    less: float


@dataclass(frozen=True)
class _RunFacts:
    trace: TraceFacts
    sign: float
    read: float


@dataclass(frozen=True)
class _Facts:
    """What is no tensor of an attribution."""

    score: float
    names: tuple[str, ...]
    runs: tuple[_RunFacts, ...]
    asked: _AskedFacts
    words: str
    unit: str
    through: Through


@public(fault=TraceError)
def save(found: Attribution, path: AnyPath) -> None:
    """See `Attribution.save`."""
    named: NamedTensors = {"direction": found.asked.direction.cpu()}
    for number, part in enumerate(found.parts):
        run = {**tensors_of(part.flow.trace), **_tensors(part)}
        named |= {f"{number}.{name}": tensor for name, tensor in run.items()}
    asked = found.asked
    facts = _Facts(
        found.score,
        found.names,
        tuple(_RunFacts(facts_of(p.flow.trace), p.sign, p.flow.read) for p in found.parts),
        _AskedFacts(asked.of, asked.token, asked.less),
        found.words,
        found.unit,
        cast("Through", found.through),
    )
    write(KIND, named, facts, path)


@public(fault=TraceError)
def load(path: AnyPath) -> Attribution:
    """See `Attribution.load`."""
    return read(KIND, path, _Facts, _unpack)


def _tensors(part: ScorePart) -> NamedTensors:
    flow = part.flow
    arrays = {name: getattr(flow, name) for name in ARRAYS} | {"columns": part.columns}
    return {
        **{f"flow.{name}": torch.from_numpy(array) for name, array in arrays.items()},
        **{f"flow.gradients.{layer}": each for layer, each in enumerate(flow.gradients)},
    }


def _unpack(named: NamedTensors, facts: _Facts) -> Attribution:
    """Build it from the tensors and facts of an untrusted file; its sums must hold."""
    direction, n = pop_tensor(named, "direction"), len(facts.names)
    if len(facts.runs) not in (1, 2) or direction.ndim != 1:
        raise Damaged("it is of no run, or of no direction, that can be split")
    asked = Score(facts.asked.of, facts.asked.token, direction, facts.asked.less)
    runs = enumerate(facts.runs)
    parts = tuple(_part(_of_run(named, number), run, n) for number, run in runs)
    if named:
        raise Damaged(f"it holds tensors of no run, such as {min(named)[:40]!r}")
    found = put_together(
        facts.score, parts, facts.names, facts.words, facts.unit, facts.through, asked
    )
    off = not found.unexplained <= allowed(parts[0].flow.gradients[0].dtype)
    if off and found.through == "values":
        raise Damaged("its shares do not add up to its score")
    return found


def _of_run(named: NamedTensors, number: int) -> NamedTensors:
    start = f"{number}."
    mine = [name for name in named if name.startswith(start)]
    return {name.removeprefix(start): named.pop(name) for name in mine}


def _part(named: NamedTensors, about: _RunFacts, n_columns: int) -> ScorePart:
    flow = {name: named.pop(name) for name in list(named) if name.startswith("flow.")}
    trace = unpack(named, about.trace)
    if trace.layers[0].cross:
        raise Damaged("it is of cross-attention, of which no score is split")
    columns = _array(flow, "columns", (trace.n_tokens,), torch.int64)
    places = columns[columns >= 0]
    apart = len(set(places.tolist())) == len(places)
    if not apart or columns.min() < -1 or columns.max() >= n_columns:
        raise Damaged("its tokens do not stand at columns of their own")
    if abs(about.sign) != 1:
        raise Damaged(f"a run has the sign {about.sign}")
    return ScorePart(about.sign, _flow(flow, trace, about.read), columns)


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
