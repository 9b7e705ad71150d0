"""Groups of tokens that see all of themselves, as pictures in a causal text, joined by mistake."""

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.plants import Stack, causal, padding
from viz_encoder.audit import AuditInputs

PICTURE = 5


def seen(valid, ids, *, numbered=True, longer=False, one=False):
    """Causal, and the tokens of one picture see each other."""
    picture = ids == PICTURE
    if longer:
        picture = picture | picture.roll(1, 1)
    begins = picture & ~nn.functional.pad(picture, (1, 0))[:, :-1]
    number = begins.cumsum(1) if numbered else torch.ones_like(ids)
    number = torch.where(picture, number, 0)
    same = (number[:, :, None] == number[:, None, :]) & (number > 0)[:, :, None]
    if one:  # of the first picture sees one of the second
        same[:, 1, 4] = True
    return (causal(torch.ones_like(valid)) | same) & padding(valid)


def one_picture(seed, batch, length):
    ids = torch.randint(6, 30, (batch, length), generator=torch.Generator().manual_seed(seed))
    ids[:, 1:3] = PICTURE
    return ids


def pictures(seed, batch, length):
    ids = one_picture(seed, batch, length)
    ids[:, 4:6] = PICTURE
    return ids


@pytest.mark.parametrize("wrong", [{}, {"numbered": False}, {"longer": True}, {"one": True}])
def test_pictures_that_see_each_other_are_named_and_longer_ones_are_not(wrong):
    inner, table = Stack().eval(), nn.Embedding(30, 8)

    def run(ids, valid):
        return inner(table(ids), seen(valid, ids, **wrong))

    report = vz.audit_mask(
        run, seen, lambda valid: valid, module=inner, inputs=AuditInputs(make=pictures)
    )
    batch = {"ids": pictures(0, 2, 7), "valid": torch.ones(2, 7, dtype=torch.bool)}

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.table = inner, table

        def forward(self, ids, valid):
            return run(ids, valid)

    own = vz.audit_batch(Model(), batch, lambda b: seen(b["valid"], b["ids"]))
    for one in (report, own):
        codes = [check.code for check in one.failed]
        named = ["groups_joined"] if "numbered" in wrong else [""] if wrong else []
        assert codes == named, str(one)


def test_one_picture_that_is_too_long_is_not_called_two_that_are_joined():
    inner, table = Stack().eval(), nn.Embedding(30, 8)
    report = vz.audit_mask(
        lambda ids, valid: inner(table(ids), seen(valid, ids, longer=True)),
        seen,
        lambda valid: valid,
        module=inner,
        inputs=AuditInputs(make=one_picture),
    )
    assert [check.code for check in report.failed] == [""], str(report)


def windowed(valid):
    """A causal window, and a prefix of three tokens that see each other."""
    place = torch.arange(valid.shape[1])
    near = (place[:, None] - place).abs() < 3
    return padding(valid) & near & ((place < 3) | (place <= place[:, None]))
