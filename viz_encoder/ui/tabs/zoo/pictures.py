"""Pictures of a specimen beside those of its audit: a map as it ran, and which tokens are real."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from viz_encoder.audit.audit import quiet
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.measure.maps import maps_of
from viz_encoder.audit.measure.setting import Case, ModelFault, Setting
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.pictures import picture_of_gradient, picture_of_map
from viz_encoder.audit.report import MaskReport, Picture
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
    return AuditContext(Subject(given.model), setting, given_layers=given.n_layers)


def as_it_ran(context: AuditContext, report: MaskReport, like: Picture | None = None) -> Picture:
    """The map of one layer, head and sample in eval mode, whatever an audit says of it.

    The same place as `like`; else layer 0, head 0 of the sample that failed. Where the model
    raises, observed is NaN and observed_is is "nothing".
    """
    samples = [check.sample for check in report.failed if check.sample is not None]
    sample = like.sample if like else (samples or [0])[0]
    case = _case(context, like)
    sample = min(sample, len(case.valid) - 1)
    place = ((like and like.layer) or 0, (like and like.head) or 0, sample)
    with torch.random.fork_rng(devices=[]), context.subject.in_mode(training=False), quiet():
        try:
            if like is None or like.observed_is == "weights":
                return _map(context, case, place)
            return _gradient(context, case, sample) or _map(context, case, place)
        except ModelFault:
            return _unseen(context, case, place)


def _case(context: AuditContext, like: Picture | None) -> Case:
    """The batch that an audit begins with, or one of as many tokens as that picture has."""
    if like is None or len(like.intended) == context.setting.first_valid().shape[1]:
        return context.base
    return context.setting.case(context.setting.padding(len(like.intended)))


def _map(context: AuditContext, case: Case, place: tuple[int, int, int]) -> Picture:
    context.subject.run(case)  # a model that raises is told from one whose maps cannot be seen
    layers = maps_of(context.subject, case).layers
    layer, head, sample = place
    if len(layers) <= layer or layers[layer].shape[1] <= head:
        return _gradient(context, case, sample) or _unseen(context, case, place)
    return picture_of_map(context, case, layers[layer].map(sample, head), place)


def _gradient(context: AuditContext, case: Case, sample: int) -> Picture | None:
    found = context.gradients_on(case)
    if isinstance(found, str) or context.is_pooled:
        return None
    square = found.values.new_zeros(case.valid.shape[1], case.valid.shape[1])
    for row, values in zip(found.rows, found.relative(), strict=True):
        if row[0] == sample:
            square[row[1]] = values[sample]
    return picture_of_gradient(case, square, context.may(case)[sample], sample)


def _unseen(context: AuditContext, case: Case, place: tuple[int, int, int]) -> Picture:
    n_tokens = case.valid.shape[1]
    blank = torch.full((n_tokens, n_tokens), torch.nan)
    drawn = picture_of_map(context, case, blank, place)
    none = np.zeros((n_tokens, n_tokens), dtype=bool)
    return replace(drawn, observed_is=NOTHING, leaks=none, lost=none)


def real_tokens_in(context: AuditContext, picture: Picture) -> list[bool] | None:
    """Real tokens of a picture; None if no padding of an audit gives its intent."""
    setting, n_tokens = context.setting, len(picture.intended)
    sides = (setting.padding(n_tokens, left=left) for left in (setting.left, not setting.left))
    for valid in (setting.first_valid(), *sides):
        if valid.shape[1] == n_tokens and picture.sample < len(valid):
            case = setting.case(valid)
            weights = picture.layer is not None
            meant = context.intent(case, picture.layer or 0) if weights else context.may(case)
            if np.array_equal(meant[picture.sample].numpy(), picture.intended):
                return [bool(real) for real in valid[picture.sample]]
    return None
