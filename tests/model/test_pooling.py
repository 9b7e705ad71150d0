"""Pooling: padding never takes part."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from viz_encoder.errors import InputError, SelectionError
from viz_encoder.model import pool


@pytest.mark.parametrize("method", ["cls", "max", "mean"])
@given(
    length=st.integers(1, 9), padding=st.integers(0, 6), left=st.booleans(), seed=st.integers(0, 99)
)
def test_padding_changes_nothing(method, length, padding, left, seed):
    hidden = torch.randn(length, 5, generator=torch.Generator().manual_seed(seed)) - 3
    rubbish = torch.full((padding, 5), torch.nan)
    parts = (rubbish, hidden) if left else (hidden, rubbish)
    mask = torch.zeros(length + padding, dtype=torch.bool)
    mask[padding if left else 0 :][:length] = True
    alone = pool(hidden, torch.ones(length, dtype=torch.bool), method)
    padded = pool(torch.cat(parts), mask, method)
    if method == "mean":
        assert torch.allclose(alone, padded, atol=1e-6, rtol=0)
    else:
        assert torch.equal(alone, padded)


def test_each_method_by_hand():
    hidden = torch.tensor([[[1.0, -2.0], [3.0, -4.0], [99.0, 99.0]]])
    mask = torch.tensor([[True, True, False]])
    assert pool(hidden, mask, "cls").tolist() == [[1.0, -2.0]]
    assert pool(hidden, mask, "mean").tolist() == [[2.0, -3.0]]
    assert pool(hidden, mask, "max").tolist() == [[3.0, -2.0]]


def test_faults_are_plain():
    hidden = torch.zeros(2, 3, 4)
    with pytest.raises(SelectionError, match="choose one of cls, mean, max"):
        pool(hidden, torch.ones(2, 3, dtype=torch.bool), "median")
    with pytest.raises(InputError, match="all padding"):
        pool(hidden, torch.tensor([[True] * 3, [False] * 3]), "mean")
    with pytest.raises(InputError, match="int64"):
        pool(hidden, torch.ones(2, 3, dtype=torch.long), "mean")
    with pytest.raises(InputError, match=r"shape \(2, 3\)"):
        pool(hidden, torch.ones(2, 4, dtype=torch.bool), "mean")
    with pytest.raises(InputError, match="all padding"):
        pool(torch.zeros(2, 0, 4), torch.ones(2, 0, dtype=torch.bool), "max")


@pytest.mark.parametrize("method", ["cls", "max", "mean"])
def test_any_number_of_batch_axes(method, rng):
    hidden = torch.randn(2, 3, 5, 4, generator=rng)
    mask = torch.rand(2, 3, 5, generator=rng) > 0.4
    mask[..., 2] = True
    whole = pool(hidden, mask, method)
    for i in range(2):
        assert torch.allclose(whole[i], pool(hidden[i], mask[i], method))
        assert torch.allclose(whole[i, 1], pool(hidden[i, 1], mask[i, 1], method))
