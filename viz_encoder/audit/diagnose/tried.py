"""Causes that are found by trying: another tensor as the mask, and each sample by itself."""

from contextlib import suppress
from dataclasses import replace

import torch
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import Diagnosis, diagnose
from viz_encoder.audit.diagnose.passed_mask import readings
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.passed import mapped, tensors_in
from viz_encoder.audit.measure.setting import GRADIENT, MASS, Case, ModelFault

OPEN = ("ignored", "padding_ignored", "pattern_ignored")  # true, and not yet the whole cause
VAGUE = ("", "as_passed", "not_seen")


def by_trying(context: AuditContext, case: Case, known: Diagnosis) -> Diagnosis:
    """What is known so far, or what the trials say in its place."""
    if known.code not in (*OPEN, *VAGUE):
        return known
    with suppress(ModelFault):
        if (found := _of_another_tensor(context, case)) is not None:
            return found
        if _is_right_alone(context, case):
            if known.code in VAGUE:
                return diagnose("batch_of_one")
            return known._replace(cause=f"{known.cause[:-1]}; not so in a batch of one sample.")
    return known


def is_right_on(context: AuditContext, case: Case) -> bool | None:
    """Whether tokens look where they may on this batch, and nowhere else; None if unseen."""
    layers = maps_of(context.subject, case).layers
    if layers and len(case.allowed) in (1, len(layers)):
        judged = [one.judged(context.intent(case, n), case.valid) for n, one in enumerate(layers)]
        return all(float(one.leak.max()) <= MASS and not bool(one.lost.any()) for one in judged)
    found = context.gradients_on(case)
    if isinstance(found, str) or context.is_pooled:
        return None
    may, must = context.may(case), context.must(case)
    depends = found.relative().nan_to_num(1.0) > GRADIENT
    return all(
        not bool((depends[n] & ~_of_sample(may, sample, query)).any())
        and not bool((_of_sample(must, sample, query) & (found.values[n] == 0)).any())
        for n, (sample, query) in enumerate(found.rows)
    )


def _of_sample(known: Tensor, sample: int, query: int) -> Tensor:
    """Whom one token knows of, "batch key"."""
    whole = torch.zeros_like(known[:, 0])
    whole[sample] = known[sample, query]
    return whole


def _of_another_tensor(context: AuditContext, case: Case) -> Diagnosis | None:
    """Whether all is right where the mask is put in place of something else that is passed."""
    meant = [r.where for r in readings(case.passed, case.valid) if _is_meant(r.allowed, case)]
    tensors = dict(tensors_in(case.passed))
    for where in dict.fromkeys(meant):
        for name, other in tensors.items():
            mask = tensors[where].to(other.dtype)
            if name == where or other.shape != mask.shape or torch.equal(other, mask):
                continue
            passed = mapped(case.passed, lambda one: mask if one is other else one)  # noqa: B023
            if is_right_on(context, replace(case, passed=passed)):
                return diagnose("other_tensor", more=f": {name!r} in place of {where!r}")
    return None


def _is_meant(pairs: Tensor, case: Case) -> bool:
    return len(case.allowed) == 1 and torch.equal(pairs[case.valid], case.allowed[0][case.valid])


def _is_right_alone(context: AuditContext, case: Case) -> bool:
    """Whether each sample with its padding is right in a batch of its own."""
    if len(case.valid) == 1 or context.setting.fixed:
        return False
    each = (context.setting.whole(case, sample) for sample in range(len(case.valid)))
    return all(is_right_on(context, one) for one in each)
