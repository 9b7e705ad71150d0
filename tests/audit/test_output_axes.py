"""Outputs other than (batch, token, d): each right one passes, each wrong one does not."""

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.audits import own
from tests.audit.plants import Stack, padding
from tests.slow import slow_but
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
    "one row more": (lambda hidden: nn.functional.pad(hidden, (0, 0, 1, 0)), r"\[:, 1:\]"),
    "pairs": (lambda hidden: hidden[:, :, None] * hidden[:, None], "one axis as long"),
    "every second": (lambda hidden: hidden[:, ::2], "one axis as long"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_output_in_which_no_axis_is_the_tokens_is_refused_with_a_line(name):
    make, told = REFUSED[name]
    with pytest.raises(InputError, match=told) as fault:
        vz.audit_mask(lambda x, keep: make(MODEL(x, keep)), padding, d_model=8, module=MODEL)
    assert "lambda x, passed: " in str(fault.value)
