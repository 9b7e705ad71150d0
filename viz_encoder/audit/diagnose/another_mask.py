"""Causes that cannot be right: by what is meant, or how the model answers to an unpadded mask."""

from contextlib import suppress
from dataclasses import replace

import torch

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.passed_mask import readings
from viz_encoder.audit.measure.difference import gap
from viz_encoder.audit.measure.part_runs import outputs_of_part
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.errors import InputError

UNMASKED = ("ignored", "padding_ignored")  # no row would change
TURNED = "transposed"  # rows of padding alone would
OF_PICTURES = ("by_distance",)


def not_meant(context: AuditContext) -> tuple[str, ...]:
    """The codes of the causes that what was given contradicts: of packed documents no picture."""
    return OF_PICTURES if context.scope.documents is not False else ()


def contradicted(context: AuditContext, case: Case, name: str = "") -> tuple[str, ...]:
    """The codes of the causes that the part of this name, or the whole model, contradicts."""
    return (*not_meant(context), *_by_another(context, case, name))


def _by_another(context: AuditContext, case: Case, name: str) -> tuple[str, ...]:
    if context.setting.fixed or not case.padded or not readings(case.passed, case.valid):
        return ()
    with suppress(ModelFault, InputError):
        other = context.setting.case(torch.ones_like(case.valid), x=case.x)
        cases = case, replace(case, passed=other.passed)
        outs = outputs_of_part(context.subject, cases, name)
        if outs is None or outs[0].shape != outs[1].shape:
            return ()
        own, moved = outs
        if gap(own, moved, case.judged).amount > context.tolerance(own):
            return (*UNMASKED, TURNED)
        return UNMASKED if gap(own, moved).amount > context.tolerance(own) else (TURNED,)
    return ()
