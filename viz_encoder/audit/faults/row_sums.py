"""Rows of the maps of one batch: which count, and what is said of those that do not sum to 1."""

from collections.abc import Mapping

from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.layer import RowFaults
from viz_encoder.audit.measure.softmaxes import RowSums
from viz_encoder.audit.report import Check, fails, passes, untested


def judged_rows(context: AuditContext) -> list[tuple[RowFaults, Tensor]]:
    """Each layer's rows, and which count: of real tokens that may attend to anything."""
    case, found = context.base, []
    for number, layer in enumerate(context.maps.layers):
        allowed = context.intent(case, number)
        rows = (case.valid & allowed.any(dim=-1))[:, None]
        found.append((layer.judged(allowed, case.valid), rows))
    return found


def of_sum(number: int, sample: int, head: int, query: int, total: float) -> Check:
    """A row that does not sum to 1."""
    text = f"Layer {number} head {head}, sample {sample}: row {query} sums to {total:.3g}."
    return fails(text, layer=number, head=head, sample=sample, query=query, amount=total)


def answer_of(found: Mapping[int, RowSums]) -> Check:
    """Explain rows that do not sum to 1, by layer: a mask or a sink may be why.

    A sink takes its share of rows to which no key is forbidden, too; a mask does not.
    """
    if not found:
        return passes("All rows sum to 1.")
    number, worst = max(found.items(), key=lambda pair: abs(pair[1].total - 1))
    sums = of_sum(number, worst.sample, worst.head, worst.query, worst.total)
    if worst.total > 1 or not all(one.open_hold for one in found.values()):
        return untested(
            f"{sums.evidence} Whether a sink or a mask after the softmax is the reason was not "
            "tested."
        )
    text = f"{sums.evidence} Rows without a forbidden key sum to 1."
    return sums.but(evidence=text).because(diagnose("after_softmax"))
