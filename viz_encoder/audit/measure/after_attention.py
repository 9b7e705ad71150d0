"""What becomes of attention's results: leaves of zeros, added to them, tell by their gradient."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.trace.torch_ops import SOFTMAX, over_last_axis


class Used(NamedTuple):
    """One call of a run: which of its rows, and which weights in them, have any effect."""

    n_keys: int
    rows: Bool[Tensor, "batch query"]
    cells: Bool[Tensor, "batch query key"] | None = None  # weights of a softmax that do
    weights: Float[Tensor, "batch query key"] | None = None  # the least of all heads

    def or_in(self, other: "Used") -> "Used":
        """What has an effect here or in another run of the same sizes."""
        cells = self.cells
        if cells is not None and other.cells is not None:
            cells = cells | other.cells
        return self._replace(rows=self.rows | other.rows, cells=cells)


class _Leaves(TorchFunctionMode):
    """While it is entered, adds a leaf to what each call over all queries of each sample gives."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case
        self.leaves: list[Tensor] = []  # "batch ... query last"
        self.calls: list[tuple[int, Tensor | None]] = []  # number of keys, weights

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run it, and add the leaf."""
        out = func(*args, **(kwargs or {}))
        if func is F.multi_head_attention_forward and out[0].ndim == 3:  # "query batch d"
            return (self._with(out[0].transpose(0, 1), len(args[1])).transpose(0, 1), *out[1:])
        if func is F.scaled_dot_product_attention:
            return self._with(out, args[1].shape[-2] if len(args) > 1 else 0)
        if func in SOFTMAX and over_last_axis(out, args, kwargs or {}):
            return self._with(out, out.shape[-1], out)
        return out

    def _with(self, out: Tensor, n_keys: int, weights: Tensor | None = None) -> Tensor:
        n_samples, n_tokens = self.case.valid.shape
        if out.ndim < 3 or len(out) != n_samples or out.shape[-2] != n_tokens or not n_keys:
            return out
        leaf = torch.zeros_like(out, requires_grad=True)
        self.leaves.append(leaf)
        self.calls.append((n_keys, None if weights is None else weights.detach()))
        return out + leaf


def used_results(subject: Subject, case: Case) -> list[Used]:
    """Each call whose result reaches a real token's output; none where it cannot be told."""
    try:
        with _Leaves(case) as seen:
            out = subject.run(case, grad=True)
        mixture = torch.randn(out.shape, generator=torch.Generator().manual_seed(3)).to(out)
        mixture = mixture * case.judged.view(*case.judged.shape, *[1] * (out.ndim - 2))
        grads = torch.autograd.grad(out, seen.leaves, mixture, allow_unused=True)
    except (ModelFault, RuntimeError):
        return []
    found = []
    for grad, (n_keys, weights) in zip(grads, seen.calls, strict=True):
        if grad is None or not bool(grad.isfinite().all()):
            continue
        cells = (grad != 0).flatten(1, -3).any(dim=1) if grad.ndim > 3 else grad != 0
        least = None
        if weights is not None:
            least = weights.flatten(1, -3).amin(dim=1) if weights.ndim > 3 else weights
        rows = cells.any(dim=-1)
        found.append(Used(n_keys, rows, None if least is None else cells, least))
    return [one for one in found if bool(one.rows.any())]
