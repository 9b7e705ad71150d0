"""A document alone, or a cache, that leaves out other links is not called wrong where it may."""

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.audits import audit
from tests.audit.plants import Stack, causal, padding
from viz_encoder.audit import AuditScope


def number_of(valid):
    return (torch.arange(valid.shape[1]) >= 4).long().expand(valid.shape)


def two_documents(valid):
    number = number_of(valid)
    return (number[:, :, None] == number[:, None, :]) & valid[:, None, :]


class EveryThird(Stack):
    """Looks at itself and at every third place."""

    def forward(self, x, keep):
        places = torch.arange(x.shape[1])
        return super().forward(x, keep & ((places % 3 == 0) | (places[:, None] == places)))


def test_a_document_may_leave_out_other_links_alone():
    scope = AuditScope(documents=number_of, may_leave_out=True)
    report = audit(EveryThird().eval(), two_documents, scope=scope)
    assert report.check("documents").verdict == "PASS" and report.ok, str(report)


@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("kept", [2, None])
def test_a_cache_may_drop_keys(kept, padded):
    """A prompt is read densely, and each further token sees the last keys only."""
    model = Stack(1).eval()

    def cached(x, cache, mask=None):
        x = x if cache is None else torch.cat([cache, x], 1)
        keep = causal(torch.ones(x.shape[:2]).bool()) if mask is None else mask
        if cache is not None and kept:
            keep = keep.triu(1 - kept)
        return model(x, keep)[:, (0 if cache is None else cache.shape[1]) :], x

    step = (lambda x, cache, mask: cached(x, cache, mask)) if padded else cached
    for may in (True, False):
        report = audit(model, causal, scope=AuditScope(step=step, may_leave_out=may), n_layers=1)
        wrong = "NOT TESTED" if may else "FAIL"
        assert report.check("cache").verdict == (wrong if kept else "PASS"), str(report)
        assert report.ok is (may or not kept), str(report)


class ProbSparse(nn.Module):
    """Two queries attend, those that stand out from a look at some keys; others take the mean."""

    def __init__(self, *, among_all=False, draws=False):
        super().__init__()
        torch.manual_seed(0)
        self.among_all, self.draws, self.qkv = among_all, draws, nn.Linear(8, 24)

    def forward(self, x, valid):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = (q @ k.mT / 3).masked_fill(~valid[:, None], -torch.inf)
        n_tokens = x.shape[1]
        keys = torch.randint(n_tokens, (3,)) if self.draws else torch.arange(n_tokens)
        most = scores[:, :, keys].amax(-1).clamp(min=-99)
        top = most.masked_fill(~valid & (not self.among_all), -100).topk(2).indices[..., None]
        real = valid[..., None]
        out = ((v * real).sum(1, keepdim=True) / real.sum(1, keepdim=True)).expand_as(v)
        attended = scores.gather(1, top.expand(-1, -1, n_tokens)).softmax(-1) @ v
        return x + out.scatter(1, top.expand_as(attended), attended)


def test_queries_that_are_chosen_among_real_tokens_and_among_padding():
    def report(model):
        return vz.audit_mask(model.eval(), padding, lambda valid: valid, d_model=8, n_layers=1)

    assert report(ProbSparse()).verdict == "PASS"
    found = report(ProbSparse(among_all=True)).failed[0]
    assert found.code == "sampled" and found.cause.startswith("consistent with"), found


def test_keys_that_are_drawn_in_each_call_are_not_called_dropout():
    model = ProbSparse(draws=True).eval()

    def seeded(x, valid):
        torch.manual_seed(0)
        return model(x, valid)

    scope = AuditScope(may_leave_out=True)
    given = {"d_model": 8, "n_layers": 1, "module": model, "scope": scope}
    report = vz.audit_mask(model, padding, lambda valid: valid, **given)
    assert report.verdict == "NOT TESTED" and "torch.manual_seed(0)" in str(report)
    report = vz.audit_mask(seeded, padding, lambda valid: valid, **given)
    assert report.verdict in ("PASS", "WARN"), str(report)
