"""Attention without a softmax that masks a part of its sums: named by what lets tokens in."""

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.cause_cases import Layers
from tests.audit.plants import causal, own_mask, padding
from tests.slow import slow
from viz_encoder.audit import AuditInputs
from viz_encoder.audit.diagnose.diagnosis import causes


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


@pytest.mark.parametrize("intent, fused", [(causal, True), (padding, False)])
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


class Capped(nn.Module):
    """Attention whose scores are capped by a tanh, after the mask (from some length on) or before.

    With a sink, half of each row goes to a slot of no token; unseen, it is exp and sum.
    """

    def __init__(self, cap, *, mended=False, least=0, kind="softmax"):
        super().__init__()
        torch.manual_seed(0)
        self.qkv, self.cap, self.mended, self.least = nn.Linear(8, 24), cap, mended, least
        self.kind = kind

    def forward(self, x, allowed):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.mT / 8**0.5
        mended = self.mended or x.shape[1] < self.least
        if not mended:
            scores = scores.masked_fill(~allowed, -1e30)
        scores = self.cap * torch.tanh(scores / self.cap)
        if mended:
            scores = scores.masked_fill(~allowed, -torch.inf)
        if self.kind == "exp and sum":
            weights = scores.exp()
            return weights @ v / weights.sum(-1, keepdim=True)
        if self.kind == "sink":
            scores, v = nn.functional.pad(scores, (0, 1)), nn.functional.pad(v, (0, 0, 0, 1))
        return scores.softmax(dim=-1) @ v


@pytest.mark.parametrize("cap", [20, 50])
@pytest.mark.parametrize("mended", [True, False])
def test_a_cap_after_the_mask_leaves_masked_scores_near_zero(cap, mended):
    report = vz.audit_mask(Capped(cap, mended=mended).eval(), causal, d_model=8)
    assert report.verdict == ("PASS" if mended else "WARN"), str(report)
    assert mended or f"A masked score is -{cap}" in report.sentence


@pytest.mark.parametrize("kind", ["softmax", "sink", "exp and sum"])
@pytest.mark.parametrize("cap", [0.5, slow(1.0), 1.5])
@pytest.mark.parametrize("intent", [slow(padding), causal])
def test_a_narrow_cap_after_the_mask_is_not_called_no_mask_at_all(intent, cap, kind):
    model = Capped(cap, kind=kind).eval()
    found = vz.audit_mask(model, intent, d_model=8, n_layers=1).failed[0]
    assert found.code == "constant" and f"(here -{cap:g}" in found.cause, found


def test_a_cap_after_the_mask_of_longer_texts_alone_is_warned_of():
    report = vz.audit_mask(Capped(20, least=9).eval(), causal, d_model=8)
    assert "-20 at 12 tokens (fewer pass)" in report.check("constants").evidence, str(report)


def test_a_leak_that_only_larger_inputs_show_is_laid_to_the_cap():
    model = Capped(16).eval()
    model.qkv.weight.data *= 2
    report = vz.audit_mask(model, causal, d_model=8)
    assert report.check("gradient").verdict == "PASS", str(report)
    found = report.check("perturbation")
    assert found.verdict == "FAIL" and found.code == "constant", found


class Gated(nn.Module):
    """A sum of values that decays at each token by a gate; padding adds none, and may decay it."""

    def __init__(self, mended):
        super().__init__()
        torch.manual_seed(0)
        self.mended = mended
        self.value, self.gate = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x, valid):
        value, gate = self.value(x) * valid[..., None], self.gate(x).sigmoid()
        if self.mended:
            gate = gate.masked_fill(~valid[..., None], 1.0)
        out, total = [], torch.zeros_like(x[:, 0])
        for place in range(x.shape[1]):
            total = total * gate[:, place] + value[:, place]
            out.append(total)
        return x + torch.stack(out, dim=1)


@pytest.mark.parametrize("n_layers", [1, None])
def test_padding_between_tokens_that_decays_a_recurrence(n_layers):
    valid = torch.ones(3, 9, dtype=torch.bool)
    valid[0, 2:4] = valid[1, 5] = valid[1, 8] = False
    given = {"d_model": 8, "n_layers": n_layers, "inputs": AuditInputs(valid=valid)}
    right, wrong = (
        vz.audit_mask(Gated(mended).eval(), causal, own_mask, **given) for mended in (True, False)
    )
    assert right.verdict == "PASS", str(right)
    found = wrong.failed[0]
    assert found.code == "half_masked" and found.cause.endswith("by gate."), found


class Subtracted(nn.Module):
    """Differential attention: the first map less the second, whose mask is `second(mask)`."""

    def __init__(self, second, *, one_softmax):
        super().__init__()
        torch.manual_seed(0)
        self.second, self.one_softmax = second, one_softmax
        self.qk, self.v = nn.Linear(8, 32), nn.Linear(8, 8)

    def forward(self, x, keep):
        q, k = (part.unflatten(-1, (4, 4)).transpose(1, 2) for part in self.qk(x).chunk(2, -1))
        scores = (q @ k.mT / 2).unflatten(1, (2, 2))
        masks = torch.stack([keep, self.second(keep)], dim=1)[:, :, None]
        scores = scores.masked_fill(~masks, -1e9)
        if self.one_softmax:
            first, second = scores.flatten(1, 2).softmax(-1).unflatten(1, (2, 2)).unbind(1)
        else:
            first, second = (one.softmax(-1) for one in scores.unbind(1))
        v = self.v(x).unflatten(-1, (2, 4)).transpose(1, 2)
        return x + ((first - 0.5 * second) @ v).transpose(1, 2).flatten(2)


@pytest.mark.parametrize("one_softmax", [True, False])
@pytest.mark.parametrize(
    ("second", "code"),
    [
        (torch.ones_like, "ignored"),
        (lambda keep: keep.mT, "transposed"),
        (lambda keep: keep | keep[:, -1:] & torch.ones_like(keep).tril(1), "sees_next"),
    ],
)
def test_a_subtracted_map_that_is_masked_wrongly(second, code, one_softmax):
    found = vz.audit_mask(Subtracted(second, one_softmax=one_softmax).eval(), causal, d_model=8)
    cause, where = found.failed[0].cause, "heads 2 and 3 of 4" if one_softmax else "1 of 2 softmax"
    assert found.failed[0].code == code and where in cause, found
    assert cause.startswith(causes()[code].sentence) and "subtracted" in found.failed[0].cure


@pytest.mark.parametrize("one_softmax", [True, False])
def test_a_subtracted_map_that_is_closed_too_far(one_softmax):
    model = Subtracted(lambda keep: keep, one_softmax=one_softmax).eval()
    assert vz.audit_mask(model, causal, d_model=8).verdict == "PASS"
    model.second = lambda keep: keep & torch.ones_like(keep).triu(-1)
    found = vz.audit_mask(model, causal, d_model=8)
    assert found.verdict == "WARN" and "softmax" in found.check("gradient").evidence, found


def test_even_weights_of_an_empty_row_are_not_called_half_masked():
    """Every key is read there, and no score has any influence."""

    def without_row_1(valid):
        return padding(valid) & (torch.arange(valid.shape[1]) != 1)[:, None]

    model = Layers("unseen").eval()
    found = vz.audit_mask(model, padding, without_row_1, d_model=8, n_layers=2).failed[0]
    assert found.code != "half_masked", found
    passed = vz.audit_mask(
        lambda x, valid: model(x, without_row_1(valid)), padding, lambda valid: valid, d_model=8
    )
    assert passed.failed[0].code != "half_masked", passed.failed[0]
