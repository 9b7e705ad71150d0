"""record() beside what else acts on a model's calls: dispatch modes, interrupts, coroutines."""

import asyncio
import pickle
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.testing import CompileCounter
from torch.overrides import _get_current_function_mode_stack as mode_stack
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import viz_encoder as vz
from tests.coroutines import run_apart
from viz_encoder.errors import TraceError

N_LAYERS, N_TOKENS, D_MODEL = 3, 5, 16


class Net(nn.Module):
    def __init__(self, n_layers=N_LAYERS):
        super().__init__()
        kind = nn.TransformerEncoderLayer
        self.layers = nn.ModuleList(kind(D_MODEL, 2, batch_first=True) for _ in range(n_layers))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class OfItself(Net):
    """Runs the halves of a batch one after the other, by calling itself."""

    def forward(self, x):
        if len(x) == 1:
            return super().forward(x)
        return torch.cat([self(one) for one in x.split(1)])


class Noise(TorchDispatchMode):
    """Adds what stands for the noise of hardware, and counts what it was shown."""

    def __init__(self):
        super().__init__()
        self.n_products = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func not in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
            return out
        self.n_products += 1
        return out + 1e-3 * torch.randn(out.shape)


def x_of(rng, n_samples=1):
    return torch.randn(n_samples, N_TOKENS, D_MODEL, generator=rng)


def test_a_dispatch_mode_of_the_callers_own_is_shown_nothing_of_ours(rng):
    model, x = Net().train(), x_of(rng)
    for layer in model.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    torch.manual_seed(0)
    with Noise() as alone:
        plain = model(x)
    torch.manual_seed(0)
    with Noise() as beside, vz.record(model) as recording:
        seen = model(x)
    assert torch.equal(plain, seen)
    assert alone.n_products == beside.n_products
    assert len(recording.calls) == N_LAYERS
    with FlopCounterMode(display=False) as one:
        model(x)
    with FlopCounterMode(display=False) as two, vz.record(model):
        model(x)
    assert one.get_total_flops() == two.get_total_flops() > 0


def test_a_run_after_an_interrupt_is_a_run_of_its_own(rng):
    model, x = Net().eval(), x_of(rng)

    def interrupt(*_):
        raise KeyboardInterrupt

    with vz.record(model) as recording:
        hook = model.layers[1].norm2.register_forward_hook(interrupt)
        with pytest.raises(KeyboardInterrupt):
            model(x_of(rng))
        hook.remove()
        model(x)
    with vz.record(model) as alone:
        model(x)
    trace, expected = recording.trace(), alone.trace()
    assert recording.n_runs == 2
    assert len(trace.hidden_states) == N_LAYERS + 1
    for layer in range(N_LAYERS):
        assert (trace.attention(layer=layer) == expected.attention(layer=layer)).all()


class Offloading(nn.Module):
    """Lets go of the memory between its layers; a hook brings it back."""

    def __init__(self):
        super().__init__()
        self.layers = Net(2).eval().layers
        self.layers[1].register_forward_pre_hook(lambda module, args: (self.kept,))

    def forward(self, x):
        out = self.layers[0](x)
        self.kept = out.clone()
        out.untyped_storage().resize_(0)
        return self.layers[1](out)


def test_memory_that_a_model_has_let_go_of_is_not_read(rng):
    model, x = Offloading(), x_of(rng)
    with torch.no_grad():
        plain = model(x)
        with vz.record(model) as recording:
            assert torch.equal(model(x), plain)
    assert len(recording.trace().layers) == 2


@pytest.mark.parametrize(("n_samples", "n_tokens"), [(0, N_TOKENS), (2, 0)])
def test_a_run_of_nothing_is_named(n_samples, n_tokens):
    class Attends(nn.Module):
        def forward(self, x):
            return F.scaled_dot_product_attention(x, x, x)

    with vz.record(Attends()) as recording:
        recording.module(torch.zeros(n_samples, 2, n_tokens, D_MODEL))
    with pytest.raises(TraceError, match=f"{n_samples} samples of {n_tokens} tokens"):
        recording.trace()


def test_a_model_that_calls_itself_is_one_run(rng):
    model = OfItself(1).eval()
    with vz.record(model) as recording:
        model(x_of(rng, n_samples=2))
    assert recording.n_runs == 1
    assert len(recording.calls) == 2


@pytest.mark.parametrize("pauses", [(1, 3), (3, 1)])
def test_recordings_of_coroutines_may_end_in_any_order(pauses, rng):
    async def serve(turns):
        model = Net(1).eval()
        with vz.record(model) as recording:
            for _ in range(3):
                model(x_of(rng))
                for _ in range(turns):
                    await asyncio.sleep(0)
        return recording.n_runs

    async def both():
        return await asyncio.gather(*(serve(turns) for turns in pauses))

    assert run_apart(both()) == [3, 3]
    assert not mode_stack()


class HalfCompiled(nn.Module):
    """Attends in plain code, and calls its other modules in a compiled function."""

    def __init__(self, backend):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(D_MODEL), nn.Linear(D_MODEL, D_MODEL)
        self.rest = torch.compile(lambda x: self.norm(x + self.linear(x)), backend=backend)

    def forward(self, x):
        return self.rest(x + F.scaled_dot_product_attention(x, x, x))


def test_a_compiled_function_that_calls_modules_is_compiled_once_more_and_in_one_piece(rng):
    torch._dynamo.reset()
    counted = CompileCounter()
    model, x = HalfCompiled(counted).eval(), x_of(rng)
    with torch.no_grad():
        plain = model(x)
        for _ in range(10):
            with vz.record(model) as recording:
                seen = model(x)
            assert torch.equal(plain, seen)
            assert len(recording.calls) == 1
        assert torch.equal(plain, model(x))
    assert counted.frame_count == 2
    assert not torch._dynamo.utils.counters["graph_break"]


def test_a_model_saved_in_the_block_keeps_nothing_of_ours(rng):
    model = nn.MultiheadAttention(D_MODEL, 2, batch_first=True)
    with vz.record(model):
        copy = pickle.loads(pickle.dumps(model))
    given = []
    copy.register_forward_pre_hook(lambda module, args: given.append(len(args)))
    copy(*[x_of(rng)] * 3)
    assert given == [3]
    assert not model._forward_pre_hooks_with_kwargs


def test_two_threads_record_one_attention_and_each_takes_only_its_own_mark_away():
    model = nn.MultiheadAttention(D_MODEL, 2, batch_first=True).eval()
    with vz.record(model):
        other = threading.Thread(target=_record_nothing, args=(model,))
        other.start()
        other.join()
        assert len(model._forward_pre_hooks_with_kwargs) == 1
    assert not model._forward_pre_hooks_with_kwargs


def _record_nothing(model):
    with vz.record(model):
        pass
