"""Masks that are wrong before the model has them: made of another id, or closing nothing."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.diagnose.diagnosis import diagnose
from viz_encoder.audit.diagnose.passed_mask import readings
from viz_encoder.audit.diagnose.right_on import right_with
from viz_encoder.audit.measure.changes import content_of, with_content
from viz_encoder.audit.measure.flex_masks import mapped, tensors_in
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.report import Diagnosis
from viz_encoder.errors import InputError

UNMASKED = ("ignored", "padding_ignored")
USUAL = (0, 1, 2)  # ids of padding in most vocabularies


def of_what_is_passed(context: AuditContext, case: Case, known: Diagnosis) -> Diagnosis | None:
    """Whether the mask is made of another id than the padding's, or closes nothing at all."""
    seen = bool(context.maps.layers)  # else, with all keys closed, even weights look the same
    cases = case, *context.batches.further(case)
    if known.code in UNMASKED and all(_closes_nothing(one, seen) for one in cases):
        return diagnose("closes_nothing")
    with suppress(ModelFault, InputError):
        return _of_another_id(context, case)
    return None


def _closes_nothing(case: Case, seen: bool) -> bool:
    """Whether each tensor that may be a mask has one value alone: of whole numbers, not 0."""
    content = content_of(case)
    masks = [x for _, x in tensors_in(case.passed) if x is not content]
    masks = [one for one in masks if readings(one, case.valid)]
    opens = [
        bool(one.any()) or one.is_floating_point() or (seen and one.dtype == torch.bool)
        for one in masks
    ]
    return case.padded and any(opens) and all(len(one.unique()) == 1 for one in masks)


def _of_another_id(context: AuditContext, case: Case) -> Diagnosis | None:
    """Whether the mask is that of another id, and right where that is exchanged with padding's."""
    ids = content_of(case)
    if ids is None or ids.is_floating_point() or ids.shape != case.valid.shape:
        return None
    of_padding = ids[~case.valid].unique().tolist()
    if len(of_padding) != 1 or context.setting.reads_input:
        return None
    for other in dict.fromkeys(_other_ids(context, case, ids)):
        exchanged = partial(_exchanged, context, of_padding[0], other)
        made = (partial(_made_of, context, other, itself) for itself in (False, True))
        if (
            other not in of_padding
            and any(right_with(context, case, one) for one in made)
            and right_with(context, case, exchanged)
        ):
            more = f": {other}, where padding has the id {of_padding[0]}"
            return diagnose("another_id", more=more)
    return None


def _other_ids(context: AuditContext, case: Case, ids: Tensor) -> Iterator[int]:
    """Those that may have been taken for the padding's."""
    tables = [m for m in context.subject.whole.modules() if isinstance(m, nn.Embedding)]
    most = tables[0].num_embeddings if tables else 1 + int(ids.max())
    yield from (one for one in USUAL if one < most)
    yield from (one.padding_idx for one in tables if one.padding_idx is not None)
    yield most - 1
    for _, one in tensors_in(case.passed):
        if one.shape == ids.shape and len(one.unique()) == 2:
            yield from (int(ids[side][0]) for side in (one == one.min(), one == one.max()))


def _made_of(context: AuditContext, other: int, itself: bool, case: Case) -> Case:
    """The batch as it is meant where that id is the padding's, which may see itself."""
    ids = content_of(case)
    assert ids is not None
    keys = (ids != other)[:, None]
    keys = keys | torch.eye(ids.shape[1], dtype=torch.bool, device=ids.device) if itself else keys
    return replace(
        case, allowed=tuple(context.pattern(case, n) & keys for n in range(len(case.allowed)))
    )


def _exchanged(context: AuditContext, pad: int, other: int, case: Case) -> Case:
    """The batch with those ids exchanged, and the masks that are made of the ids."""
    ids = content_of(case)
    assert ids is not None
    there = torch.where(ids == pad, other, torch.where(ids == other, pad, ids))
    if not case.own:
        return replace(case, x=there, passed=context.setting.passed(case.valid, there))

    def mended(one: Tensor) -> Tensor:
        of_id = one.shape == ids.shape and torch.equal(one, (ids != other).to(one.dtype))
        return case.valid.to(one.dtype) if of_id and one is not ids else one

    return with_content(replace(case, passed=mapped(case.passed, mended)), there)
