"""Whether a cache whose samples were put into another order goes on as those samples would."""

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.changes import gap
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import Check, fails, passes, untested


@question("Beams in another order", Evidence.USE, after="runs cache", one_sided=True)
def beam_reorder(context: AuditContext) -> Check:
    """A prompt, then the beams in another order with one of them twice, against all at once."""
    scope = context.scope
    if scope.step is None or scope.reorder is None:
        return untested("Beams in another order: no AuditScope(step=…, reorder=…) was given.")
    found = _fault(context, context.full)
    padded = scope.step_takes_mask and context.setting.pads
    if found is None and padded:
        valid = context.setting.padding(context.base.valid.shape[1], left=True)
        found = _fault(context, context.setting.case(valid))
    where = "with padding and without" if padded else "without padding"
    return found or passes(f"Reordered beams go on as those samples would, {where}.")


def _fault(context: AuditContext, case: Case) -> Check | None:
    """The prompt of each beam is that of another sample; what follows is its own."""
    n_samples, n_tokens = case.valid.shape
    order = torch.arange(n_samples, device=case.x.device).roll(1)
    order[0] = order[-1]  # one beam has ended, another goes on twice
    half = max(n_tokens // 2, int((~case.valid).sum(dim=1).max()))  # then all are real
    x = torch.cat([case.x[order, :half], case.x[:, half:]], dim=1)
    valid = torch.cat([case.valid[order, :half], case.valid[:, half:]], dim=1)
    beams = context.setting.case(valid, x=x)
    whole = context.subject.run(beams)
    try:
        out = _stepped(context, case, beams, order, half)
    except Exception as fault:
        text = f"With beams in another order, step raised {type(fault).__name__}: {fault}."
        return fails(text)
    apart = gap(out, whole[:, half:], valid[:, half:])
    if apart.amount <= context.tolerance(whole):
        return None
    with_padding = ", with padding before the prompt," if case.padded else ""
    text = (
        f"After the beams were reordered{with_padding} token {half + apart.query} of beam "
        f"{apart.sample} differs by {apart.amount:.2g} from running the same tokens all at "
        "once."
    )
    found = fails(text).at(apart._replace(query=half + apart.query))
    return found.because(diagnose("beam", sure=False))


def _stepped(context: AuditContext, case: Case, beams: Case, order: Tensor, half: int) -> Tensor:
    """The prompt at once, then the rest token by token on the reordered cache."""
    step, reorder = context.scope.step, context.scope.reorder
    assert step is not None and reorder is not None

    def more(seen: Case, count: int) -> list[object]:
        valid, x = seen.valid[:, :count], seen.x[:, :count]
        return [context.setting.passed(valid, x)] if context.scope.step_takes_mask else []

    with torch.no_grad():
        _, cache = step(case.x[:, :half].clone(), None, *more(case, half))
        cache, rows = reorder(cache, order.clone()), []
        for at in range(half, case.valid.shape[1]):
            out, cache = step(case.x[:, at : at + 1].clone(), cache, *more(beams, at + 1))
            rows.append(context.subject.read(out, beams.valid[:, at : at + 1]))
    return torch.cat(rows, dim=1)
