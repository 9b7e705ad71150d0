"""Outputs of other shapes: which axis is the tokens, rows that are lost, rows in other places."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.audits import own
from tests.audit.plants import Stack, padding
from tests.slow import slow_but
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.errors import InputError

MODEL = Stack().eval()
QUERIES = torch.randn(1, 7, 8, generator=torch.Generator().manual_seed(0))  # as many as tokens


def by_queries(hidden, keep, n):
    queries = QUERIES[:, :n].expand(len(hidden), -1, -1)
    scores = (queries @ hidden.mT).masked_fill(~keep[:, :1], -torch.inf)
    return scores.softmax(-1) @ hidden


def real(keep):
    return keep.any(dim=1)


WAYS = {
    "batch token": lambda hidden, keep: hidden[:, :, 0],
    "batch token, padding hidden": lambda h, keep: h[:, :, 0].masked_fill(~real(keep), -1e4),
    "batch d token": lambda hidden, keep: hidden.mT,
    "token batch d": lambda hidden, keep: hidden.transpose(0, 1),
    "batch·token d": lambda hidden, keep: hidden.flatten(0, 1),
    "real tokens d": lambda hidden, keep: hidden[real(keep)],
    "loss, batch token d": lambda hidden, keep: (hidden[real(keep)].mean(), hidden),
    "start, end": lambda hidden, keep: (hidden[:, :, 0], hidden[:, :, 1]),
    "batch query d": lambda hidden, keep: by_queries(hidden, keep, 5),
    "batch one d": lambda hidden, keep: by_queries(hidden, keep, 1),
    "batch query d, 7 of each": lambda hidden, keep: by_queries(hidden, keep, 7),
    "batch query": lambda hidden, keep: by_queries(hidden, keep, 7)[:, :, 0],
    "batch": lambda hidden, keep: by_queries(hidden, keep, 1)[:, 0, 0],
}


@pytest.mark.parametrize("way", slow_but(["batch token", "real tokens d", "batch query d"], WAYS))
def test_an_output_is_judged_by_the_axis_that_grows_with_the_tokens(way):
    def right(x, keep):
        return WAYS[way](MODEL(x, keep), keep)

    def wrong(x, keep):
        return WAYS[way](MODEL(x, keep | True), keep)

    options = {"d_model": 8, "module": MODEL}
    assert vz.audit_mask(right, padding, **options).verdict == "PASS"
    found = vz.audit_mask(wrong, padding, **options)
    assert own(found)[0] == "maps" and found.check("maps").code == "ignored", str(found)


def test_pooling_by_queries_over_padding_is_no_wrong_batch_of_the_mask():
    def wrong(x, keep):
        return by_queries(MODEL(x, keep), keep | True, 5)

    found = vz.audit_mask(wrong, padding, d_model=8, module=MODEL)
    assert found.verdict == "FAIL" and found.failed[0].code == "pooling_weights", str(found)


REFUSED = {
    "one number": (lambda hidden: hidden.mean(), "is one number"),
    "one row more": (
        lambda hidden: nn.functional.pad(hidden, (0, 0, 1, 0)),
        r"\[:, 1:\].*:-1\] if behind",
    ),
    "pairs": (lambda hidden: hidden[:, :, None] * hidden[:, None], "one axis as long"),
    "every second": (lambda hidden: hidden[:, ::2], "one axis as long"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_output_in_which_no_axis_is_the_tokens_is_refused_with_a_line(name):
    make, told = REFUSED[name]
    with pytest.raises(InputError, match=told) as fault:
        vz.audit_mask(lambda x, keep: make(MODEL(x, keep)), padding, d_model=8, module=MODEL)
    assert "lambda x, passed: " in str(fault.value)


PADDED_MODEL = Stack().eval()
VALID = torch.arange(8) < torch.tensor([[4], [3], [2]])
OPTIONS = {"d_model": 8, "module": PADDED_MODEL}


def cut(x, keep):
    """Cut to the longest sample, as padded from a nested tensor (pytorch#97111)."""
    return PADDED_MODEL(x, keep)[:, : int(keep.any(dim=1).sum(dim=1).max())]


def halved(x, keep):
    return PADDED_MODEL(x, keep)[:, ::2]


def filled(x, keep):
    return F.pad(PADDED_MODEL(x, keep), (0, 0, 0, -x.shape[1] % 8))


def packed(x, keep, *, back=False):
    """Real tokens to the front, as in a nested tensor (pytorch#90866), and back to their places."""
    valid = keep.any(dim=1)
    order = (~valid).long().argsort(dim=1, stable=True)
    valid = valid.gather(1, order)
    inside = PADDED_MODEL(by(order, x), padding(valid)).masked_fill(~valid[:, :, None], 0.0)
    return by(order.argsort(dim=1), inside) if back else inside


def by(order, x):
    return x.gather(1, order[:, :, None].expand_as(x))


def of_one_batch(model, valid):
    batch = (torch.randn(3, 8, 8), padding(valid))
    return vz.audit_batch(model, batch, lambda given: given[1], module=PADDED_MODEL)


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
