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


def test_nan_equals_nothing_else():
    x = torch.tensor([1.0, float("nan"), float("inf")])
    assert same_bits(x, x.clone())
    assert not same_bits(x, x.nan_to_num())


def test_shape_type_and_order_in_memory(rng):
    x = torch.randn(4, 6, generator=rng)
    assert not same_bits(x, x.reshape(6, 4))
    assert not same_bits(x, x.double())
    assert same_bits(x.mT, x.mT.contiguous())  # the same numbers, laid out otherwise
    assert not same_bits(x.mT, x.mT.contiguous() + 1)


def test_the_sign_of_zero_and_what_holds_no_number():
    assert not same_bits(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert same_bits(torch.empty(0, 3), torch.empty(0, 3))


def test_tensors_of_inference_and_with_gradients(rng):
    with torch.inference_mode():
        x = torch.randn(2, 8, generator=rng)
    y = x.clone().requires_grad_()
    assert same_bits(x, y)
    assert not same_bits(x, y * 2)


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
