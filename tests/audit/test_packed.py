"""Packed documents of unequal lengths."""

import numpy as np
import pytest

from viz_encoder.audit.mask_input.conventions import packed
from viz_encoder.errors import InputError


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
