"""Proof: whether the maps recomputed from a trace give back what each layer really put out."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.model.attention import signs

if TYPE_CHECKING:
    from viz_encoder.trace.trace import LayerTrace, Trace

TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 5e-3, "bfloat16": 3e-2}


@dataclass(frozen=True)
class Proof:
    """The measured evidence; error and tolerance are relative to the layer's largest output.

    Each row of softmax(QKᵀ)V is compared, in every layer and head, with the signature of what the
    attention kernel returned there: its product with fixed ±1 columns (Freivalds, 1977).
    """

    error: float | None  # None when the run kept no signatures
    tolerance: float
    worst: tuple[int, int, int] | None  # layer, head, query of the largest error
    row_sum_error: float  # largest |sum − 1| over rows that may attend to anything
    empty_rows: int  # rows that may attend to nothing, over all layers and heads
    nan_rows: int
    kernel: str

    @property
    def passed(self) -> bool:
        """True when every row agrees, every row sums to 1 and none is NaN."""
        agrees = self.error is not None and self.error <= self.tolerance
        return agrees and self.row_sum_error <= 1e-4 and self.nan_rows == 0

    @property
    def sentence(self) -> str:
        """The evidence in a plain sentence."""
        if self.nan_rows:
            return f"{self.nan_rows:,} rows of the attention are not numbers (NaN)."
        if self.error is None:
            return "This run kept nothing to check the maps against."
        verdict = "are the ones that ran" if self.passed else "are NOT the ones that ran"
        text = (
            f"The maps {verdict}: softmax(QKᵀ)V differs from the kernel's own output by at most "
            f"{self.error:.1e} of its largest value, checked in every row of every head."
        )
        if self.passed or self.worst is None:
            return text
        layer, head, query = self.worst
        return f"{text} The worst is layer {layer}, head {head}, query {query}."


def prove(trace: "Trace") -> Proof:
    """Recompute every row of every head, in blocks, and compare it with what the kernel gave."""
    worst: tuple[int, int, int] | None = None
    error, sum_error, nan_rows, empty_rows = 0.0, 0.0, 0, 0
    checked = all(layer.signature is not None for layer in trace.layers)
    for index, layer in enumerate(trace.layers):
        expected = _condensed_values(layer)
        largest = float(layer.signature.abs().max()) if layer.signature is not None else 1.0
        for rows, weights in trace.blocks(index):
            sums = weights.sum(dim=-1)
            nan_rows += int(sums.isnan().sum())
            empty_rows += int((sums == 0).sum())
            off = torch.where(sums == 0, 0, (sums - 1).abs()).nan_to_num()
            sum_error = max(sum_error, float(off.max()))
            if layer.signature is None:
                continue
            apart = (weights @ expected - layer.signature[:, rows]).abs().amax(dim=-1)
            block_error, where = apart.nan_to_num(torch.inf).flatten().max(dim=0)
            relative = float(block_error) / (largest or 1.0)
            if relative > error:
                head, row = divmod(int(where), apart.shape[1])
                error, worst = relative, (index, head, row + rows.start)
    origin = trace.origin
    tolerance = TOLERANCE.get(origin.dtype, 1e-5)
    return Proof(
        error if checked else None,
        tolerance,
        worst,
        sum_error,
        empty_rows,
        nan_rows,
        origin.kernel,
    )


def _condensed_values(layer: "LayerTrace") -> Float[Tensor, "head key signature"]:
    """V times the sign columns, one copy a query head."""
    v = layer.v.to(torch.promote_types(layer.v.dtype, torch.float32))
    condensed = v @ signs(v.shape[-1], v)
    return condensed.repeat_interleave(layer.q.shape[0] // layer.k.shape[0], dim=0)
