"""Whether a sample of nothing but padding harms the others."""

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.difference import gap
from viz_encoder.audit.measure.setting import ModelFault
from viz_encoder.audit.question import question
from viz_encoder.audit.report import Check, Verdict, passes, untested


@question(
    "A sample of nothing but padding",
    after="runs constants batch_independence maps gradient perturbation permutation",
    order=150,
    compares=True,
)
def empty_sample(context: AuditContext) -> Check:
    """The others must stay as they are; what the empty one gives is told, and is no fault."""
    if not context.setting.pads:
        return untested("A sample of nothing but padding: your valid has no padding at its ends.")
    own = _own(context)
    if own is not None:
        return own
    valid = context.base.valid.clone()
    empty = int(valid.sum(dim=1).argmin())
    valid[empty] = False
    case = context.setting.case(valid, x=context.base.x)
    try:
        out = context.subject.run(case)
    except ModelFault as fault:
        return Check(Verdict.INFO, f"A sample of nothing but padding is refused: {fault}.")
    rows = valid if out.ndim > 2 else valid.any(dim=1, keepdim=True)
    apart = gap(out, context.out, rows)
    if apart.amount > context.tolerance(context.out):
        text = (
            f"With sample {empty} all padding, token {apart.query} of sample {apart.sample} "
            f"changes by {apart.amount:.2g}."
        )
        found = Check(Verdict.FAIL, text).at(apart)
        spread = not bool(out.isfinite().all())
        return found.because(diagnose("empty_row", sure=False)) if spread else found
    kind = _kind(out[empty])
    text = f"A sample of nothing but padding gives {kind}; the others stay as they are."
    trained = "" if context.grad_fault else _kind(context.subject.run(case, grad=True)[empty])
    if "NaN" not in (kind, trained):
        return passes(text)
    text += f" With gradients on, it gives {trained}." if trained not in (kind, "") else ""
    return Check(Verdict.INFO, text, cure="Drop such samples before the model.", sample=empty)


def _kind(out: Tensor) -> str:
    """What the rows of one sample are, in a word."""
    if bool(out.isnan().any()):
        return "NaN"
    return "zeros" if bool((out == 0).all()) else "numbers"


def _own(context: AuditContext) -> Check | None:
    """The caller's own valid may hold such a sample: then its NaN is in the caller's data."""
    rows = (~context.base.valid.any(dim=1)).nonzero()[:, 0].tolist()
    for sample in rows:
        if bool(context.out[sample].isnan().any()):
            text = f"Sample {sample} of your valid is all padding, and its output is NaN."
            cure = (
                "Drop such samples, or let them attend to one token: ignore & valid.any(1, True)."
            )
            return Check(Verdict.FAIL, text, sample=sample, cure=cure)
    return (
        passes("Your valid holds a sample of nothing but padding; it gives no NaN.")
        if rows
        else None
    )
