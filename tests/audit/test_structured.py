"""Structured inputs: lengths that exist alone, and groups of tokens that see all of themselves."""

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.audits import audit
from tests.audit.plants import Stack, causal, own_mask, padding
from viz_encoder.audit import AuditInputs, AuditScope

FRAME, PICTURE = 4, 9
WHOLE = AuditInputs(valid=torch.ones(3, 16, dtype=torch.bool))
TEXTS = AuditInputs(valid=torch.arange(15) < torch.tensor([13, 15, 11])[:, None])


def up_to(number):
    """Tokens see those with the same number or a smaller one."""
    return number[None, :] <= number[:, None]


def of_frames(valid, size=FRAME):
    return padding(valid) & up_to(torch.arange(valid.shape[1]) // size)


def before_text(valid, size=PICTURE):
    return causal(valid) | padding(valid) & (torch.arange(valid.shape[1]) < size)


class Frames(Stack):
    """Takes whole frames only: of so many tokens, or so many of them."""

    def __init__(self, size=FRAME, count=None):
        super().__init__()
        self.size, self.count = size, count

    def forward(self, x, valid):
        n_tokens = x.shape[1]
        frames = x.unflatten(1, (-1, self.size) if self.count is None else (self.count, -1))
        number = torch.arange(n_tokens) // frames.shape[2]
        return super().forward(frames.flatten(1, 2), up_to(number) & padding(valid))


class Captioner(Stack):
    """A picture of so many tokens before the text; or as many as leave six for the text."""

    def __init__(self, size=PICTURE, text=None):
        super().__init__()
        self.size, self.text = size, text
        self.places = torch.randn(1, size, 8)

    def forward(self, x, valid):
        size = self.size if self.text is None else x.shape[1] - self.text
        x = x if self.text else torch.cat([x[:, :size] + self.places, x[:, size:]], dim=1)
        return super().forward(x, before_text(valid, size))


def test_frames_pass_at_the_lengths_that_are_given():
    model = Frames().eval()
    for inputs, lengths in ((WHOLE, ()), (WHOLE, (16, 20)), (None, (16, 20))):
        report = audit(model, of_frames, own_mask, inputs=inputs, scope=AuditScope(lengths=lengths))
        assert report.verdict == "PASS", str(report)


def test_the_error_names_a_length_that_runs():
    report = audit(Frames().eval(), of_frames, own_mask)
    assert report.verdict == "ERROR" and "AuditScope(lengths=[8])" in str(report), str(report)
    report = audit(Frames(size=5).eval(), of_frames, own_mask, scope=AuditScope(lengths=[16]))
    assert report.verdict == "FAIL", "a length that was asked for is the model's to take"


def test_a_fault_at_a_length_that_nobody_chose_is_told_and_not_judged():
    model = Frames(count=4).eval()  # 16 tokens are 4 frames of 4, and 12 are 4 of 3
    report = audit(model, of_frames, own_mask, inputs=WHOLE)
    told = report.check("lengths")
    assert report.verdict == "PASS" and told.verdict == "NOT TESTED", str(report)
    assert "AuditScope(lengths=[16, 12])" in told.evidence
    asked = audit(model, of_frames, own_mask, inputs=WHOLE, scope=AuditScope(lengths=[16, 12]))
    assert [one.name for one in asked.failed] == ["lengths"], str(asked)
    quarters = audit(
        model, lambda valid: of_frames(valid, valid.shape[1] // 4), own_mask, inputs=WHOLE
    )
    assert quarters.verdict == "PASS", str(quarters)


def test_a_place_that_is_counted_from_the_end_is_another_input_when_cut():
    report = audit(Captioner(text=6).eval(), before_text, own_mask, inputs=TEXTS)
    assert report.verdict == "PASS", str(report)
    assert "AuditScope(lengths=[11])" in report.check("padding_invariance").evidence
    wrong = audit(Captioner(text=6).eval(), causal, own_mask, inputs=TEXTS)
    assert wrong.verdict == "FAIL", str(wrong)


def test_without_a_chosen_length_a_fault_at_another_is_red_and_names_the_way_out():
    report = audit(Frames(count=1).eval(), lambda valid: of_frames(valid, 8), own_mask)
    assert report.verdict == "FAIL" and report.failed[0].name == "lengths", str(report)
    assert "AuditScope(lengths=[7])" in report.failed[0].cure


PICTURE_ID = 5


def seen(valid, ids, *, numbered=True, longer=False, one=False):
    """Causal, and the tokens of one picture see each other."""
    picture = ids == PICTURE_ID
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
    ids[:, 1:3] = PICTURE_ID
    return ids


def pictures(seed, batch, length):
    ids = one_picture(seed, batch, length)
    ids[:, 4:6] = PICTURE_ID
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
