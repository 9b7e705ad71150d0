"""How padding gets into a pooled vector: by a mean or maximum, by softmax weights, or by places."""

from collections.abc import Callable
from contextlib import suppress

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.measure.changes import gap
from viz_encoder.audit.measure.pooled_rows import pooled_rows, pooling_weights
from viz_encoder.audit.measure.setting import GRADIENT, MASS, Case, ModelFault
from viz_encoder.audit.report import Diagnosis
from viz_encoder.errors import InputError


def by_pooling(context: AuditContext, *, sure: bool) -> Diagnosis:
    """The cause, with the cure for the kind of pooling that ran."""
    with suppress(ModelFault):
        weights = _weights(context, context.base)
        if weights is not None:
            masked = not bool((weights[~context.base.valid] > MASS).any())
            return diagnose("pooling_beside" if masked else "pooling_weights", sure=sure)
        if _is_of_one_place(context, context.base):
            return diagnose("pooled_row", sure=sure)
    return diagnose("pooling", sure=sure)


def _weights(context: AuditContext, case: Case) -> Float[Tensor, "batch token"] | None:
    """The largest weight that each token has where queries of their own, or a softmax, pool."""
    found = [
        layer.weights(slice(None)).nan_to_num(1.0).amax(dim=(1, 2))
        for layer in context.maps.cross
        if layer.shape[3] == case.valid.shape[1]
    ]
    pooled = pooling_weights(lambda: context.subject.run(case), case.valid)
    found += [pooled] if pooled is not None else []
    return torch.stack(found).amax(dim=0) if found else None


def _is_of_one_place(context: AuditContext, case: Case) -> bool:
    """Whether each vector is made of one row, of the same place in all samples."""
    amounts = amounts_of(context, case)
    if amounts is None:
        return False
    read = amounts > GRADIENT
    return bool((read.sum(dim=1) == 1).all() and (read == read[:1]).all())


def amounts_of(context: AuditContext, case: Case) -> Float[Tensor, "batch token"] | None:
    """How much each row has to do with the pooled vector; None where that cannot be seen."""
    return pooled_rows(context.subject, case, None if context.is_pooled else context.scope.pooled)


def may_count_padding(context: AuditContext, case: Case, out: Float[Tensor, "batch d"]) -> bool:
    """Whether padding has a share in a pooled vector, or in the number it is divided by."""
    amounts = amounts_of(context, case)
    if amounts is None or bool((amounts[~case.valid] > GRADIENT).any()):
        return True
    return is_divided_by_all(context, case, out, context.subject.run)


def is_divided_by_all(
    context: AuditContext, case: Case, whole: Tensor, run: Callable[[Case], Tensor]
) -> bool:
    """Whether each vector is that of its sample alone, times the share of tokens that are real."""
    for sample, share in enumerate(case.valid.double().mean(dim=1).tolist()):
        alone = context.setting.alone(case, sample)
        if alone is not None:
            apart = gap(run(alone) * share, whole[sample : sample + 1])
            if apart.amount > 10 * context.tolerance(whole):
                return False
    return True


def by_places(context: AuditContext, case: Case, sample: int) -> Diagnosis | None:
    """Whether other real tokens of a sample are pooled where padding stands before them.

    Certain only where the same ones are with padding behind them.
    """
    with suppress(ModelFault, InputError):
        if bool(case.valid[:, 0].all()) or _pools_as_alone(context, case, sample) is not False:
            return None
        if _is_chosen_by_value(context, case):
            return diagnose("pooled_max", sure=False)
        n_tokens = case.valid.shape[1]
        behind = context.setting.case(context.setting.padding(n_tokens, left=False))
        same = [_pools_as_alone(context, behind, one) for one in range(len(behind.valid))]
        return diagnose("pooled_places", sure=all(same))
    return None


def one_row_alone(case: Case, read: Bool[Tensor, "batch token"]) -> str:
    """That each pooled vector is made of the first real token, or of the last; "" otherwise."""
    count, n_real = case.valid.cumsum(dim=1), case.valid.sum(dim=1, keepdim=True)
    for name, place in (("first", torch.ones_like(n_real)), ("last", n_real)):
        if torch.equal(read, case.valid & (count == place)):
            return f"the {name} real token alone is pooled."
    return ""


def _is_chosen_by_value(context: AuditContext, case: Case) -> bool:
    """Whether of other inputs other tokens are pooled, as by a maximum."""
    other = context.setting.case(case.valid, seed=context.setting.seed + 1)
    pair = [amounts_of(context, one) for one in (case, other)]
    one, then = (None if each is None else each > GRADIENT for each in pair)
    return one is not None and then is not None and not torch.equal(one, then)


def _pools_as_alone(context: AuditContext, case: Case, sample: int) -> bool | None:
    """Whether the same real tokens are pooled alone and with padding; None if padding is, too."""
    alone, amounts = context.setting.alone(case, sample), amounts_of(context, case)
    if alone is None or amounts is None or bool((amounts[sample][~case.valid[sample]] > 0).any()):
        return None
    own = amounts_of(context, alone)
    if own is None or not bool((own > GRADIENT).any()):
        return None
    return bool(((amounts[sample][case.valid[sample]] > GRADIENT) == (own[0] > GRADIENT)).all())
