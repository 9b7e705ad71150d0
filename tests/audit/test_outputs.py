"""Outputs alone, in other batches, padded and pooled: each check sees what it alone can see."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.audits import audit, encoder_of_torch, own
from tests.audit.plants import NoMaps, Stack, causal, own_mask, padding
from viz_encoder.audit import AuditInputs, AuditScope


def test_it_runs_only_where_batch_is_length():
    def crossed(x, valid):
        return Stack()(x, valid[None].expand(len(x), *x.shape[1:2], -1))

    report = audit(crossed, padding, own_mask)
    assert own(report) == ["runs"] and report.check("runs").code == "axes"


class Attends(nn.Module):
    """scaled_dot_product_attention in four heads, its mask as it comes."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x, mask):
        q, k, v = (t.unflatten(-1, (4, 4)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(seen.transpose(1, 2).flatten(2))


class Reads(nn.Module):
    """The same of token ids."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.inner = nn.Embedding(20, 16), Attends()

    def forward(self, x, mask):
        return self.inner(self.words(x), mask[:, None])


def test_a_mask_without_an_axis_for_heads_is_mended_in_a_sentence():
    check = vz.audit_mask(Attends(), padding, d_model=16).check("runs")
    assert check.code == "head_axis" and "no axis for the heads" in check.cause
    assert check.cure.startswith("mask[:, None], which is (batch, 1, query, key)")
    mended = lambda valid: padding(valid)[:, None]  # noqa: E731
    assert vz.audit_mask(Attends(), padding, make_mask=mended, d_model=16).ok


def test_vectors_for_a_model_of_ids_are_mended_in_a_sentence():
    check = vz.audit_mask(Reads(), padding, d_model=16).check("runs")
    assert "takes token ids, and the audit gave it vectors" in check.cause
    told = "inputs=viz_encoder.audit.AuditInputs(vocab_size=20)"
    assert check.cure.startswith(told)
    with pytest.raises(vz.VizEncoderError) as fault:
        vz.audit_mask(Reads(), padding)
    assert told in str(fault.value)
    assert vz.audit_mask(Reads(), padding, inputs=AuditInputs(vocab_size=20)).ok


def test_a_first_call_unlike_the_later_ones_is_not_called_dropout():
    class Warms(Stack):
        called = False

        def forward(self, x, keep):
            before, self.called = self.called, True
            return super().forward(x, keep if before else torch.ones_like(keep))

    valid = torch.arange(7) < torch.tensor([5, 3, 7])[:, None]
    batch = {"x": torch.randn(3, 7, 8), "keep": padding(valid)}
    of_batch = vz.audit_batch(Warms().eval(), batch, lambda given: given["keep"])
    for report in (audit(Warms().eval()), of_batch):
        found = report.check("runs")
        assert found.code == "kept" and not found.cause.startswith("consistent with"), report


class Switches(Stack):
    """Sees the neighbors only, until an input of `most` tokens makes it see all, for good."""

    def __init__(self, most, mode="near"):
        super().__init__()
        self.mode, self.most = mode, most

    def forward(self, x, keep):
        self.mode = self.mode if x.shape[1] > self.most else "all"
        place = torch.arange(x.shape[1])
        near = (place[:, None] - place).abs() <= 2
        return super().forward(x, keep & near if self.mode == "near" else keep)


@pytest.mark.parametrize(("lengths", "told"), [([24], "a sample of 10"), ([], "a batch of 7")])
def test_a_short_input_that_switches_the_model_for_good_is_told(lengths, told):
    model = Switches(12).eval()
    found = audit(model, scope=AuditScope(lengths=lengths, may_leave_out=True)).failed[0]
    assert found.name == "runs" and found.code == "kept", found
    assert f"After {told} tokens" in found.evidence and "mode from 'near' to 'all'" in found.cause
    assert model.mode == "near"


def test_a_model_that_never_ran_as_it_was_given_is_a_warning():
    report = audit(Switches(100).eval(), scope=AuditScope(may_leave_out=True))
    assert report.verdict == "WARN" and "never tried as given" in report.sentence, report
    assert audit(Switches(100, mode="all").eval()).verdict == "PASS"


def test_changed_tokens_judge_where_there_are_no_gradients():
    model = NoMaps()

    @torch.no_grad()
    def detached(x, keep):
        return model(x, keep | torch.ones_like(keep).tril(1))

    report = audit(detached, causal)
    assert own(report)[0] == "perturbation"
    assert report.check("gradient").verdict == "NOT TESTED"


def test_positions_counted_from_the_padding_are_seen_alone_and_padded_only():
    model = Stack()

    def left(x, keep):
        return model(x + torch.arange(x.shape[1])[:, None] / 3, keep)

    report = audit(left, inputs=AuditInputs(padding_side="left"))
    assert own(report) == ["padding_invariance"]
    told = audit(left)
    assert told.verdict == "PASS" and told.check("left_padding").verdict == "INFO"
    assert not told.check("left_padding").cure  # it takes no position_ids that could mend it
    both = audit(left, inputs=AuditInputs(padding_side="both"))
    assert own(both) == ["left_padding"] and "not tried yet" not in str(both)


@pytest.mark.parametrize("pool", ["mean", "max", "last"])
def test_pooling_over_padding(pool):
    ways = {
        "mean": lambda out, valid: out.mean(1),
        "max": lambda out, valid: (out * valid[..., None]).amax(1),
        "last": lambda out, valid: out[:, -1],
    }
    report = audit(Stack(), scope=AuditScope(pooled=ways[pool]))
    assert own(report) == ["output_pooling"]
    model = Stack()
    inside = audit(
        lambda x, passed: ways[pool](model(x, passed[0]), passed[1]),
        padding,
        lambda valid: (padding(valid), valid),
    )
    assert inside.verdict == "FAIL" and own(inside)[0] in ("gradient", "padding_invariance")


def test_the_order_of_the_batch():
    model = Stack()

    def first_matters(x, keep):
        return model(x, keep) * torch.arange(1, 1 + len(x))[:, None, None] ** (len(x) > 1)

    assert "batch_independence" in own(audit(first_matters))
    assert audit(first_matters).check("permutation").verdict == "FAIL"


@pytest.mark.parametrize(("times", "cause"), [(2.0, ""), (torch.nan, "empty_row")])
def test_one_empty_sample_spoils_the_others(times, cause):
    """A row without keys is the cause only where it gives NaN."""
    model = Stack()

    def spoiled(x, keep):
        return model(x, keep) * torch.where(keep.any(-1).all(), 1.0, times)

    report = audit(spoiled)
    assert own(report) == ["empty_sample"]
    assert report.check("empty_sample").code == cause, str(report)


def test_an_empty_sample_that_gives_nan_itself_is_told_only():
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False
    )
    report = vz.audit_mask(encoder, padding)
    assert report.verdict == "PASS" and report.check("empty_sample").verdict == "INFO"


def test_a_row_without_a_key_is_not_cured_by_positions():
    found = audit(encoder_of_torch(), causal, d_model=32).check("left_padding")
    assert found.verdict == "INFO" and "row 0 of sample 0 has no key there" in found.evidence
    assert "drop the row" in found.cure and "position_ids" not in found.cure


def test_a_right_mean_with_positions_that_count_the_padding():
    model = Stack()

    def mean(x, passed):
        keep, valid = passed
        out = model(x + torch.arange(x.shape[1])[:, None] / 3, keep) * valid[..., None]
        return out.sum(1) / valid.sum(1, keepdim=True)

    def both(valid):
        return padding(valid), valid

    report = audit(mean, padding, both, inputs=AuditInputs(padding_side="left"))
    found = report.check("padding_invariance")
    assert own(report) == ["padding_invariance"] and found.code == "positions"
    assert found.cause.startswith("consistent with") and "position_ids" in found.cure
    assert audit(mean, padding, both).check("left_padding").code == "positions"
    wrong = audit(lambda x, passed: model(x, passed[0]).mean(1).detach(), padding, both)
    assert wrong.check("padding_invariance").code != "positions"


@pytest.mark.parametrize("model", [lambda x, keep: x * torch.nan, Stack()])
def test_nothing_is_judged_by_comparing_nan_with_nan(model):
    report = audit(lambda x, keep: model(x * torch.nan, keep), module=nn.Identity())
    assert own(report) == ["runs"]
    green = [c.name for c in report.checks if c.verdict in ("PASS", "INFO")]
    assert set(green) <= {"static", "eval_mode", "constants"}
    told = report.check("permutation")
    assert (
        told.verdict == "NOT TESTED" and "could not be judged: the output is NaN" in told.evidence
    )
    assert "sink" not in str(report) and "very same" not in str(report)


def test_nan_without_padding_or_at_one_length_only_is_red():
    model = Stack()

    def by_padding(x, keep):
        n_ignored = (~keep).sum()
        return model(x, keep) * (n_ignored / n_ignored)

    def by_length(x, keep):
        return model(x, keep) * (torch.nan if x.shape[1] > 20 else 1)

    assert own(audit(by_padding))[0] == "batch_independence"
    longer = audit(by_length)
    assert own(longer) == ["lengths"] and "output row 0 of sample 0" in longer.sentence


@pytest.mark.parametrize("shift, verdict", [("once", "PASS"), ("not", "FAIL"), ("rolled", "FAIL")])
def test_a_decoder_that_shifts_its_inputs_is_judged_one_token_longer(shift, verdict):
    stack = Stack()

    def decoder(x):
        before = {"not": x[:, :0], "rolled": x[:, -1:]}.get(shift, torch.ones_like(x[:, :1]))
        x = torch.cat([before, x], dim=1)[:, : x.shape[1]]
        return stack(x, torch.ones(*x.shape[:2], x.shape[1]).tril().bool())

    def run(x, passed):
        return decoder(torch.cat([x, x[:, -1:]], dim=1))[:, 1:]

    inputs = AuditInputs(valid=torch.ones(3, 6, dtype=torch.bool))
    assert audit(run, causal, own_mask, module=stack, inputs=inputs).verdict == verdict
