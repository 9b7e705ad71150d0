"""Whether a sample is the same alone as with padding in a batch."""

from contextlib import suppress
from dataclasses import replace

import torch

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.faults import padding
from viz_encoder.audit.measure.setting import ModelFault
from viz_encoder.audit.measure.token_axis import can_be_cut
from viz_encoder.audit.question import Evidence, question
from viz_encoder.audit.report import (
    Check,
    Verdict,
    passes,
    untested,
)

OTHER_INPUTS = 8  # of pooled outputs; each is negated, too


@question(
    "Alone and with padding",
    Evidence.COMPANY,
    after="CALL PASSED SPOILED WEIGHTS LINKS",
    part="padding",
    compares=True,
    judges=True,
)
def padding_invariance(context: AuditContext) -> Check:
    """Every sample of the base case."""
    case = context.base
    if not context.setting.pads:
        return untested("Alone and with padding: your valid has no padding at its ends.")
    if not can_be_cut(case.x, case.valid.shape[1]):
        return untested(
            f"Alone and with padding: no padding can be cut off an input {tuple(case.x.shape)}."
        )
    return (
        padding.find_fault(context, context.base, context.out)
        or _by_intent(context)
        or _of_other_inputs(context)
        or passes(
            f"Real rows alone and with padding agree to {context.tolerance(context.out):.1g}."
        )
    )


def _by_intent(context: AuditContext) -> Check | None:
    """Pass if the intent lets outputs depend on padding."""
    case = context.base
    open_ = torch.stack(case.allowed).any(dim=0) & case.valid[:, :, None] & ~case.valid[:, None, :]
    if not bool(open_.any()):
        return None
    sample, query, key = (int(n) for n in open_.nonzero()[0])
    text = (
        f"Your intent lets token {query} of sample {sample} attend to token {key}, which is "
        "padding; outputs that depend on it were not compared alone and with padding."
    )
    cure = "Add & valid[:, None, :] to the intent, unless padding is meant to be seen."
    return Check(Verdict.WARN, text, cure=cure, sample=sample, query=query, key=key)


def _of_other_inputs(context: AuditContext) -> Check | None:
    """A fault that depends on the values pooled, as that of a maximum over zeroed padding."""
    if not context.is_pooled or context.setting.reads_input:
        return None
    for number in range(1, OTHER_INPUTS + 1):
        with suppress(ModelFault):
            case = context.setting.case(context.base.valid, seed=context.setting.seed + number)
            turned = replace(case, x=-case.x)
            for one in (case, turned) if case.x.is_floating_point() else (case,):
                found = padding.find_fault(context, one, context.subject.run(one))
                if found is not None and found.verdict is Verdict.FAIL:
                    return found
    return None
