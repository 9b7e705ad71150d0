"""The picture of a failing layer and head: intended, passed and observed, leaks marked."""

from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.passed_mask import readings
from viz_encoder.audit.measure.setting import GRADIENT, MASS, Case
from viz_encoder.audit.report import Picture


def picture_of_map(
    context: AuditContext,
    case: Case,
    weights: Float[Tensor, "query key"],
    cell: tuple[int, int, int],
    more: str = "",
) -> Picture:
    """One map (layer, head, sample) beside its intent; `more` follows its title."""
    layer, head, sample = cell
    intended = context.intent(case, layer)[sample]
    rows = case.valid[sample] & intended.any(dim=-1)
    title = f"Layer {layer}, head {head}, sample {sample}{more}"
    return _picture(title, sample, intended, weights, rows, head, layer, case)


def picture_of_cross(
    name: str,
    allowed: Bool[Tensor, "query memory"],
    weights: Float[Tensor, "query memory"],
    rows: Bool[Tensor, " query"],
    cell: tuple[int, int],
) -> Picture:
    """One map (head, sample) of cross-attention, whose keys are a memory's."""
    head, sample = cell
    title = f"Cross-attention in {name}, head {head}, sample {sample}"
    return _picture(title, sample, allowed, weights, rows, head)


def picture_of_gradient(
    case: Case, relative: Float[Tensor, "query key"], known: Bool[Tensor, "query key"], sample: int
) -> Picture:
    """Dependencies of one sample's outputs, beside those allowed."""
    rows = case.valid[sample] & known.any(dim=-1)
    return _picture(f"After all layers, sample {sample}", sample, known, relative, rows, case=case)


def picture_of_pooled(
    relative: Float[Tensor, " key"], known: Bool[Tensor, "1 key"], sample: int
) -> Picture:
    """Dependencies of one sample's pooled vector, in one row."""
    title = f"The pooled vector of sample {sample}"
    return _picture(title, sample, known, relative[None], known.any(dim=-1))


def picture_of_other_sample(
    relative: Float[Tensor, "query key"], valid: Bool[Tensor, " query"], sample: int, other: int
) -> Picture:
    """Dependencies of one sample's outputs on the tokens of another, of which none is allowed."""
    title = f"Outputs of sample {sample}, by the tokens of sample {other}"
    return _picture(title, sample, relative.isnan() & False, relative, valid)


def _picture(
    title: str,
    sample: int,
    intended: Tensor,
    observed: Tensor,
    rows: Tensor,
    head: int | None = None,
    layer: int | None = None,
    case: Case | None = None,
) -> Picture:
    """Only `rows` are judged; what was passed is read nearest to the intent, for nothing tells."""
    seen = observed.nan_to_num(1.0) > (GRADIENT if head is None else MASS)
    masks = [intended, seen & ~intended & rows[:, None], ~seen & intended & rows[:, None]]
    found = readings(case.passed, case.valid) if case is not None else ()
    near = min(found, key=lambda one: int((one.allowed[sample] ^ intended).sum()), default=None)
    masks += [near.allowed[sample]] if near is not None else []
    meant, leaks, lost, *passed = [one.detach().cpu().numpy().astype(bool) for one in masks]
    return Picture(
        title=title,
        intended=meant,
        observed=observed.detach().cpu().double().numpy(),
        observed_is="gradients" if head is None else "weights",
        leaks=leaks,
        lost=lost,
        passed=passed[0] if passed else None,
        passed_as=near.sense if near is not None else "",
        layer=layer,
        head=head,
        sample=sample,
    )
