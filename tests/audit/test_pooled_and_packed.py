"""Padding in a pooled vector, lengths of packed samples, and outputs that are not judged."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.audit.audits import audit
from tests.audit.plants import Stack, causal, own_mask, padding
from tests.slow import slow
from viz_encoder.audit import AuditInputs, AuditScope


class Pooled(Stack):
    """One vector a sample, by weights of a softmax over its tokens, the mean or the last row."""

    def __init__(self, by, masked):
        super().__init__()
        self.score, self.by, self.masked = nn.Linear(8, 1), by, masked
        self.gate = nn.Linear(8, 3)
        self.one = nn.Parameter(torch.zeros(()))

    def forward(self, x, valid):
        hidden = super().forward(x, padding(valid))
        hidden = hidden * self.gate(hidden).softmax(dim=-1).amax(-1, keepdim=True)  # of experts
        hidden = hidden * self.one.softmax(dim=0)  # of one number
        keep = valid[..., None] if self.masked else torch.ones_like(valid)[..., None]
        if self.by == "last":
            return hidden[torch.arange(len(x)), (valid.sum(1) if self.masked else 0) - 1]
        if self.by == "mean":
            return (hidden * keep).sum(1) / keep.sum(1)
        return (self.score(hidden).masked_fill(~keep, -torch.inf).softmax(dim=1) * hidden).sum(1)


POOLINGS = [("softmax", "pooling_weights"), ("mean", "pooling"), ("last", "pooled_row")]


@pytest.mark.parametrize("by, code", POOLINGS)
def test_the_cure_of_unmasked_pooling_is_that_of_its_kind(by, code):
    assert audit(Pooled(by, masked=True).eval(), padding, own_mask).ok
    found = audit(Pooled(by, masked=False).eval(), padding, own_mask).failed[0]
    assert found.code == code and ("before their softmax" in found.cure) is (by == "softmax")


class PackedRow(Stack):
    """All real tokens in one row, cut by the lengths of the samples in some order."""

    def __init__(self, order, one_way):
        super().__init__()
        self.order, self.one_way = order, one_way

    def forward(self, x, valid):
        ends = self.order(valid.sum(dim=1)).cumsum(0)
        number = torch.searchsorted(ends, torch.arange(int(ends[-1])), right=True)
        keep = number[:, None] == number
        keep = keep.tril() if self.one_way else keep
        out = torch.zeros_like(x)
        out[valid] = super().forward(x[valid][None], keep[None])[0]
        return out


def in_length(counts):
    return counts.sort(descending=True).values


def late(counts):
    """Each border one token late, but not the end."""
    counts = counts.clone()
    counts[0] += 1
    counts[-1] -= 1
    return counts


@pytest.mark.parametrize("intent", [padding, slow(causal)])
@pytest.mark.parametrize(
    "order, code",
    [
        (Tensor.clone, ""),
        (lambda counts: counts.flip(0), "packed_order"),
        (in_length, "packed_order"),
        (late, "packed_borders"),
        (lambda counts: counts.sum()[None], "documents"),
    ],
)
def test_lengths_by_which_packed_samples_are_cut_wrongly_are_named(order, code, intent):
    model = PackedRow(order, one_way=intent is causal).eval()
    report = audit(model, intent, own_mask)
    assert report.verdict == ("FAIL" if code else "PASS"), str(report)
    assert not code or report.failed[0].code == code, str(report)


def test_outputs_beside_the_first_are_told():
    model = Stack().eval()

    def two(x, keep):
        out = model(x, keep)
        return out, out.mean(dim=2), torch.arange(3)

    report = audit(two, module=model)
    assert any("Other outputs than the first" in line for line in report.not_tested)
    assert not any("Other outputs" in line for line in audit(model).not_tested)


def without_first(hidden, valid, *, mended=False):
    """The mean of all but the first two tokens, or places."""
    place = valid.cumsum(1) - 1 if mended else torch.arange(valid.shape[1]).expand_as(valid)
    keep = (valid & (place >= 2))[..., None]
    return (hidden * keep).sum(1) / keep.sum(1).clamp_min(1)


def the_rest(valid):
    return valid & (valid.cumsum(1) > 2)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("side, is_wrong", [("right", False), ("left", True)])
def test_tokens_that_are_pooled_by_their_place_are_called_so(inside, side, is_wrong):
    def report_of(mended):
        inner, inputs = Stack().eval(), AuditInputs(padding_side=side)
        pooled = partial(without_first, mended=mended)
        if not inside:
            scope = AuditScope(pooled=pooled, pool_over=the_rest)
            return audit(inner, padding, scope=scope, inputs=inputs)
        model = lambda x, valid: pooled(inner(x, padding(valid)), valid)  # noqa: E731
        return audit(model, padding, own_mask, module=inner, inputs=inputs)

    assert report_of(True).verdict == "PASS"
    found = report_of(False).failed
    assert bool(found) is is_wrong
    assert not found or found[0].code == "pooled_places", found[0]


def test_what_of_a_pooling_was_not_judged_is_said():
    inner, to_give = Stack().eval(), "made of: give AuditScope(pool_over=…)"
    model = lambda x, valid: without_first(inner(x, padding(valid)), valid)  # noqa: E731
    assert to_give in audit(model, padding, own_mask, module=inner).sentence
    scope = AuditScope(pool_over=the_rest)
    judged = audit(model, padding, own_mask, module=inner, scope=scope)
    assert judged.sentence.startswith("Tokens look where they are meant to, and nowhere else")
    scope = AuditScope(pooled=without_first, pool_over=the_rest)
    for side in ("right", "both"):
        report = audit(inner, padding, scope=scope, inputs=AuditInputs(padding_side=side))
        assert report.verdict == ("PASS" if side == "right" else "FAIL"), str(report)
        told = [one for one in report.not_tested if "Pooling with padding on the left" in one]
        assert len(told) == (side == "right")


@pytest.mark.parametrize("by, told", [("rows", "padding has a share"), ("count", "divided by")])
def test_padding_in_a_pooled_vector_is_told_from_a_count_of_it(by, told):
    def pooled(hidden, valid):
        keep = torch.ones_like(valid) if by == "rows" else valid
        weights = torch.linspace(1.0, 2.0, keep.shape[1])[:, None] if by == "rows" else 1.0
        return (hidden * keep[..., None] * weights).sum(1) / keep.shape[1]

    found = audit(Stack().eval(), padding, scope=AuditScope(pooled=pooled)).check("output_pooling")
    assert told in found.cause and found.cure, found


class LastOfSum(nn.Module):
    """The last real token of x + attention(x), which no module of its own returns."""

    def __init__(self, mended=True):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.mended = mended

    def forward(self, x, valid):
        found, _ = self.attention(x, x, x, key_padding_mask=~valid, need_weights=False)
        out = x + found
        at = valid.sum(1) - 1 if self.mended else 0 * valid.sum(1)
        return out[torch.arange(len(x)), at]


@pytest.mark.parametrize("mended", [True, False])
def test_what_attention_mixes_before_the_pooling_is_not_pooled(mended):
    torch.manual_seed(0)
    inner = LastOfSum(mended).eval()
    scope = AuditScope(pool_over=lambda valid: valid & (valid.cumsum(1) == valid.sum(1)[:, None]))
    report = audit(inner, padding, own_mask, module=inner, scope=scope)
    assert (report.verdict == "PASS") is mended, str(report)


class NearestOfDocument(nn.Module):
    """The sum over three query vectors of the nearest token's similarity, from -1 to 1."""

    def __init__(self, mended):
        super().__init__()
        self.inner, self.mended = Stack(1), mended
        self.register_buffer("query", torch.randn(3, 8))

    def forward(self, x, valid):
        near = self.query @ F.normalize(self.inner(x, padding(valid)), dim=-1).mT
        return near.masked_fill(~valid[:, None], -9.0 if self.mended else 0.0).amax(-1).sum(-1)


@pytest.mark.parametrize("seed", [0, 1, *map(slow, range(2, 6))])
def test_padding_of_0_is_found_though_it_wins_only_over_negative_similarities(seed):
    torch.manual_seed(seed)
    wrong = audit(NearestOfDocument(False), padding, own_mask, n_layers=1, seed=seed)
    assert wrong.check("padding_invariance").verdict == "FAIL", str(wrong)
    right = audit(NearestOfDocument(True), padding, own_mask, n_layers=1, seed=seed)
    assert right.verdict == "PASS", str(right)


@pytest.mark.parametrize(
    "most, cause", [(1, "the last real token alone is pooled."), (2, "not known.")]
)
def test_tokens_that_a_pooling_leaves_out_have_a_cause_or_none_that_is_known(most, cause):
    model = Stack().eval()

    def pooled(x, keep):
        count = keep[:, -1].flip(1).cumsum(1).flip(1)
        read = keep[:, -1] & (count <= most)
        return (model(x, keep) * read[..., None]).sum(1) / read.sum(1, keepdim=True)

    scope = AuditScope(pool_over=lambda valid: valid)
    report = audit(pooled, padding, module=model, scope=scope)
    assert report.sentence.split(" Cause: ")[1:] == [cause], str(report)


PICKS = {
    "argmax": lambda ids, valid: ids.argmax(dim=1),
    "argmin": lambda ids, valid: ids.masked_fill(~valid, 1000).argmin(dim=1),
}


@pytest.mark.parametrize("how", PICKS)
def test_one_row_that_the_ids_choose_is_not_passed_as_all_of_them(how):
    inner, table = Stack(1).eval(), nn.Embedding(100, 8)

    def model(ids, valid):
        return inner(table(ids), padding(valid))[torch.arange(len(ids)), PICKS[how](ids, valid)]

    inputs, scope = AuditInputs(vocab_size=100, pad_id=0), AuditScope(pool_over=own_mask)
    report = audit(model, padding, own_mask, module=inner, inputs=inputs, scope=scope)
    assert report.check("pooled_tokens").verdict != "PASS", str(report)
    assert "nowhere else" not in report.sentence
