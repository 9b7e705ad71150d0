"""Links that are missing where no maps are seen: exactly, to rounding, and at other lengths."""

from functools import partial

import pytest
import torch
from torch import nn

from tests.audit.audits import audit
from tests.audit.plants import NoMaps, causal, own_mask, padding, unseen
from viz_encoder.audit import AuditScope


def near(width):
    def intent(valid):
        place = torch.arange(valid.shape[1])
        return padding(valid) & ((place[:, None] - place).abs() <= width)

    return intent


class Banned(NoMaps):
    """exp and sum, with that number in place of a score outside the window."""

    def __init__(self, width, banned, n_layers=2):
        super().__init__(n_layers, attend=partial(unseen, banned=banned))
        self.width = width

    def forward(self, x, valid):
        return super().forward(x, near(self.width)(valid))


def gradient_of(model, n_layers=2, intent=None, **more):
    report = audit(model.eval(), intent or near(2), own_mask, n_layers=n_layers, **more)
    return report, report.check("gradient")


@pytest.mark.parametrize(
    "banned, n_layers", [(-1e9, 2), (-1e9, 3), (-100.0, 2), (-50.0, 2), (-30.0, 2)]
)
def test_a_window_that_is_too_narrow_is_seen_whatever_bans_the_rest(banned, n_layers):
    _, wrong = gradient_of(Banned(1, banned, n_layers), n_layers)
    assert wrong.verdict == "FAIL" and "links are missing" in wrong.evidence, wrong
    assert wrong.cause.startswith(("consistent with", "not known")), wrong
    _, right = gradient_of(Banned(2, banned, n_layers), n_layers)
    assert right.verdict == "PASS", right


class Gated(nn.Module):
    """Linear attention that each token halves: at 49 tokens the first is below any rounding."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.qkv, self.gate, self.out = nn.Linear(8, 24), nn.Linear(8, 1), nn.Linear(8, 8)

    def forward(self, x, valid):
        state, rows = torch.zeros(1), []
        for q, k, v, left, real in zip(
            *(one.unbind(1) for one in self.qkv(x).chunk(3, -1)),
            self.gate(x).sigmoid().unbind(1),
            valid.unbind(1),
            strict=True,
        ):
            state = state * left[..., None] + k[:, :, None] * (v * real[:, None])[:, None]
            rows.append((q[:, None] @ state)[:, 0])
        return x + self.out(torch.stack(rows, 1))


def test_a_link_that_a_gate_makes_fainter_than_rounding_is_not_missing():
    report = audit(Gated().eval(), causal, lambda valid: valid)
    assert report.check("lengths").verdict == "PASS", str(report)


def test_a_model_that_cannot_run_in_float64_says_what_would_tell():
    class Single(Banned):
        def forward(self, x, valid):
            assert x.dtype is torch.float32
            return super().forward(x, valid)

    report, told = gradient_of(Single(1, -50.0))
    assert told.verdict == "PASS"
    assert any("model.double()" in line for line in report.not_tested), str(report)
    report, _ = gradient_of(Single(2, -50.0), scope=AuditScope(lengths=[7]))
    assert not any("model.double()" in line for line in report.not_tested), str(report)


def before(valid):
    """All before the token, not itself; the first has only itself."""
    place = torch.arange(valid.shape[1])
    itself = (place[:, None] == 0) & (place == 0)
    return padding(valid) & ((place[:, None] > place) | itself)


class ByPlace(NoMaps):
    """exp and sum, positions as queries, no residual: nothing else carries a token."""

    def __init__(self):
        super().__init__(n_layers=1)
        self.place = torch.nn.Parameter(torch.randn(64, 8))

    def forward(self, x, keep):
        _, k, v = self.layers[0].qkv(x).chunk(3, -1)
        weights = (self.place[: x.shape[1]] @ k.mT / 3).exp() * keep
        return weights / weights.sum(-1, keepdim=True).clamp_min(1e-9) @ v


def test_that_a_token_sees_itself_is_no_pass_without_a_word():
    told = "whether a token sees itself, which your intent forbids"
    wrong = audit(ByPlace(), before, causal, n_layers=1)
    assert told in wrong.sentence and "nowhere else" not in wrong.sentence, str(wrong)
    right = audit(ByPlace(), before, n_layers=1)
    assert right.verdict == "PASS" and told not in right.sentence, str(right)


class Decays(nn.Module):
    """A sum over earlier tokens that halves at every step, as a recurrence does."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.value = nn.Linear(8, 8)

    def forward(self, x, valid):
        apart = (torch.arange(x.shape[1])[:, None] - torch.arange(x.shape[1])).tril()
        share = (0.5**apart).tril().to(x) * valid[:, None, :]
        return x + share @ self.value(x)


def test_what_decays_with_distance_is_no_missing_link():
    scope = AuditScope(lengths=[7, 49])
    report = audit(Decays().eval(), causal, own_mask, n_layers=1, scope=scope)
    assert report.verdict == "PASS", str(report)


def test_a_row_that_knows_of_nothing_is_a_missing_link():
    def no_first(x, valid):
        return x * (torch.arange(x.shape[1]) > 0)[:, None]

    def itself(valid):
        return padding(valid) & torch.eye(valid.shape[1], dtype=torch.bool)

    report = audit(no_first, itself, own_mask, n_layers=1, scope=AuditScope(lengths=[7]))
    assert report.verdict == "FAIL" and "not change with token 0" in report.sentence, str(report)
