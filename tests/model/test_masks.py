"""Masks: one sense inside, and every other convention by its name."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from viz_encoder.errors import InputError
from viz_encoder.model import masks

VALID = torch.tensor([[True, True, True, False], [True, False, False, False]])
ADDITIVE = torch.zeros(2, 4).masked_fill(~VALID, -torch.inf)

CONVERTERS = {
    "true means ignore": (masks.from_true_means_ignore, ~VALID),
    "one means keep": (masks.from_one_means_keep, VALID.long()),
    "zero means keep": (masks.from_zero_means_keep, ADDITIVE),
    "batch of rows": (masks.from_batch_of_rows, VALID[:, None, None, :]),
}


@pytest.mark.parametrize("name", CONVERTERS)
def test_each_convention_comes_in_right(name):
    convert, theirs = CONVERTERS[name]
    assert torch.equal(convert(theirs), VALID)


@pytest.mark.parametrize(
    ("convert", "theirs", "says"),
    [
        (masks.from_true_means_ignore, VALID.long(), "flips bits"),
        (masks.from_one_means_keep, torch.tensor([[0, 2]]), r"\[0, 2\]"),
        (masks.from_zero_means_keep, VALID.float(), "holds 1"),
        (masks.from_zero_means_keep, torch.tensor([[0.0, -10.0]]), "holds -10"),
        (masks.from_zero_means_keep, torch.tensor([[0.0, torch.nan]]), "nan"),
        (masks.from_batch_of_rows, VALID, "takes"),
        (masks.custom, VALID[0], "1 axes"),
    ],
)
def test_a_mask_of_another_convention_is_refused(convert, theirs, says):
    with pytest.raises(InputError, match=says):
        convert(theirs)


@given(n=st.integers(1, 12), reach=st.integers(1, 5))
def test_windows_and_causal_masks_mean_what_they_say(n, reach):
    window, causal = masks.sliding_window(n, reach)[0, 0], masks.causal(n)[0, 0]
    both = masks.combine(masks.sliding_window(n, reach), masks.causal(n))[0, 0]
    for query in range(n):
        for key in range(n):
            assert bool(window[query, key]) == (abs(query - key) <= reach)
            assert bool(causal[query, key]) == (key <= query)
            assert bool(both[query, key]) == (0 <= query - key <= reach)


def test_padding_forbids_keys_not_queries():
    mask = masks.padding(VALID)
    assert mask.shape == (2, 1, 1, 4)
    assert torch.equal(mask.expand(2, 1, 4, 4)[1, 0, 3], VALID[1])


def test_no_mask_is_none():
    assert masks.combine(None, None) is None
