"""Pictures of a specimen beside those of its audit: a map as it ran, and which tokens are real."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from viz_encoder.audit.audit import quiet
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import Case, ModelFault, Setting
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.pictures import (
    picture_of_cross,
    picture_of_gradient,
    picture_of_map,
    picture_of_pooled,
)
from viz_encoder.audit.report import Check, MaskReport, Picture, Verdict
from viz_encoder.audit.zoo import MaskedModel

NOTHING = "nothing"  # the model raised before it gave any weight


def context_of(given: MaskedModel) -> AuditContext:
    """The model on the inputs that an audit with its default seed gives it."""

    def make_x(seed: int, batch: int, length: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(batch, length, given.d_model, generator=generator)

    intents = (given.intent,) if callable(given.intent) else tuple(given.intent)
    setting = Setting(
        intents,
        given.make_mask or intents[0],
        make_x,
        given=given.inputs.valid,
        padding_side=given.inputs.padding_side,
    )
    return AuditContext(Subject(given.model), setting, given.scope, given.n_layers)


@dataclass(frozen=True)
class Like:
    """The picture whose place is shown again."""

    layer: int | None
    head: int | None
    sample: int
    n_tokens: int
    observed_is: str = "weights"

    @property
    def is_cross(self) -> bool:
        """Whether it is of cross-attention, which has no number among the layers."""
        return self.observed_is == "weights" and self.layer is None


def as_it_ran(context: AuditContext, like: Like | None = None) -> Picture:
    """The map of one layer, head and sample in eval mode, whatever an audit says of it.

    The same place as `like`; else layer 0, head 0, sample 0. Where the model raises, observed is
    NaN and observed_is is "nothing".
    """
    case = _case(context, like)
    like = like or Like(0, 0, 0, case.valid.shape[1])
    sample = min(like.sample, len(case.valid) - 1)
    place = (like.layer or 0, like.head or 0, sample)
    with torch.random.fork_rng(devices=[]), context.subject.in_mode(training=False), quiet():
        torch.manual_seed(0)  # a bug may draw
        try:
            if like.is_cross and context.maps.cross:
                return _cross(context, place[1], sample)
            if like.observed_is == "weights":
                return _map(context, case, place)
            return _gradient(context, case, sample) or _map(context, case, place)
        except ModelFault:
            return _unseen(context, case, place)


def _case(context: AuditContext, like: Like | None) -> Case:
    """The batch that an audit begins with, or one of as many tokens as that picture has."""
    n_tokens = context.setting.first_valid().shape[1]
    if like is None or like.is_cross or like.n_tokens == n_tokens:
        return context.base
    return context.setting.case(context.setting.padding(like.n_tokens))


def _map(context: AuditContext, case: Case, place: tuple[int, int, int]) -> Picture:
    context.subject.run(case)  # a model that raises is told from one whose maps cannot be seen
    layers = maps_of(context.subject, case).layers
    layer, head, sample = place
    if len(layers) <= layer or layers[layer].shape[1] <= head:
        return _gradient(context, case, sample) or _unseen(context, case, place)
    return picture_of_map(context, case, layers[layer].map(sample, head), place)


def _cross(context: AuditContext, head: int, sample: int) -> Picture:
    layer, allowed = context.maps.cross[0], context.crossed(context.base.valid)
    weights = layer.map(sample, head)
    may = torch.ones_like(weights, dtype=torch.bool) if allowed is None else allowed[sample]
    rows = context.base.valid[sample]
    return picture_of_cross(layer.name, may, weights, rows, (head, sample))


def _gradient(context: AuditContext, case: Case, sample: int) -> Picture | None:
    whole = len(context.subject.run(case)) == len(case.valid)  # an output for each sample
    found = context.gradients_on(case) if whole else ""
    if isinstance(found, str):
        return None
    known, relative = context.may(case)[sample], found.within(case)[sample]
    if context.is_pooled:
        return picture_of_pooled(relative[0], known, sample)
    return picture_of_gradient(case, relative, known, sample)


def _unseen(context: AuditContext, case: Case, place: tuple[int, int, int]) -> Picture:
    n_tokens = case.valid.shape[1]
    blank = torch.full((n_tokens, n_tokens), torch.nan)
    drawn = picture_of_map(context, case, blank, place)
    none = np.zeros((n_tokens, n_tokens), dtype=bool)
    return replace(drawn, observed_is=NOTHING, leaks=none, lost=none)


def first_of(report: MaskReport) -> Check | None:
    """The check that the verdict names; None where nothing is wrong."""
    if report.verdict in (Verdict.PASS, Verdict.NOT_TESTED):
        return None
    own = (one for one in report.checks if one.verdict is report.verdict and not one.follows_from)
    return next(own, None)


def led_by(check: Check | None, context: AuditContext, pictures: list[Picture]) -> list[Picture]:
    """The pictures, first that of the pair that is named; it is drawn where no check drew it."""
    if check is None or check.sample is None:
        return pictures or [as_it_ran(context)]
    fit = [one for one in pictures if _is_at(check, one)]
    marked = [one for one in fit if _is_wrong(one, (check.query, check.key))]
    if first := (marked or fit)[:1]:
        return first + [one for one in pictures if one is not first[0]]
    n_tokens = context.setting.first_valid().shape[1]
    return [
        as_it_ran(context, Like(check.layer or 0, check.head, check.sample, n_tokens)),
        *pictures,
    ]


def _is_at(check: Check, one: Picture) -> bool:
    """Whether it is of the place of that check, and has its cell."""
    pairs = ((check.layer, one.layer), (check.head, one.head))
    row = check.key is None  # of any layer and head, unless they are named
    same = all(named == own or (row and named is None) for named, own in pairs)
    n_rows, n_columns = one.intended.shape
    inside = (check.query or 0) < n_rows and (check.key or 0) < n_columns
    return same and inside and check.sample == one.sample


def _is_wrong(one: Picture, cell: tuple[int | None, int | None]) -> bool:
    query, key = cell
    wrong = one.leaks | one.lost
    row, column = query or 0, key or 0
    if query is None or key is None or row >= len(wrong) or column >= wrong.shape[1]:
        return False
    return bool(wrong[row, column])


def cell_of(check: Check | None, one: Picture, *, first: bool) -> tuple[int, int]:
    """The cell to tell of: that of the check, or the first that is wrong."""
    wrong = one.leaks | one.lost
    places = [(int(row), int(column)) for row, column in zip(*np.nonzero(wrong), strict=True)]
    usual = places[0] if places else (0, 0)
    if check is None or check.query is None or check.query >= len(wrong):
        return usual
    if check.key is None:
        row = [place for place in places if place[0] == check.query]
        own = min(check.query, wrong.shape[1] - 1)
        return (row or [(check.query, own)])[0] if first else usual
    named = (check.query, check.key)
    return named if first or _is_wrong(one, named) else usual


def real_tokens_in(context: AuditContext, picture: Picture) -> list[bool] | None:
    """Real tokens of a picture; None if no padding of an audit gives its intent."""
    setting, n_tokens = context.setting, picture.intended.shape[1]
    sides = (setting.padding(n_tokens, left=left) for left in (setting.left, not setting.left))
    for valid in (setting.first_valid(), *sides):
        if valid.shape[1] == n_tokens and picture.sample < len(valid):
            case = setting.case(valid)
            weights = picture.layer is not None
            meant = context.intent(case, picture.layer or 0) if weights else context.may(case)
            if np.array_equal(meant[picture.sample].numpy(), picture.intended):
                return [bool(real) for real in valid[picture.sample]]
    return None
