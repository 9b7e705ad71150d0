"""Windows of a picture as masks: what Swin's own code gives, and no two mistakes for one."""

import pytest
import torch

from tests.audit.swin_cases import allowed, regions
from viz_encoder.audit.diagnose.windows import Windows, windows_in, wrong_windows
from viz_encoder.audit.zoo.specimen import own_document


@pytest.mark.parametrize(
    ("height", "width", "size", "shift"),
    [
        (4, 4, 2, 1),
        (6, 4, 2, 1),
        (4, 6, 2, 0),
        (8, 8, 4, 2),
        (5, 5, 3, 1),
        (7, 9, 4, 2),
        (9, 6, 3, 2),
    ],
)
def test_the_pairs_are_those_token_by_token(height, width, size, shift):
    found = Windows(height, width, size, shift)
    assert torch.equal(found.pairs(), allowed((height, width), size, shift))
    assert found in windows_in(found.pairs())


def test_an_axis_that_one_window_covers():
    whole = allowed((8, 4), 4, 2)
    assert torch.equal(Windows(8, 4, 4, 2, covered=True).pairs(), whole)
    rows = torch.arange(32) // 4
    along_rows = ((rows[:, None] + 2) // 4) == ((rows + 2) // 4)
    assert torch.equal(Windows(8, 4, 4, 2).pairs(), along_rows)


@pytest.mark.parametrize("along", ["h", "w"])
def test_regions_along_one_axis_are_those_of_the_code(along):
    keep = regions((6, 4), 2, 1, along=along)  # window after window
    cut = torch.arange(24).view(6, 4).roll((-1, -1), (0, 1)).unfold(0, 2, 2).unfold(1, 2, 2)
    tokens, pairs = cut.reshape(-1, 4), torch.zeros(24, 24, dtype=torch.bool)
    for places, one in zip(tokens, keep, strict=True):
        pairs[places[:, None], places] = one
    found = Windows(6, 4, 2, 1, regions={"h": "rows", "w": "columns"}[along])
    assert torch.equal(found.pairs(), pairs)


def test_each_mistake_changes_something_and_padding_late_needs_padding():
    for size, padded in (((8, 8), False), ((7, 8), True)):
        meant = allowed(size, 4, 2)
        wrong = list(wrong_windows(meant[None]))
        codes = {one.code for one in wrong}
        assert {"windows_unmasked", "windows_axes", "windows_shift", "windows_size"} <= codes
        assert ("windows_late" in codes) is padded
        assert not any(torch.equal(one.windows.pairs(), meant) for one in wrong)


def test_what_is_no_window_is_none():
    real = torch.ones(1, 12, dtype=torch.bool)
    assert list(wrong_windows(torch.ones(1, 12, 12).tril().bool())) == []
    assert list(wrong_windows(torch.ones(1, 12, 12).bool())) == []
    packed = own_document(4)(real)
    for one in wrong_windows(packed):  # documents in a row have edges of their own
        number = torch.stack([row.nonzero()[0, 0] for row in one.windows.pairs()])
        assert not bool((number.diff() >= 0).all())
