"""Proof: whether maps recomputed from a trace reproduce each layer's real output, row by row."""

import math
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.model.attention import signs
from viz_encoder.shown import counted, small
from viz_encoder.trace.head_rows import rows_at_once
from viz_encoder.trace.layer import LayerTrace, Origin
from viz_encoder.trace.row_walk import BLOCK_BYTES, BLOCK_BYTES_GPU, budget_of, walks

TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 5e-3, "bfloat16": 3e-2}
# For sums of weights rounded to the dtype's precision.
ROW_SUM_TOLERANCE = {"float16": 1e-3, "bfloat16": 5e-3}
PLAIN_ROW_SUM_TOLERANCE = 1e-4
FLOAT32_STEP = torch.finfo(torch.float32).eps
STEPS_A_KEY = 0.1
MOST = 5e-3  # hard limit: past this, maps are not shown as those that ran


@dataclass(frozen=True)
class Proof:
    """The measured evidence; error and tolerance are relative to the layer's largest output.

    Each row of softmax(QKᵀ · scale + mask)V is compared, in every layer and head, with the
    signature of what the attention kernel returned there: its product with fixed ±1 columns
    (Freivalds, 1977).
    """

    error: float | None  # of the layer nearest its tolerance; None without signatures
    tolerance: float  # tolerance of that layer
    worst: tuple[int, int, int] | None  # layer, head and query of that error
    row_sum_error: float  # largest |sum − 1| over nonempty rows, including sinks
    empty_rows: int  # rows that may attend to nothing, in all layers and heads
    nan_rows: int
    kernel: str
    row_sum_tolerance: float = PLAIN_ROW_SUM_TOLERANCE
    row_sums: tuple[float, float] = (1.0, 1.0)  # smallest and largest of those, with sinks
    sinks: tuple[tuple[float, ...], ...] = ()  # mean sink share of each layer's heads; () if none

    def __str__(self) -> str:
        """The evidence in a plain sentence."""
        return self.sentence

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.sentence)

    @property
    def passed(self) -> bool:
        """True if every row agrees, every row with its sink sums to 1, and none is NaN."""
        return self._agrees and self._sums_to_one and self.nan_rows == 0

    @property
    def _agrees(self) -> bool:
        return self.error is not None and self.error <= self.tolerance

    @property
    def _sums_to_one(self) -> bool:
        return self.row_sum_error <= self.row_sum_tolerance

    @property
    def checked(self) -> bool:
        """Whether there was anything to check against."""
        return self.error is not None or self.nan_rows > 0

    @property
    def sentence(self) -> str:
        """The evidence in a plain sentence."""
        if self.nan_rows or self.error == math.inf:
            return self._not_numbers
        if self.error is None:
            return f"This run kept nothing to check the maps against.{self._rows_below_one}"
        verdict = "are the ones that ran" if self._agrees else "are NOT the ones that ran"
        text = (
            f"The maps {verdict}: softmax(QKᵀ · scale + mask)V differs from the kernel's own "
            f"output by at most {small(self.error)} of its largest value, checked in every row of "
            "every head."
        )
        if self.empty_rows:
            text += (
                f" {counted(self.empty_rows, 'row')} may attend to nothing: every key is masked."
            )
        text += self._rows_below_one
        if self._agrees or self.worst is None:
            return text
        layer, head, query = self.worst
        return f"{text} The worst is layer {layer}, head {head}, query {query}."

    @property
    def _rows_below_one(self) -> str:
        """Whether rows sum to 1, and where the rest goes; empty for ordinary rows."""
        seen = any(self.sinks)
        if not self._sums_to_one:
            least, most = self.row_sums
            what = "rows, with the attention sink that was seen," if seen else "rows"
            return (
                f" But their {what} sum to {least:.3g} … {most:.3g}, not to 1: something that "
                "could not be identified changed the weights after the softmax."
            )
        if not seen:
            return ""
        shares = {(n, head): x for n, one in enumerate(self.sinks) for head, x in enumerate(one)}
        layer, head = max(shares, key=lambda at: shares[at])
        return (
            " Rows sum to less than 1 by design: the softmax also runs over an attention "
            "sink, a column without a key, which takes "
            f"{sum(shares.values()) / len(shares):.1%} of a row on average and most in layer "
            f"{layer}, head {head}: {shares[layer, head]:.1%}. Each row and its sink sum to 1."
        )

    @property
    def _not_numbers(self) -> str:
        """Where NaN or infinity first appears; usually, at a query that may attend to nothing."""
        layer, head, query = self.worst or (0, 0, 0)
        where = f" It begins in layer {layer}, head {head}, query {query}." if self.worst else ""
        rows = f"{counted(self.nan_rows, 'row')} of the maps and " if self.nan_rows else ""
        cause = ""
        if self.empty_rows:
            cause = (
                f" {counted(self.empty_rows, 'row')} may attend to nothing at all: every "
                "key is masked, and kernels often return NaN then. Check the mask."
            )
        text = f"{rows}the attention's outputs are not numbers (NaN or infinite).{where}{cause}"
        return text[0].upper() + text[1:]


def prove(layers: tuple[LayerTrace, ...], origin: Origin) -> Proof:
    """Recompute every row of every head, in blocks, and compare it with the kernel's output.

    Layers that the survey swept were already compared there.
    """
    error, tolerance, worst = 0.0, 1.0, None
    least, most = math.inf, -math.inf
    empty_rows = nan_rows = 0
    for index, layer in enumerate(layers):
        found, allowed = evidence_of(layer), _tolerance(layer, origin.dtype)
        empty_rows, nan_rows = empty_rows + found.empty_rows, nan_rows + found.nan_rows
        if found.row_sums is not None:
            least, most = min(least, found.row_sums[0]), max(most, found.row_sums[1])
        if found.error is None:
            continue
        if worst is None or found.error / allowed > error / tolerance:  # the first of equals
            error, tolerance, worst = found.error, allowed, (index, *found.at)
    sinks = [layer.sink for layer in layers]
    signed = all(layer.signature is not None for layer in layers)
    if least > most:  # no row may attend to anything
        least = most = 1.0
    return Proof(
        error if signed else None,
        *(tolerance, worst, max(abs(1 - least), abs(most - 1))),
        *(empty_rows, nan_rows, origin.kernel),
        ROW_SUM_TOLERANCE.get(origin.dtype, PLAIN_ROW_SUM_TOLERANCE),
        (least, most),
        tuple(() if one is None else tuple(one.mean(dim=-1).tolist()) for one in sinks),
    )


def _tolerance(layer: LayerTrace, dtype: str) -> float:
    """Rounding difference allowed between two summation orders.

    It grows with the scores and with the length of the sum: torch's own CPU kernel was measured
    0.02 float32 steps per key away from float64. The smallest real mistake we know is 7e-4.
    """
    plain = TOLERANCE.get(dtype, TOLERANCE["float32"])
    if dtype == "float64":
        return plain
    longest = [float(x.float().norm(dim=-1).max()) for x in (layer.q, layer.k)]
    scores = longest[0] * longest[1] * abs(layer.scale)
    grown = max(FLOAT32_STEP * scores, FLOAT32_STEP * STEPS_A_KEY * layer.k.shape[1])
    return max(plain, min(grown, MOST))


@dataclass(frozen=True)
class RowEvidence:
    """Evidence over all rows and heads of a layer; `error` is relative to the largest output."""

    error: float | None  # None without a signature
    at: tuple[int, int]  # head and query of the largest error
    row_sums: tuple[float, float] | None  # including sinks; None where every row is empty or NaN
    empty_rows: int
    nan_rows: int


Versions = tuple[int, ...]
_KEPT: "WeakKeyDictionary[LayerTrace, tuple[Versions, RowEvidence]]" = WeakKeyDictionary()


def evidence_of(layer: LayerTrace) -> RowEvidence:
    """Evidence from any sweep that covered all of this layer's rows, or from a new one."""
    versions, found = _KEPT.get(layer, (None, None))
    if found is None or versions != _versions(layer):
        found = weigh(layer, _checked_rows(layer))
    return found


def weigh(layer: LayerTrace, rows: Float[Tensor, "head checked query"]) -> RowEvidence:
    """Multiply rows by `check_columns`; the result is cached with the layer."""
    sums = rows[:, -1]
    whole = sums if layer.sink is None else sums + layer.sink
    whole = whole[(sums != 0) & ~sums.isnan()]
    error, at = None, (0, 0)
    if layer.signature is not None:
        errors = (rows[:, :-1].mT - layer.signature).abs().amax(dim=-1).nan_to_num(torch.inf)
        largest = float(layer.signature.abs().max()) or 1.0
        at = divmod(int(errors.argmax()), errors.shape[1])
        error = float(errors[at]) / largest
        error = math.inf if math.isnan(error) else error  # NaN would pass every comparison
    found = RowEvidence(
        error,
        at,
        (float(whole.min()), float(whole.max())) if len(whole) else None,
        int((sums == 0).sum()),
        int(sums.isnan().sum()),
    )
    _KEPT[layer] = _versions(layer), found
    return found


def check_columns(layer: LayerTrace) -> Float[Tensor, "head checked key"]:
    """Factors each row is multiplied by: V times its sign columns, one copy per query head, and
    ones.

    Laid out by key: with few columns, columnsᵀ · weightsᵀ is the fastest form and sums the most
    accurately.
    """
    v = layer.v.to(layer.wide)
    condensed = (v @ signs(v.shape[-1], v)).mT
    condensed = condensed.repeat_interleave(layer.n_heads // len(condensed), dim=0)
    ones = condensed.new_ones(layer.n_heads, 1, condensed.shape[2])
    return torch.cat([condensed, ones], dim=1)


def _checked_rows(layer: LayerTrace) -> Float[Tensor, "head checked query"]:
    columns = check_columns(layer)
    n_queries, n_keys = layer.q.shape[1], layer.k.shape[1]
    budget = budget_of(layer, BLOCK_BYTES, BLOCK_BYTES_GPU)
    step = min(n_queries, rows_at_once(n_keys, budget))
    found = columns.new_empty(layer.n_heads, columns.shape[1], n_queries)
    for walk in walks(layer, step, budget):
        for rows, weights in walk.blocks():
            found[walk.heads, :, rows] = torch.bmm(columns[walk.heads], weights.mT)
    return found


def _versions(layer: LayerTrace) -> Versions:
    """In-place version counter of each tensor; those of inference mode have none."""
    parts = (layer.q, layer.k, layer.v, layer.mask, layer.bias, layer.signature)
    more = (layer.maps, layer.relative, layer.sink)
    held = [part for part in (*parts, *more) if part is not None]
    return tuple(-1 if part.is_inference() else part._version for part in held)
