"""Our function mode rests while torch's own silent modules run, and misses nothing by it."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.overrides import _get_current_function_mode_stack as mode_stack

import viz_encoder as vz

D_MODEL, N_TOKENS = 8, 5


def attention(x):
    return F.scaled_dot_product_attention(x, x, x)


class Inside(nn.Linear):
    """A Linear of one's own, which attends."""

    def forward(self, x):
        return super().forward(attention(x))


class ByHand(nn.Module):
    """Its softmax goes through a module of torch on the way to the values."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        heads = x.unflatten(-1, (2, -1)).transpose(1, 2)
        weights = (heads @ heads.mT).softmax(-1)
        return (self.drop(weights) @ heads).transpose(1, 2).flatten(2)


def model(linear=None):
    return nn.Sequential(linear or nn.Linear(D_MODEL, D_MODEL), nn.LayerNorm(D_MODEL)).eval()


def x_of(rng):
    return torch.randn(1, N_TOKENS, D_MODEL, generator=rng)


def pre_hooked():
    linear = nn.Linear(D_MODEL, D_MODEL)
    linear.register_forward_pre_hook(lambda _, args: (attention(args[0]),))
    return linear


def hooked():
    linear = nn.Linear(D_MODEL, D_MODEL)
    linear.register_forward_hook(lambda _, args, out: attention(out))
    return linear


def patched():
    linear = nn.Linear(D_MODEL, D_MODEL)
    plain = linear.forward
    linear.forward = lambda x: plain(attention(x))
    return linear


@pytest.mark.parametrize("make", [pre_hooked, hooked, patched, lambda: Inside(D_MODEL, D_MODEL)])
def test_what_attends_in_a_linear_by_code_of_the_users_own_is_seen(make, rng):
    with vz.record(model(make())) as recording:
        recording.module(x_of(rng))
    assert [call.kind for call in recording.calls] == ["sdpa"]


def test_a_class_of_torch_that_was_patched_is_seen(monkeypatch, rng):
    monkeypatch.setattr(nn.Identity, "forward", lambda self, x: attention(x))
    with vz.record(model(nn.Identity())) as recording:
        recording.module(x_of(rng))
    assert len(recording.calls) == 1


def test_it_does_rest(rng):
    """Else the tests above would ask for nothing."""
    seen = []
    linear = nn.Linear(D_MODEL, D_MODEL)
    with vz.record(model(linear)):
        plain = F.linear

        def watched(*args):
            seen.append(len(mode_stack()))
            return plain(*args)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(F, "linear", watched)
            linear(x_of(rng))
        assert len(mode_stack()) == 1
    assert seen == [0]


def test_it_is_back_where_a_linear_has_failed(rng):
    x = x_of(rng)
    with vz.record(model()) as recording:
        with pytest.raises(RuntimeError, match="mat1 and mat2"):
            recording.module(x[..., 1:])
        recording.module[0].register_forward_pre_hook(lambda _, args: (attention(args[0]),))
        recording.module(x)
    assert len(recording.calls) == 1
    assert not mode_stack()


def test_a_mode_of_the_callers_own_above_ours_sees_all(rng):
    seen = []

    class Mine(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    both = nn.Sequential(model(), Inside(D_MODEL, D_MODEL))
    with vz.record(both) as recording, Mine():
        both(x_of(rng))
    assert seen.count(F.linear) == 2
    assert len(recording.calls) == 1


def test_a_softmax_on_its_way_is_followed_through_dropout(rng):
    by_hand, x = ByHand().train(), x_of(rng)
    with vz.record(by_hand) as recording:
        by_hand(x)
    (call,) = recording.calls
    heads = x.unflatten(-1, (2, -1)).transpose(1, 2)
    expected = (heads @ heads.mT).softmax(-1)
    assert call.kind == "softmax"
    torch.testing.assert_close(call.attention.maps, expected, rtol=2e-5, atol=2e-5)
    assert call.dropout == 0.5
