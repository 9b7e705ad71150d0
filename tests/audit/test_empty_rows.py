"""What a row without any key gives on each way, and packed documents of unequal lengths."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from viz_encoder.audit.mask_input.conventions import packed
from viz_encoder.audit.measure import empty_rows as module
from viz_encoder.audit.measure.empty_rows import empty_rows
from viz_encoder.errors import InputError, TooLong


def kind(row, mean):
    """By plain Python: what an output row is."""
    if any(math.isnan(value) for value in row):
        return "NaN"
    if all(value == 0 for value in row):
        return "zeros"
    near = all(abs(a - b) < 1e-5 for a, b in zip(row, mean, strict=True))
    return "uniform" if near else "other"


def test_each_way_is_tried_and_not_looked_up():
    found = {each.way: each.gives for each in empty_rows()}
    x = torch.randn(3, 6, generator=torch.Generator().manual_seed(7))
    allowed = torch.tensor([[True] * 3, [False] * 3, [True] * 3])
    mean = x.mean(dim=0).tolist()
    low = torch.zeros(3, 3).masked_fill(~allowed, torch.finfo(torch.float32).min)
    q = x[None, None]
    kernel = F.scaled_dot_product_attention(q, q, q, attn_mask=allowed)[0, 0, 1].tolist()
    lowest = F.scaled_dot_product_attention(q, q, q, attn_mask=low)[0, 0, 1].tolist()
    assert found["scaled_dot_product_attention, bool"] == kind(kernel, mean)
    assert found["scaled_dot_product_attention, float finfo.min"] == kind(lowest, mean) == "uniform"
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(6, 2, bias=False, batch_first=True).eval()
    for needed in (True, False):
        with torch.no_grad():
            out, _ = layer(*[x[None]] * 3, attn_mask=~allowed, need_weights=needed)
        assert found[f"nn.MultiheadAttention, need_weights={needed}"] == kind(
            out[0, 1].tolist(), []
        )
    assert found["softmax written out, -inf"] == "NaN"
    assert found["this encoder"] == "zeros"


def test_a_way_that_changes_is_told_as_it_is(monkeypatch):
    monkeypatch.setitem(module.WAYS, "this encoder", lambda x, allowed: x.mean(0).expand(4, -1))
    assert {each.way: each.gives for each in empty_rows()}["this encoder"] == "uniform"


@pytest.mark.parametrize("lengths", [[5, 7, 3], [4], [1, 1], [15]])
def test_documents_of_their_own_lengths_are_blocks(lengths):
    expected = np.zeros((15, 15), dtype=bool)
    start = 0
    for length in [*lengths, 15 - sum(lengths)]:
        expected[start : start + length, start : start + length] = True
        start += length
    np.testing.assert_array_equal(packed(15, lengths).numpy(), expected)


@pytest.mark.parametrize("lengths", [[0], [-1, 3], [16], [2.5], ["4"], [True]])
def test_lengths_that_cannot_be_are_refused(lengths):
    with pytest.raises(InputError):
        packed(15, lengths)


def test_too_many_tokens_are_refused():
    with pytest.raises(TooLong):
        packed(5000, [1])
