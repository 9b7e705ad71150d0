"""What is meant besides a mask: a bias, which tokens are pooled, and beams in another order."""

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.audit.correct_more import by_attention, first_token, pooled_outside
from tests.audit.transformers_models import TEXT, embedded, made, ones
from viz_encoder.audit import AuditScope, MaskReport, audit_mask
from viz_encoder.audit.zoo import SPECIMENS, MaskedModel
from viz_encoder.audit.zoo.meant_besides import alibi, between
from viz_encoder.audit.zoo.models import Heads, scores_of, sdpa, written_out
from viz_encoder.audit.zoo.specimen import earlier_tokens, real_tokens
from viz_encoder.errors import InputError


def audited(given: MaskedModel) -> MaskReport:
    return audit_mask(given.model, given.intent, given.make_mask, **given.options)


def biased(change, scope=None) -> MaskReport:
    """A softmax written out whose scores have `change(alibi)` added."""

    def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
        scores = scores_of(q, k) + change(alibi(passed[:, 0]))
        return scores.masked_fill(~passed[:, None], -torch.inf).softmax(dim=-1) @ v

    scope = scope or AuditScope(bias=alibi)
    return audited(MaskedModel(written_out(0, attend), earlier_tokens, scope=scope))


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("bias_lost", torch.zeros_like),
        ("bias_sign", torch.neg),
        ("bias_heads", lambda bias: bias.flip(0)),
        ("bias_scale", lambda bias: bias * 0.5),
        ("", lambda bias: -bias.abs().sqrt()),
        ("bias_slopes", lambda bias: bias * torch.tensor([0.5, 2.0])[:, None, None]),
    ],
)
def test_a_wrong_bias_is_named_only_where_it_is_that_one(code, change):
    [found] = biased(change).failed
    assert (found.name, found.code) == ("bias", code)
    assert (found.cause == "not known.") is not bool(code)


def clipped(farthest):
    def change(bias):
        place = torch.arange(bias.shape[-1])
        apart = (place[:, None] - place).abs().clamp(max=farthest)
        return apart * bias[:, :1, 1:2]

    return change


def lost_above(n_tokens):
    return lambda bias: bias * (bias.shape[-1] <= n_tokens)


@pytest.mark.parametrize(
    ("change", "lengths", "where", "code", "more"),
    [
        (clipped(3), [], "Layer 0", "bias_clipped", "from 3 on"),
        (clipped(8), [], "At 12 tokens", "bias_clipped", "from 8 on"),
        (clipped(40), [], "At 49 tokens", "bias_clipped", "from 40 on"),
        (lost_above(20), [], "At 49 tokens", "bias_lost", "at 7 it is as it should be"),
        (lost_above(20), [9, 21], "At 21 tokens", "bias_lost", ""),
        (lost_above(20), [9, 19], "", "", ""),
    ],
)
def test_a_bias_is_checked_at_every_length(change, lengths, where, code, more):
    report = biased(change, AuditScope(bias=alibi, lengths=lengths))
    found = report.check("bias")
    assert found.code == code and more in found.cause, found
    assert found.evidence.startswith(where) and report.ok is (not where)


def test_the_numbers_are_those_of_numpy():
    found = audited(SPECIMENS["H8-alibi-lost"].build(0)).check("bias")
    distance = np.abs(np.arange(7) - found.query)
    scores = np.exp(-distance / 4.0)
    assert found.head == 0 and found.query == found.key and found.key in (0, 6)  # both ends alike
    meant = scores[found.key] / scores.sum()
    assert (
        f"gives {1 / 7:.3g} of" in found.evidence and f"would give {meant:.3g}." in found.evidence
    )
    assert abs(found.amount - (meant - 1 / 7)) < 1e-6


def test_a_bias_of_each_layer():
    def doubled(valid):
        return 2 * alibi(valid)

    def attend_with(factor):
        def attend(q: Heads, k: Heads, v: Heads, passed: Tensor) -> Heads:
            scores = scores_of(q, k) + factor * alibi(passed[:, 0])
            return scores.masked_fill(~passed[:, None], -torch.inf).softmax(dim=-1) @ v

        return attend

    model = written_out(0, attend_with(1), attend_with(2))
    for biases, verdict, layer in (
        ([alibi, doubled], "PASS", None),
        ([doubled, alibi], "FAIL", 0),
        (alibi, "FAIL", 1),
        ([alibi] * 3, "NOT TESTED", None),
    ):
        given = MaskedModel(model, real_tokens, scope=AuditScope(bias=biases))
        found = audited(given).check("bias")
        assert (found.verdict, found.layer) == (verdict, layer), found


def test_positions_that_reach_scores_otherwise_are_not_judged():
    """Rotary positions: equal tokens do not have equal scores, whatever is added."""
    model = made(0, "Llama", {**TEXT, "num_key_value_heads": 2}, embedded)
    given = MaskedModel(model, earlier_tokens, ones, scope=AuditScope(bias=alibi))
    report = audited(given)
    assert report.ok and report.check("bias").verdict == "NOT TESTED", str(report)
    assert any("positions reach the scores in another way" in line for line in report.not_tested)


def test_what_cannot_be_a_bias_or_a_choice_of_tokens_is_answered():
    for wrong in (lambda valid: alibi(valid)[..., :3], lambda valid: None):
        found = biased(lambda bias: bias, AuditScope(bias=wrong)).check("bias")
        assert found.verdict == "ERROR" and found.evidence.startswith("AuditScope(bias=…) gave")
    for wrong in (lambda valid: valid.long(), lambda valid: valid[:, 1:]):
        report = audited(pooled_outside(0, lambda hidden, valid: hidden[:, 0], wrong))
        found = report.check("pooled_tokens")
        assert found.verdict == "ERROR" and "must give a torch.bool tensor" in found.evidence


def test_each_pooled_token_that_is_to_be_left_out_is_found():
    def mean(hidden, valid, extra):
        keep = between(valid) | extra(valid)
        return (hidden * keep[..., None]).sum(dim=1) / keep.sum(dim=1)[:, None]

    for extra, query in ((first_token, 0), (lambda valid: valid & ~valid.roll(-1, 1), 2)):
        given = pooled_outside(0, lambda h, valid, extra=extra: mean(h, valid, extra), between)
        found = audited(given).check("pooled_tokens")
        assert found.verdict == "FAIL" and found.code == "pooled_special", found
        assert found.query in (0, query) or extra is not first_token
        assert not between(torch.arange(7) < torch.tensor([[5], [3], [7]]))[
            found.sample, found.query
        ]


def test_a_vector_of_no_token_is_found():
    given = pooled_outside(0, lambda hidden, valid: 0 * hidden[:, 0], between)
    assert "depends on no token" in audited(given).check("pooled_tokens").evidence


def test_where_nothing_pools_what_is_pooled_is_refused():
    given = MaskedModel(written_out(0, sdpa), real_tokens, scope=AuditScope(pool_over=between))
    with pytest.raises(InputError, match="but nothing pools"):
        audited(given)
    assert audited(by_attention(0)).verdict == "PASS"


def test_beams_without_a_mask_are_tried_without_padding_and_gaps_say_what_is_missing():
    report = audited(SPECIMENS["H11-beam-tokens"].build(0, fixed=True))
    assert report.check("beam_reorder").evidence.endswith("without padding.")
    without = audited(SPECIMENS["H5-cache"].build(0, fixed=True))
    assert any("reordered, as in beam search: give reorder=" in x for x in without.not_tested)
    assert not any("reordered, as in beam search" in x for x in report.not_tested)


def test_a_reorder_that_raises_is_red():
    given = SPECIMENS["H11-beam-tokens"].build(0, fixed=True)

    def broken(cache, order):
        raise RuntimeError("no such method")

    scope = AuditScope(step=given.scope.step, reorder=broken)
    found = audited(MaskedModel(given.model, given.intent, scope=scope)).check("beam_reorder")
    assert found.verdict == "FAIL" and "RuntimeError: no such method" in found.evidence
