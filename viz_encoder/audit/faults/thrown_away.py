"""Whether attention's results are thrown away, or its weights go to what is filled with zeros."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.setting import MASS, Case, ModelFault
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.measure.watch import CallWatch
from viz_encoder.audit.report import Check, fails
from viz_encoder.shown import counted
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


class _Leaves(CallWatch):
    """While it is entered, adds a leaf to what each call over all queries of each sample gives."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case
        self.leaves: list[Tensor] = []  # "batch ... query last"
        self.calls: list[tuple[int, Tensor | None]] = []  # number of keys, weights

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """Add the leaf."""
        if func is F.multi_head_attention_forward and out[0].ndim == 3:  # "query batch d"
            return (self._with(out[0].transpose(0, 1), len(args[1])).transpose(0, 1), *out[1:])
        if func is F.scaled_dot_product_attention:
            return self._with(out, args[1].shape[-2] if len(args) > 1 else 0)
        if func in SOFTMAX and over_last_axis(out, args, kwargs):
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


MORE = 20  # further inputs that may use what one does not
EXACT = (torch.float32, torch.float64)  # in half precision a gradient may vanish by itself


def find_thrown_away(context: AuditContext, case: Case) -> Check | None:
    """The first call of which some rows have no effect, or some weights, where others have.

    Rows that other tokens in these places do not lose are left out by content, as in pruning.
    """
    subject, maps = context.subject, context.maps
    if context.is_pooled or context.scope.may_leave_out or subject.dtype not in EXACT:
        return None
    if subject.reorders or not (maps.layers or maps.cross or maps.left_out):
        return None
    used = used_results(subject, case)
    found = _first(context, case, used)
    for seed in () if context.setting.fixed else range(1, MORE + 1):
        if found is None:
            break
        other = used_results(subject, context.setting.case(case.valid, seed=seed))
        used = [one.or_in(more) for one, more in zip(used, other, strict=False)]
        found = _first(context, case, used)
    return found


def _first(context: AuditContext, case: Case, used: Sequence[Used]) -> Check | None:
    for number, one in enumerate(used):
        rows = _rows(context, case, one)
        found = _dropped(number, one, rows, case.valid) if rows is not None else None
        found = found or (_filled(number, one, case) if context.maps.left_out else None)
        if found is not None:
            return found
    return None


def _rows(context: AuditContext, case: Case, one: Used) -> Tensor | None:
    """The rows that count: real tokens that may look at anything; None where it is not known."""
    crossed = context.crossed(case.valid)
    if crossed is not None and crossed.shape[1:] == (one.rows.shape[1], one.n_keys):
        return crossed.any(dim=2) & case.judged
    itself = one.n_keys >= one.rows.shape[1] and not context.maps.cross
    return case.judged if itself else None


def _dropped(number: int, one: Used, rows: Tensor, valid: Tensor) -> Check | None:
    """Rows but the last of each sample, which a model that moves its outputs on leaves out."""
    last = rows & (valid.flip(1).cumsum(dim=1).flip(1) == 1)
    lost = rows & ~one.rows
    if not bool((lost & ~last).any()) or not bool((rows & one.rows).any()):
        return None
    sample, query = (int(n) for n in lost.nonzero()[0])
    text = (
        f"What attention gives token {query} of sample {sample} reaches no output, though what it "
        f"gives others does (call {number}, counted from 0; {counted(int(lost.sum()), 'row')} of "
        f"{int(rows.sum())})."
    )
    found = fails(text, sample=sample, query=query, amount=0.0)
    return found.because(diagnose("rows_dropped"))


def _filled(number: int, one: Used, case: Case) -> Check | None:
    """Of a band of keys a query: those past the ends, where some rows have none."""
    if one.cells is None or one.weights is None or one.n_keys >= one.rows.shape[1]:
        return None
    share = one.weights.masked_fill(one.cells, 0.0).sum(dim=2)
    at = (share > MASS) & case.judged & one.rows  # a row with no key at all may be set to 0
    if not bool(at.any()) or not bool((case.judged & ~at).any()):
        return None
    sample, query = (int(n) for n in at.nonzero()[0])
    amount = float(share[sample, query])
    text = (
        f"In row {query} of sample {sample}, {amount:.3g} of the attention goes to keys that hold "
        f"nothing, and in other rows none does (call {number}, counted from 0)."
    )
    found = fails(text, sample=sample, query=query, amount=amount)
    return found.because(diagnose("open_slots"))
