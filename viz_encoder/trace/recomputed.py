"""Recomputes a run's numbers with a model, and bounds how far they may differ."""

from collections.abc import Collection
from contextlib import AbstractContextManager

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.trace.capture import at_rest
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.recorded_parts import RecordedParts, WeightSource
from viz_encoder.trace.trace import Trace

TOLERANCE = 1e-4  # relative to the largest value; in half precision, 16 roundings


def resting(encoder: WeightSource) -> AbstractContextManager[None]:
    """Run without dropout and without gradients."""
    if isinstance(encoder, RecordedParts):
        return torch.inference_mode()
    return at_rest(encoder.model)


def head_outputs(
    ran: LayerTrace, weights: Float[Tensor, "head row key"], gone: Collection[int] = ()
) -> Float[Tensor, "head row d_value"]:
    """Σ α · v of every head for some rows of its map; 0 for heads removed from the run.

    Values shared by several heads are not copied.
    """
    n_heads, n_rows, _ = weights.shape
    shared = weights.unflatten(0, (ran.v.shape[0], -1)).flatten(1, 2)  # "kv_head rows key"
    outs = torch.bmm(shared, ran.v.to(weights.dtype)).view(n_heads, n_rows, -1)
    outs[list(gone)] = 0.0
    return outs


def angles_of(
    encoder: LoadedEncoder, trace: Trace, layer: int
) -> Float[Tensor, "token half"] | None:
    """Rotary angles of a layer for this run's tokens; None if it has none."""
    config = encoder.config
    if config.rotary_base is None:
        return None
    shape, local = shaped_as(trace, config), config.is_local(layer)
    return encoder.model.angles(shape, trace.n_tokens, local, encoder.device)


def shaped_as(trace: Trace, config: EncoderConfig) -> Tensor:
    """Meta tensor with the input's shape, which is all that patch positions need."""
    if config.embedding is not Embedding.PATCH:
        return torch.empty(1, trace.n_tokens, device="meta")
    if trace.grid is None:
        raise SelectionError("This run does not record its patch grid, which the positions need.")
    side = config.patch_size
    return torch.empty(1, 1, trace.grid.n_rows * side, trace.grid.n_cols * side, device="meta")


def apart(found: Tensor, ran: Tensor, added_to: Tensor | None = None) -> float:
    """Largest difference from what ran, relative to its largest value; matching NaN or inf is
    equal.

    With `added_to`, both are sums that include that tensor: the difference is relative to the
    largest addend, less the rounding of the sum itself, because some models' residuals hold values
    of 1,000.
    """
    rounding = 4 * torch.finfo(ran.dtype).eps
    found, ran = found.detach().cpu().double(), ran.detach().cpu().double()
    off, of = (found - ran).abs(), ran
    if added_to is not None:
        of = ran - added_to.detach().cpu().double()
        off = (off - rounding * ran.abs()).clamp_min(0)
    off = off.masked_fill((found == ran) | (found.isnan() & ran.isnan()), 0.0)
    largest = of.nan_to_num(0.0, 0.0, 0.0).abs().max().clamp_min(torch.finfo(torch.float32).tiny)
    return float(off.max() / largest)


def allowed(dtype: torch.dtype) -> float:
    """Largest relative difference that rounding alone can cause."""
    return max(TOLERANCE, 16 * torch.finfo(dtype).eps)


def require_as_ran(found: float, what: str, dtype: torch.dtype) -> None:
    """Raise unless the numbers match the run.

    Raises:
        TraceError: they differ by more than rounding.
    """
    if not found <= allowed(dtype):  # also catches NaN
        raise TraceError(
            f"{what}, recomputed, differs from what ran by {found:.2g} of the largest value "
            f"(rounding would explain {allowed(dtype):.2g}), so it is not shown. Give the model "
            "that ran, with the weights and the input it ran with."
        )
