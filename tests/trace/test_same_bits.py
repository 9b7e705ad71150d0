"""Two tensors are the same only where every number of them is, whatever the type and the shape."""

import pytest
import torch
from torch._subclasses import FakeTensorMode

from viz_encoder.trace.callers_state import same_bits

TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3, 5), (4, 16)])
def test_one_number_changed_is_seen_wherever_it_is(dtype, shape, rng):
    x = (torch.randn(shape, generator=rng) > 0).to(dtype)
    y = x.clone()
    assert same_bits(x, y)
    for at in range(x.numel()):
        changed = x.clone()
        changed.view(-1)[at] = 1 - int(changed.view(-1)[at])
        assert not same_bits(x, changed)


def test_bits_count_and_not_how_they_lie_or_who_made_them(rng):
    x, odd = torch.randn(4, 6, generator=rng), torch.tensor([1.0, float("nan"), float("inf")])
    with torch.inference_mode():
        made = torch.randn(2, 8, generator=rng)
    learned = made.clone().requires_grad_()
    for one, other, same in (
        (odd, odd.clone(), True),
        (odd, odd.nan_to_num(), False),
        (torch.tensor([0.0]), torch.tensor([-0.0]), False),
        (torch.empty(0, 3), torch.empty(0, 3), True),
        (x, x.reshape(6, 4), False),
        (torch.zeros(3), torch.zeros(3, dtype=torch.int32), False),
        (x.mT, x.mT.contiguous(), True),
        (x.mT, x.mT.contiguous() + 1, False),
        (made, learned, True),
        (made, learned * 2, False),
    ):
        assert same_bits(one, other) == same


def test_what_only_stands_for_a_tensor_is_left_to_torch(rng):
    with FakeTensorMode():
        stands_for = torch.randn(2, 8)
        with pytest.raises(RuntimeError, match=r"aten\.equal"):
            same_bits(stands_for, stands_for.clone())
    found = []
    torch.func.grad(lambda x: found.append(same_bits(x, x.clone())) or x.sum())(
        torch.randn(2, 8, generator=rng)
    )
    assert found == [True]
