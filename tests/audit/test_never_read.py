"""Real tokens that a sample's vector is made without, though they are meant to be in it."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.audits import audit
from tests.audit.plants import Stack, own_mask, padding
from viz_encoder.audit import AuditScope

LOST = {
    "last": lambda valid: valid & (valid.cumsum(1) < valid.sum(1, keepdim=True)),
    "first": lambda valid: valid & (valid.cumsum(1) > 1),
}
REAL = AuditScope(pool_over=own_mask)


class Pools(nn.Module):
    """A vector of those tokens that `keep` chooses, after attention or without any."""

    def __init__(self, keep, by, attends=True):
        super().__init__()
        self.keep, self.by = keep, by
        self.inner = Stack(1) if attends else None
        self.beside, self.rows = nn.Linear(8, 8), nn.Linear(8, 8)
        self.register_buffer("query", torch.ones(1, 8))

    def forward(self, x, valid):
        one = self.beside(x)[:, 1]  # of these rows the vector reads one alone
        rows = self.rows(x if self.inner is None else self.inner(x, padding(valid)))
        keep = self.keep(valid)
        if self.by == "mean":
            return one + (rows * keep[..., None]).sum(1) / keep.sum(1, keepdim=True).clamp_min(1)
        score = self.query @ F.normalize(rows, dim=-1).mT  # one token alone is the nearest
        return score.masked_fill(~keep[:, None], -9.0).amax(-1)


@pytest.mark.parametrize(
    "lost, attends, by",
    [("last", True, "mean"), ("first", True, "nearest"), ("last", False, "nearest")],
)
def test_a_pooling_that_loses_a_token_is_told_so(lost, attends, by):
    wrong = audit(Pools(LOST[lost], by, attends), padding, own_mask, scope=REAL)
    found = wrong.check("pooled_tokens")
    assert found.verdict == "FAIL" and f"the {lost} real one" in found.evidence, str(wrong)
    right = audit(Pools(own_mask, by, attends), padding, own_mask, scope=REAL)
    assert right.verdict == "PASS", str(right)


def test_a_token_that_pooled_leaves_out_is_told_from_one_that_is_declared_so():
    def pooled(hidden, valid):
        keep = LOST["last"](valid)[..., None]
        return (hidden * keep).sum(1) / keep.sum(1).clamp_min(1)

    for over, verdict in ((own_mask, "FAIL"), (LOST["last"], "PASS")):
        report = audit(Stack().eval(), padding, scope=AuditScope(pooled=pooled, pool_over=over))
        assert report.check("pooled_tokens").verdict == verdict, str(report)


class Latents(nn.Module):
    """Learned queries, whose attention is not over the tokens: no map is held against them."""

    def __init__(self, keep):
        super().__init__()
        torch.manual_seed(0)
        self.keep, self.kv = keep, nn.Linear(8, 16)
        self.queries = nn.Parameter(torch.randn(1, 4, 8))

    def forward(self, x, valid):
        k, v = self.kv(x).chunk(2, -1)
        keep = self.keep(valid) | ~valid.any(1, keepdim=True)
        q = self.queries.expand(len(x), -1, -1)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None]).mean(1)


class Embedded(nn.Module):
    """Latents of ids, or of vectors as they come."""

    def __init__(self, keep, of_ids):
        super().__init__()
        self.table, self.inner = nn.Embedding(20, 8) if of_ids else nn.Identity(), Latents(keep)

    def forward(self, tokens, valid):
        return self.inner(self.table(tokens), valid)


@pytest.mark.parametrize("of_ids", [True, False])
@pytest.mark.parametrize("lost", LOST)
def test_so_does_one_batch_of_ones_own(lost, of_ids):
    valid = torch.arange(6) < torch.tensor([[6], [3], [4], [5]])
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1, 20, valid.shape, generator=generator)
    batch = {"tokens": ids if of_ids else torch.randn(4, 6, 8, generator=generator), "valid": valid}
    meant = lambda given: padding(given["valid"])  # noqa: E731
    wrong = vz.audit_batch(Embedded(LOST[lost], of_ids).eval(), batch, meant)
    assert [one.name for one in wrong.failed] == ["never_read"], str(wrong)
    assert f"the {lost} real one" in wrong.sentence
    right = vz.audit_batch(Embedded(own_mask, of_ids).eval(), batch, meant)
    assert right.check("never_read").verdict == "PASS" and not right.failed, str(right)
    left_out = vz.audit_batch(Embedded(LOST[lost], of_ids).eval(), batch, meant, may_leave_out=True)
    assert not left_out.failed and "never read" in " ".join(left_out.not_tested), str(left_out)


class ToLatents(Latents):
    """One row a token, from five latents, which the mask of the tokens hides, or nothing does."""

    def __init__(self, mended):
        super().__init__(own_mask)
        self.mended = mended
        self.five = nn.Parameter(torch.randn(1, 5, 8))

    def forward(self, x, valid):
        latents = self.five.expand(len(x), -1, -1) + super().forward(x, valid)[:, None]
        keep = None if self.mended else valid[:, :5] | ~valid.any(1, keepdim=True)
        keep = None if keep is None else keep[:, None]
        return x + F.scaled_dot_product_attention(x, latents, latents, attn_mask=keep)


def test_a_crash_alone_of_a_sample_that_ran_in_its_batch_is_said_first():
    wrong = audit(ToLatents(False), padding, own_mask)
    assert wrong.verdict == "WARN" and "cut to its 3 tokens" in wrong.sentence, str(wrong)
    assert audit(ToLatents(True), padding, own_mask).verdict == "PASS"
    meant = audit(ToLatents(False), padding, own_mask, scope=AuditScope(lengths=[7]))
    assert meant.verdict == "PASS" and any("cut to its 3" in one for one in meant.not_tested)
