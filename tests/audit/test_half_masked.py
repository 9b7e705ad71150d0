"""Attention without a softmax that masks a part of its sums: named by what lets tokens in."""

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.audits import own
from tests.audit.plants import causal, padding
from viz_encoder.audit.diagnose.causes import CAUSES


class Sums(nn.Module):
    """Two layers of exp and sum; `masked` says which of both sums keeps forbidden keys out."""

    def __init__(self, masked, *, fused=False):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Layer(masked, fused) for _ in range(2))

    def forward(self, x, keep):
        for layer in self.layers:
            x = x + layer(x, keep)
        return x


class Layer(nn.Module):
    def __init__(self, masked, fused):
        super().__init__()
        self.masked, self.fused = masked, fused
        self.qkv = nn.Linear(8, 24) if fused else nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x, keep):
        q, k, v = self.qkv(x).chunk(3, -1) if self.fused else (part(x) for part in self.qkv)
        weights = (q @ k.mT / 3).exp()
        above, below = (weights * keep if one in self.masked else weights for one in ("v", "k"))
        return above @ v / below.sum(-1, keepdim=True)


def audit(model, intent, make_mask):
    return vz.audit_mask(model.eval(), intent, make_mask, d_model=8, n_layers=2)


@pytest.mark.parametrize("intent", [padding, causal])
@pytest.mark.parametrize("fused", [True, False])
def test_values_that_are_masked_and_a_normalizer_that_is_not(intent, fused):
    found = audit(Sums("v", fused=fused), intent, intent).failed[0]
    assert found.code == "half_masked", found
    keys = "channels 16…23, and get in by 8…15" if fused else "layers.0.qkv.2, and get in by"
    assert keys in found.cause, found
    assert fused or "layers.0.qkv.1." in found.cause


@pytest.mark.parametrize("intent", [padding, causal])
def test_a_normalizer_that_is_masked_and_values_that_are_not_is_not_called_no_mask(intent):
    found = audit(Sums("k"), intent, intent).failed[0]
    assert found.cause == "not known.", found


@pytest.mark.parametrize("intent", [padding, causal])
def test_no_mask_is_still_called_so_and_the_whole_mask_passes(intent):
    found = audit(Sums(""), intent, intent).failed[0]
    assert found.cause == f"{CAUSES['ignored'].sentence}.", found
    assert own(audit(Sums("vk"), intent, intent)) == []


class Capped(nn.Module):
    """Attention whose scores are capped by a tanh, after the mask or before it."""

    def __init__(self, cap, mended):
        super().__init__()
        self.qkv, self.cap, self.mended = nn.Linear(8, 24), cap, mended

    def forward(self, x, allowed):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.mT / 8**0.5
        if not self.mended:
            scores = scores.masked_fill(~allowed, -1e30)
        scores = self.cap * torch.tanh(scores / self.cap)
        if self.mended:
            scores = scores.masked_fill(~allowed, -torch.inf)
        return scores.softmax(dim=-1) @ v


@pytest.mark.parametrize("cap", [20, 50])
@pytest.mark.parametrize("mended", [True, False])
def test_a_cap_after_the_mask_leaves_masked_scores_near_zero(cap, mended):
    torch.manual_seed(0)
    report = vz.audit_mask(Capped(cap, mended).eval(), causal, d_model=8)
    assert report.verdict == ("PASS" if mended else "WARN"), str(report)
    assert mended or f"A masked score is -{cap}" in report.sentence
