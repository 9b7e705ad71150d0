"""Proof: whether the maps recomputed from a trace give back what each layer really put out."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.model.attention import signs
from viz_encoder.trace.layer import LayerTrace, Origin

TOLERANCE = {"float64": 1e-10, "float32": 1e-5, "float16": 5e-3, "bfloat16": 3e-2}
ROW_SUM_TOLERANCE = 1e-4
FLOAT32_STEP = torch.finfo(torch.float32).eps
STEPS_A_KEY = 0.1
SHORT_SUM = 512
MOST = 5e-3  # whatever the scores: past this, the maps are not shown as the ones that ran


@dataclass(frozen=True)
class Proof:
    """The measured evidence; error and tolerance are relative to the layer's largest output.

    Each row of softmax(QKᵀ)V is compared, in every layer and head, with the signature of what the
    attention kernel returned there: its product with fixed ±1 columns (Freivalds, 1977).
    """

    error: float | None  # of the layer nearest to its tolerance; None without signatures
    tolerance: float  # of that layer
    worst: tuple[int, int, int] | None  # layer, head, query of that error
    row_sum_error: float  # largest |sum − 1| over rows that may attend to anything
    empty_rows: int  # rows that may attend to nothing, over all layers and heads
    nan_rows: int
    kernel: str

    @property
    def passed(self) -> bool:
        """True when every row agrees, every row sums to 1 and none is NaN."""
        agrees = self.error is not None and self.error <= self.tolerance
        return agrees and self.row_sum_error <= ROW_SUM_TOLERANCE and self.nan_rows == 0

    @property
    def checked(self) -> bool:
        """Whether there was anything to check the maps against."""
        return self.error is not None or self.nan_rows > 0

    @property
    def sentence(self) -> str:
        """The evidence in a plain sentence."""
        if self.nan_rows or self.error == math.inf:
            return self._not_numbers
        if self.error is None:
            return "This run kept nothing to check the maps against."
        verdict = "are the ones that ran" if self.passed else "are NOT the ones that ran"
        text = (
            f"The maps {verdict}: softmax(QKᵀ)V differs from the kernel's own output by at most "
            f"{self.error:.1e} of its largest value, checked in every row of every head."
        )
        if self.empty_rows:
            text += f" {self.empty_rows:,} rows may attend to nothing: every key is masked."
        if self.passed or self.worst is None:
            return text
        layer, head, query = self.worst
        return f"{text} The worst is layer {layer}, head {head}, query {query}."

    @property
    def _not_numbers(self) -> str:
        """Where NaN or infinity begins, and the usual cause: a query that may attend to nothing."""
        layer, head, query = self.worst or (0, 0, 0)
        where = f" It begins in layer {layer}, head {head}, query {query}." if self.worst else ""
        rows = f"{self.nan_rows:,} rows of the maps and " if self.nan_rows else ""
        cause = ""
        if self.empty_rows:
            cause = (
                f" {self.empty_rows:,} rows may attend to nothing at all: every key is masked for "
                "them, and what a kernel gives then is often NaN. Look at the mask."
            )
        text = f"{rows}the attention's outputs are not numbers (NaN or infinite).{where}{cause}"
        return text[0].upper() + text[1:]


@dataclass
class _Evidence:
    """What is known of the layers walked through so far."""

    error: float = 0.0
    tolerance: float = 1.0
    worst: tuple[int, int, int] | None = None
    row_sum_error: float = 0.0
    empty_rows: int = 0
    nan_rows: int = 0

    def add_sums(self, sums: Float[Tensor, "head query"]) -> None:
        self.nan_rows += int(sums.isnan().sum())
        self.empty_rows += int((sums == 0).sum())
        off = torch.where(sums == 0, 0, (sums - 1).abs()).nan_to_num()
        self.row_sum_error = max(self.row_sum_error, float(off.max()))

    def add_error(self, error: float, tolerance: float, at: tuple[int, int, int]) -> None:
        error = math.inf if math.isnan(error) else error  # else no comparison would see it
        worse = error / tolerance > self.error / self.tolerance  # of equals the first counts
        if self.worst is None or worse:
            self.error, self.tolerance, self.worst = error, tolerance, at


def prove(layers: tuple[LayerTrace, ...], origin: Origin) -> Proof:
    """Recompute every row of every head, in blocks, and compare it with what the kernel gave."""
    found = _Evidence()
    for index, layer in enumerate(layers):
        expected, tolerance = _condensed_values(layer), _tolerance(layer, origin.dtype)
        largest = float(layer.signature.abs().max()) if layer.signature is not None else 0.0
        for rows, weights in layer.blocks(slice(0, layer.n_heads)):
            found.add_sums(weights.sum(dim=-1))
            if layer.signature is None:
                continue
            errors = (_product(weights, expected) - layer.signature[:, rows]).abs().amax(dim=-1)
            error, where = errors.nan_to_num(torch.inf).flatten().max(dim=0)
            head, row = divmod(int(where), errors.shape[1])
            at = (index, head, row + rows.start)
            found.add_error(float(error) / (largest or 1.0), tolerance, at)
    signed = all(layer.signature is not None for layer in layers)
    return Proof(
        found.error if signed else None,
        *(found.tolerance, found.worst, found.row_sum_error, found.empty_rows, found.nan_rows),
        origin.kernel,
    )


def _product(
    weights: Float[Tensor, "head query key"], values: Float[Tensor, "head key signature"]
) -> Float[Tensor, "head query signature"]:
    """weights @ values in short sums: with so few columns torch adds all keys up one by one."""
    parts = zip(weights.split(SHORT_SUM, dim=2), values.split(SHORT_SUM, dim=1), strict=True)
    return torch.stack([w @ v for w, v in parts]).sum(dim=0)


def _tolerance(layer: LayerTrace, dtype: str) -> float:
    """The rounding that two orders of summation may differ by.

    Large scores round more coarsely, and so do long sums: torch's own CPU kernel was measured at
    0.02 float32 steps a key from float64. The smallest real mistake we know is 7e-4.
    """
    plain = TOLERANCE.get(dtype, TOLERANCE["float32"])
    if dtype == "float64":
        return plain
    longest = [float(x.float().norm(dim=-1).max()) for x in (layer.q, layer.k)]
    scores = longest[0] * longest[1] * abs(layer.scale)
    grown = max(FLOAT32_STEP * scores, FLOAT32_STEP * STEPS_A_KEY * layer.k.shape[1])
    return max(plain, min(grown, MOST))


def _condensed_values(layer: LayerTrace) -> Float[Tensor, "head key signature"]:
    """V times the sign columns, one copy a query head."""
    v = layer.v.to(torch.promote_types(layer.v.dtype, torch.float32))
    condensed = v @ signs(v.shape[-1], v)
    return condensed.repeat_interleave(layer.q.shape[0] // layer.k.shape[0], dim=0)
