"""An output that loses rows to padding fails; one that has another length by design does not."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F

import viz_encoder as vz
from tests.audit.audits import own
from tests.audit.plants import Stack, padding
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.errors import InputError

MODEL = Stack().eval()
VALID = torch.arange(8) < torch.tensor([[4], [3], [2]])
OPTIONS = {"d_model": 8, "module": MODEL}


def cut(x, keep):
    """Cut to the longest sample, as padded from a nested tensor (pytorch#97111)."""
    return MODEL(x, keep)[:, : int(keep.any(dim=1).sum(dim=1).max())]


def halved(x, keep):
    return MODEL(x, keep)[:, ::2]


def filled(x, keep):
    return F.pad(MODEL(x, keep), (0, 0, 0, -x.shape[1] % 8))


def packed(x, keep, *, back=False):
    """Real tokens to the front, as in a nested tensor (pytorch#90866), and back to their places."""
    valid = keep.any(dim=1)
    order = (~valid).long().argsort(dim=1, stable=True)
    valid = valid.gather(1, order)
    inside = MODEL(by(order, x), padding(valid)).masked_fill(~valid[:, :, None], 0.0)
    return by(order.argsort(dim=1), inside) if back else inside


def by(order, x):
    return x.gather(1, order[:, :, None].expand_as(x))


def of_one_batch(model, valid):
    batch = (torch.randn(3, 8, 8), padding(valid))
    return vz.audit_batch(model, batch, lambda given: given[1], module=MODEL)


def test_an_output_that_is_cut_to_the_longest_sample_fails():
    report = vz.audit_mask(cut, padding, **OPTIONS)
    assert own(report) == ["padding_invariance"], str(report)
    assert "the output has 3 rows a sample for 7 tokens" in report.sentence
    given = vz.audit_mask(cut, padding, inputs=AuditInputs(valid=VALID), **OPTIONS)
    for report, check in ((given, "runs"), (of_one_batch(cut, VALID), "runs")):
        assert own(report) == [check], str(report)
        assert "The output has 4 rows a sample for 8 tokens" in report.sentence


def test_an_output_of_another_length_by_design_does_not_fail():
    with pytest.raises(InputError, match="one row a token"):
        vz.audit_mask(halved, padding, inputs=AuditInputs(valid=VALID), **OPTIONS)
    assert of_one_batch(halved, VALID).verdict == "PASS"  # four rows, by chance
    report = vz.audit_mask(filled, padding, inputs=AuditInputs(valid=VALID), **OPTIONS)
    assert report.verdict == "PASS", str(report)
    assert any("12 tokens the output has 16 rows" in line for line in report.not_tested)
    assert vz.audit_mask(filled, padding, scope=AuditScope(lengths=[8]), **OPTIONS).ok


def test_rows_that_are_not_put_back_into_their_places_are_named():
    holes = torch.tensor([[1, 0, 1, 1, 1, 0, 1, 0], [1, 1, 0, 0, 1, 1, 1, 1], [0] + [1] * 7]).bool()
    given = {"inputs": AuditInputs(valid=holes), **OPTIONS}
    report = vz.audit_mask(packed, padding, **given)
    assert own(report) == ["padding_invariance"], str(report)
    assert report.check("padding_invariance").code == "row_order", str(report)
    assert vz.audit_mask(partial(packed, back=True), padding, **given).verdict == "PASS"
