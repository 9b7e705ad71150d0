"""A document alone, or a cache, that leaves out other links is not called wrong where it may."""

import pytest
import torch

from tests.audit.audits import audit
from tests.audit.plants import Stack, causal
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
