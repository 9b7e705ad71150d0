"""Long audits: few forward passes, no map held whole, and the same answers in any blocks."""

import math
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import viz_encoder as vz
from tests.audit.plants import Stack, banded, causal, padding
from tests.slow import slow
from viz_encoder.audit import AuditScope
from viz_encoder.audit.measure import layer as layers
from viz_encoder.audit.measure.reach import may_know, must_know, reach
from viz_encoder.audit.measure.slots import Slots
from viz_encoder.audit.zoo import SPECIMENS
from viz_encoder.trace.attention_call import AttentionCall

N_SAMPLES, N_HEADS, N_TOKENS = 3, 4, 150
FORWARDS = 58  # of one audit of one length; 6 positions are changed by two sizes above 128 tokens


class Fast(nn.Module):
    """Two layers of scaled_dot_product_attention, which holds no map itself."""

    def __init__(self, dropout=0.0):
        super().__init__()
        torch.manual_seed(0)
        self.qkv = nn.ModuleList(nn.Linear(16, 48) for _ in range(2))
        self.dropout = nn.Dropout(dropout)
        self.forwards = 0

    def forward(self, x, keep):
        self.forwards += 1
        for qkv in self.qkv:
            q, k, v = (
                part.unflatten(-1, (N_HEADS, -1)).transpose(1, 2) for part in qkv(x).chunk(3, -1)
            )
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None])
            x = x + self.dropout(mixed.transpose(1, 2).flatten(2))
        return x


class Largest(TorchDispatchMode):
    """The most numbers in one float tensor that any operation made."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for one in tree_leaves(out):
            if isinstance(one, Tensor) and one.is_floating_point():
                self.numbers = max(self.numbers, one.untyped_storage().nbytes() // one.itemsize)
        return out


def audit(model, passed=causal):
    scope = AuditScope(lengths=[N_TOKENS])
    return vz.audit_mask(model, causal, passed, d_model=16, n_layers=2, scope=scope)


def test_an_audit_runs_the_model_no_more_often_than_it_must():
    model = Fast().eval()
    assert audit(model).verdict == "PASS"
    assert 20 < model.forwards <= FORWARDS - 3  # nothing is drawn in training mode
    drawn = Fast(dropout=0.1).eval()
    # One draw of dropout opens some of this many forbidden pairs; fewer are drawn four times.
    assert audit(drawn).verdict == "PASS" and drawn.forwards == model.forwards


@pytest.mark.parametrize("passed", [causal, slow(padding)])
def test_no_map_of_all_heads_is_ever_held(monkeypatch, passed):
    monkeypatch.setattr(layers, "BLOCK_BYTES", 2**17)
    with Largest() as seen:
        report = audit(Fast().eval(), passed)
    assert report.verdict == ("PASS" if passed is causal else "FAIL"), str(report)
    assert 0 < seen.numbers < N_SAMPLES * N_HEADS * N_TOKENS**2 // 2


def without_seconds(report):
    return re.sub(r"\d+(\.\d+)? ?s\b", "", str(report))


@pytest.mark.parametrize(
    "name", ["C1-repeat", *map(slow, ["A6-minus-ten", "C2-transposed", "D5-one-too-few"])]
)
def test_row_by_row_gives_the_same_answers(monkeypatch, name):
    def told():
        given = SPECIMENS[name].build(3)
        return without_seconds(
            vz.audit_mask(given.model, given.intent, given.make_mask, **given.options)
        )

    whole = told()
    monkeypatch.setattr(layers, "BLOCK_BYTES", 1)
    assert told() == whole and "FAIL" in whole


def call(mask=None, bias=None):
    torch.manual_seed(1)
    q, k, v = torch.randn(3, N_SAMPLES, 2, 7, 5)
    return AttentionCall("sdpa", q, k, v, scale=0.7, mask=mask, bias=bias)


def by_hand(ran):
    scores = 0.7 * np.einsum("bhqd,bhkd->bhqk", ran.q.double().numpy(), ran.k.double().numpy())
    scores = scores if ran.bias is None else scores + ran.bias.double().numpy()
    scores = scores if ran.mask is None else np.where(ran.mask.numpy(), scores, -math.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("block", [1, 2**24])
@pytest.mark.parametrize("kind", ["mask", "right", "bias", "none"])
def test_each_row_is_judged_as_numpy_does(monkeypatch, block, kind):
    monkeypatch.setattr(layers, "BLOCK_BYTES", block)
    valid = torch.arange(7) < torch.tensor([[5], [3], [7]])
    mask = torch.rand(3, 2, 7, 7, generator=torch.Generator().manual_seed(3)) < 0.6
    mask = mask | torch.eye(7, dtype=torch.bool)
    given = {"mask": {"mask": mask}, "right": {"mask": causal(valid)[:, None]}, "none": {}}
    ran = call(**given.get(kind, {"bias": -3.0 * ~mask}))
    seen = layers.LayerRun("", ran, N_SAMPLES).judged(causal(valid), valid)
    weights, allowed = by_hand(ran), causal(valid).numpy()[:, None]
    rows = (valid & causal(valid).any(-1)).numpy()[:, None, :, None]
    leak = np.where(~allowed & rows, weights, 0).max(axis=-1)
    assert np.abs(seen.leak.numpy() - leak).max() < 1e-6
    assert (leak.max() < 1e-6) == (kind == "right")
    opened = np.ones_like(weights, dtype=bool)
    opened = np.broadcast_to(ran.mask.numpy(), weights.shape) if ran.mask is not None else opened
    lost = (allowed & ~opened & valid.numpy()[:, None, :, None]).sum(axis=-1)
    assert (seen.lost.numpy() == lost).all()
    assert np.abs(seen.sums.numpy()[np.broadcast_to(rows[..., 0], lost.shape)] - 1).max() < 1e-6


@pytest.mark.parametrize("block", [1, 2**24])
def test_what_a_sink_took_counts_toward_a_row_s_sum(monkeypatch, block):
    monkeypatch.setattr(layers, "BLOCK_BYTES", block)
    valid = torch.ones(3, 7, dtype=torch.bool)
    q, k, v = torch.randn(3, 3, 2, 8, 5, generator=torch.Generator().manual_seed(4)).unbind()
    mask = F.pad(causal(valid), (1, 0), value=True)[:, None]  # column 0 is the sink
    ran = AttentionCall("sdpa", q[:, :, :7], k, v, scale=0.7, mask=mask)
    one = layers.LayerRun("", ran, N_SAMPLES, Slots(first=1, n_open=1), n_keys=7)
    seen, weights = one.judged(causal(valid), valid), by_hand(ran)
    assert np.median(weights[..., 1:].sum(axis=-1)) < 0.9
    assert float((seen.sums - 1).abs().max()) < 1e-6


def test_a_layer_with_nan_is_never_taken_for_a_plain_one():
    ran = call(mask=causal(torch.ones(3, 7, dtype=torch.bool))[:, None])
    assert layers.LayerRun("", ran, N_SAMPLES).is_plain
    ran.k[1, 0, 2, 0] = torch.nan
    valid = torch.ones(3, 7, dtype=torch.bool)
    broken = layers.LayerRun("", ran, N_SAMPLES)
    assert not broken.is_plain and bool(broken.judged(causal(valid), valid).nan[1, 0, 3])


@pytest.mark.parametrize("n_layers", [1, 2, 3, 5, 9])
def test_the_last_of_reach_is_found_without_the_steps_between(n_layers):
    draw = torch.Generator().manual_seed(n_layers)
    for n_tokens in (1, 4, 9):
        mask = torch.rand(3, n_tokens, n_tokens, generator=draw) < 0.2
        assert must_know([mask], n_layers).equal(reach(mask, n_layers)[-1])
        assert must_know([mask] * n_layers, 1).equal(reach(mask, n_layers)[-1])
        each = [torch.rand(3, n_tokens, n_tokens, generator=draw) < 0.2 for _ in range(n_layers)]
        each[-1] = each[0]
        assert must_know(each, n_layers).equal(reach(each)[-1])
        loose = mask | ~mask.any(dim=-1, keepdim=True)
        assert may_know([mask], n_layers).equal(reach(loose, n_layers)[-1])


def test_a_window_reaches_as_far_as_its_layers():
    model = Stack().eval()
    report = vz.audit_mask(model, banded(3), d_model=8, n_layers=2, scope=AuditScope(lengths=[140]))
    assert report.verdict == "PASS", str(report)


@pytest.mark.parametrize("n_ran", [1, 3])
def test_one_map_is_that_of_all_maps(n_ran):
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, n_ran, N_HEADS, 9, 5, generator=generator).unbind()
    mask = torch.ones(n_ran, 1, 9, 9, dtype=torch.bool).tril()
    one = layers.LayerRun("", AttentionCall("sdpa", q, k, v, 0.4, mask), 3)
    whole = one.weights(slice(None))
    for sample, head in ((0, 0), (1, 3), (2, 1)):
        assert torch.equal(one.map(sample, head), whole[sample, head])
