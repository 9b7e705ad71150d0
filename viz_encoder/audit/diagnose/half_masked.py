"""Attention that masks only a part of itself, such as its values and not its normalizer."""

from torch import Tensor

from viz_encoder.audit.answer import Diagnosis
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.inner_rows import InnerRows, inner_rows
from viz_encoder.audit.measure.setting import Case


def half_masked(context: AuditContext, case: Case, name: str, number: int) -> Diagnosis | None:
    """Whether forbidden tokens are kept out of one inner module, and get in by another.

    So on this batch and on each further one on which they get in at all.
    """
    cases = (case, *context.batches.further(case))
    inner = [inner_rows(context.subject, o, name, context.intent(o, number)) for o in cases]
    told = {_told(inner[0])}
    told |= {_told(o) for o in inner[1:] if not o or any(bool(n.forbidden.any()) for n in o)}
    words = told.pop()
    return diagnose("half_masked", more=words) if words and not told else None


def _told(inner: tuple[InnerRows, ...]) -> str:
    """By what forbidden tokens get in, and by what they do not; "" if that cannot be told.

    The last tell: of those before, a row of padding may reach real ones by a further layer.
    """
    named = {one.name: one for one in inner}
    for one in reversed(inner):
        if bool(one.closed.any()) and not bool(one.forbidden.any()):
            opened = [n for n in one.apart if bool(named[n].forbidden.any())]
            if opened:
                last = max(opened, key=list(named).index)
                return f": forbidden tokens are kept out of {one.name}, and get in by {last}"
        if bool(one.closed.any()) and bool(one.forbidden.any()):
            closed, entered = _channels(one.closed), _channels(one.forbidden)
            return (
                f": of what {one.name} gives, forbidden tokens are kept out of channels {closed}, "
                f"and get in by {entered}"
            )
    return ""


def _channels(which: Tensor) -> str:
    """Ranges of channels, such as "8…15"."""
    at = which.nonzero()[:, 0].tolist()
    begins = [one for one in at if one - 1 not in at]
    ends = [one for one in at if one + 1 not in at]
    return ", ".join(f"{a}…{b}" if a < b else f"{a}" for a, b in zip(begins, ends, strict=True))
