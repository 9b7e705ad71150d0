"""flex_attention under record(): its own output, and numpy's, from the maps that were read."""

import gc
import math
import weakref

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import viz_encoder as vz
from tests.audit.test_length import Largest
from tests.slow import slow, slow_but
from viz_encoder.errors import TraceError
from viz_encoder.model import mask_mods
from viz_encoder.trace import flex
from viz_encoder.trace.mask_parsing import GivenMasks

pytestmark = [
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile"),
    pytest.mark.skipif(
        torch.__version__ < "2.7", reason="its dynamo cannot trace the tests' checks of shapes"
    ),
]
B, H, T, D = 2, 4, 37, 16
KEEP = torch.arange(T) < torch.tensor([[20], [T]])
SLOPES = torch.tensor([0.5, 0.25, 0.1, 0.05])
TABLE = torch.randn(H, 2 * T, generator=torch.Generator().manual_seed(0))


def masked(mod, batch=B, heads=None):
    return create_block_mask(mod, batch, heads, T, T, device="cpu")


CAUSAL = masked(lambda b, h, q, k: KEEP[b][k] & (q >= k))
CALLS = {
    "plain": {},
    "causal, padding": {"block_mask": CAUSAL},
    "by head": {"block_mask": masked(lambda b, h, q, k: (q - k).abs() <= h, None, H)},
    "empty rows": {"block_mask": masked(lambda b, h, q, k: KEEP[b, k] & (q > 2))},
    "ALiBi": {"score_mod": lambda s, b, h, q, k: s - SLOPES[h] * (q - k)},
    "table": {"score_mod": lambda s, b, h, q, k: s + TABLE[h, q - k + T], "block_mask": CAUSAL},
    "soft cap": {"score_mod": lambda s, b, h, q, k: 5 * torch.tanh(s / 5), "block_mask": CAUSAL},
    "banned": {"score_mod": lambda s, b, h, q, k: torch.where(KEEP[b, k], s, -torch.inf)},
    "scaled": {"scale": 0.9, "block_mask": CAUSAL},
}


class Attend(nn.Module):
    def __init__(self, run=flex_attention, **given):
        super().__init__()
        self.run, self.given = run, given

    def forward(self, q, k, v):
        return self.run(q, k, v, **self.given)


def qkv(kv_heads=H, dtype=torch.float32):
    draw = torch.Generator().manual_seed(1)
    sizes = ((H, 2.0), (kv_heads, 1.0), (kv_heads, 1.0))
    return [(n * torch.randn(B, h, T, D, generator=draw)).to(dtype) for h, n in sizes]


def recorded(model, given):
    with vz.record(model) as recording:
        out = model(*given)
    assert [call.kind for call in recording.calls] == ["flex_attention"]
    return recording, out


def by_loop(name, q, k):
    """Every score through the caller's own functions, one by one, in float64."""
    given = CALLS[name]
    k = k.repeat_interleave(H // k.shape[1], dim=1).double()
    scores = (q.double() @ k.mT * given.get("scale", 1 / math.sqrt(D))).clone()
    mods = given.get("score_mod"), given.get("block_mask")
    for place in np.ndindex(tuple(scores.shape)):
        at = [torch.tensor(one) for one in place]
        score = scores[place] if mods[0] is None else mods[0](scores[place], *at)
        banned = mods[1] is not None and not bool(mods[1].mask_mod(*at))
        scores[place] = -torch.inf if banned else score
    scores = scores.numpy()
    top = np.nan_to_num(scores.max(axis=-1, keepdims=True), neginf=0.0)
    weights = np.exp(scores - top)
    return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-300)


@pytest.mark.parametrize("kv_heads", [slow(H), 2])
@pytest.mark.parametrize("name", slow_but(["by head", "empty rows", "table", "banned"], CALLS))
def test_maps_give_the_very_output_of_flex_attention(name, kv_heads):
    given = qkv(kv_heads)
    model = Attend(**CALLS[name], enable_gqa=kv_heads != H)
    plain = model(*given)
    recording, out = recorded(model, given)
    assert out.equal(plain)
    for sample in range(B):
        trace = recording.trace(sample=sample)
        maps = torch.stack([torch.as_tensor(trace.attention(0, head)) for head in range(H)])
        values = given[2][sample].repeat_interleave(H // kv_heads, dim=0)
        assert float((maps @ values - out[sample]).abs().max()) <= 2e-5
        assert trace.proof.passed


@pytest.mark.parametrize(
    "name", ["by head", slow("empty rows"), slow("table"), slow("soft cap"), slow("banned")]
)
def test_maps_are_those_of_a_plain_loop(name):
    q, k, v = qkv()
    recording, _ = recorded(Attend(**CALLS[name]), (q, k, v))
    expected = by_loop(name, q, k)
    for sample in range(B):
        trace = recording.trace(sample=sample)
        maps = np.stack([np.asarray(trace.attention(0, head)) for head in range(H)])
        assert np.abs(maps - expected[sample]).max() <= 2e-5


def test_what_is_added_alike_is_kept_as_it_is_and_once():
    ran = recorded(Attend(**CALLS["ALiBi"]), qkv())[0].calls[0].attention
    place = torch.arange(T)
    assert ran.mask is None
    assert ran.bias.equal((-SLOPES[:, None, None] * (place[:, None] - place))[None])
    ran = recorded(Attend(**CALLS["banned"]), qkv())[0].calls[0].attention
    assert ran.bias is None and ran.mask.shape == (B, 1, T, T)


class Large(Largest):
    """Besides, every float tensor of at least so many numbers."""

    def __init__(self, least):
        super().__init__()
        self.least, self.large = least, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = super().__torch_dispatch__(func, types, args, kwargs)
        if isinstance(out, torch.Tensor) and out.is_floating_point() and out.numel() >= self.least:
            self.large.append(weakref.ref(out))
        return out


@pytest.mark.parametrize("depends", [False, True])
def test_scores_are_asked_for_in_blocks_and_what_they_gain_is_held_once(monkeypatch, depends):
    for module in (flex, mask_mods):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 2**15)
    n_samples, n = 6, 128
    q = torch.randn(1, H, n, D, generator=torch.Generator().manual_seed(2)).expand(
        n_samples, -1, -1, -1
    )

    def mod(score, b, h, query, key):
        return 5 * torch.tanh(score / 5) if depends else score - SLOPES[h] * (query - key)

    block = masked(lambda b, h, query, key: query >= key + b % 2, n_samples)
    masks, given = GivenMasks(), (q, q, q, mod, block.as_tuple(), 0.25, {})
    with Large(H * n * n) as seen:
        calls = [flex.from_flex(given, {}, torch.zeros_like(q), masks) for _ in range(3)]
    assert seen.numbers == H * n * n  # of one sample, for all have the same
    assert all(call.bias is calls[0].bias and call.mask is calls[0].mask for call in calls)
    place = torch.arange(n)
    scores = 0.25 * q[:1] @ q[:1].mT
    added = -SLOPES[:, None, None] * (place[:, None] - place)
    added = 5 * torch.tanh(scores / 5) - scores if depends else added[None]
    assert calls[0].bias.shape == (1, H, n, n)
    assert float((calls[0].bias - added).abs().max()) <= 1e-5
    assert calls[0].mask.equal(
        (place[:, None] >= place + torch.arange(n_samples)[:, None, None] % 2)[:, None]
    )
    gc.collect()
    held = [x for x in (one() for one in seen.large) if x is not None]
    assert {x.data_ptr() for x in held} == {calls[0].bias.data_ptr()}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_dtypes_are_read_as_they_ran(dtype):
    given = qkv(dtype=dtype)
    recording, out = recorded(Attend(**CALLS["table"]), given)
    trace = recording.trace(sample=1)
    maps = torch.stack([torch.as_tensor(trace.attention(0, head)) for head in range(H)])
    away = (maps.double() @ given[2][1].double() - out[1].double()).abs().max()
    assert float(away) <= (1e-12 if dtype is torch.float64 else 3e-2)
    assert trace.proof.passed


def test_cross_attention_has_its_own_number_of_keys():
    q, k, v = qkv()
    recording, _ = recorded(Attend(), (q[:, :, :9], k, v))
    assert recording.calls[0].shape == (B, H, 9, T) and recording.calls[0].cross


@pytest.fixture
def fresh_compiler():
    yield
    torch._dynamo.reset()


def test_compiled_it_is_seen_where_torch_runs_its_operator(fresh_compiler):
    compiled = torch.compile(flex_attention, backend="eager")
    recording, out = recorded(Attend(compiled, **CALLS["causal, padding"]), qkv())
    trace = recording.trace(sample=0)
    first = torch.as_tensor(trace.attention(0, 0)) @ qkv()[2][0, 0]
    assert float((first - out[0, 0]).abs().max()) <= 2e-5


def hidden(graph, inputs):
    """A backend whose code torch's function modes do not see, as inductor's."""

    def run(*args):
        with torch._C.DisableTorchFunction():
            return graph(*args)

    return run


def test_compiled_out_of_sight_it_is_said_with_what_to_do(fresh_compiler):
    model = Attend(torch.compile(flex_attention, backend=hidden), **CALLS["causal, padding"])
    with vz.record(model) as recording:
        out = model(*qkv())
    with pytest.raises(TraceError, match=r"calls run, which is compiled.*force_eager"):
        recording.trace()
    with torch.compiler.set_stance("force_eager"):
        again, uncompiled = recorded(model, qkv())
    assert float((out - uncompiled).abs().max()) <= 2e-5
    assert again.trace(sample=1).proof.passed
