"""The audit as a whole: right models pass, a broken check is red, wrong arguments are answered."""

import numpy as np
import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.audits import SMALL, audit, encoder_of_torch
from tests.audit.plants import NoMaps, Stack, banded, causal, padding
from viz_encoder.audit import AuditInputs, AuditScope, checks
from viz_encoder.errors import InputError, MaskError


@pytest.mark.parametrize("kind", [Stack, NoMaps])
@pytest.mark.parametrize("intent", [padding, causal, banded(3)])
@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_red_where_all_is_right(kind, intent, seed):
    report = audit(kind(seed=seed), intent, seed=seed)
    assert report.verdict == "PASS", str(report)


def test_a_check_that_crashes_is_red(monkeypatch):
    broken = checks.gradient.QUESTION.__class__("gradient", "Broken", lambda context: 1 / 0)
    monkeypatch.setattr("viz_encoder.audit.audit.QUESTIONS", (*checks.QUESTIONS[:6], broken))
    monkeypatch.setattr("viz_encoder.audit.checks.row_sums.ask", None)
    report = audit(Stack())
    assert report.verdict == "ERROR" and not report.ok
    assert "ZeroDivisionError" in report.check("gradient").evidence
    with pytest.raises(MaskError):
        vz.assert_mask(Stack(), padding, **SMALL)


def test_the_model_is_left_as_it_was():
    model = Stack().train()
    model.layers[0].eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = torch.get_rng_state()
    audit(model, causal, scope=AuditScope(dtype=torch.bfloat16))
    assert model.training and not model.layers[0].training and model.layers[1].training
    assert all(torch.equal(before[name], now) for name, now in model.state_dict().items())
    assert torch.equal(state, torch.get_rng_state())
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"d_model": None}, "d_model="),
        ({"intent": lambda valid: valid.float()}, "torch.float32"),
        ({"intent": lambda valid: valid[:, :2]}, "must give"),
        ({"intent": [padding] * 3}, "3 intents are given for 2 layers"),
        ({"intent": None}, "intent is a function"),
        ({"d_model": -1}, "d_model is -1"),
        ({"d_model": 0}, "d_model is 0"),
        ({"n_layers": 0}, "n_layers is 0"),
        ({"n_layers": 1}, "n_layers is 1, but 2 attention layers were seen; leave n_layers out"),
        ({"seed": "a"}, "seed is 'a'"),
        ({"inputs": torch.zeros(2)}, "inputs is float32 2; it must be an AuditInputs"),
        ({"scope": {"window": 3}}, r"scope is \{'window'\}; it must be an AuditScope"),
    ],
)
def test_wrong_arguments_are_answered(options, words):
    given = {"intent": padding, **SMALL, **options}
    intent = given.pop("intent")
    with pytest.raises(InputError, match=words):
        vz.audit_mask(Stack(), intent, **given)


@pytest.mark.parametrize(
    ("group", "fields", "words"),
    [
        (AuditInputs, {"valid": torch.ones(7, 7).bool()}, "7 samples of 7 tokens"),
        (AuditInputs, {"padding_side": "middle"}, "'middle'"),
        (
            AuditScope,
            {"lengths": (1,)},
            "lengths holds 1; each must be a whole number of at least 2",
        ),
        (AuditScope, {"lengths": "12"}, "lengths is '12'"),
        (AuditScope, {"lengths": ["12"]}, "lengths holds '12'"),
        (
            AuditScope,
            {"lengths": [10**9]},
            "1,000,000,000 tokens; an audit goes up to 4,096",
        ),
        (AuditScope, {"max_positions": 10**9}, "up to 4,096"),
        (AuditScope, {"window": 10**9}, "up to 4,096"),
        (AuditScope, {"window": -1}, "window is -1"),
        (AuditScope, {"dtype": "bf16"}, "dtype is 'bf16'"),
        (AuditScope, {"dtype": torch.int8}, "dtype is torch.int8"),
    ],
)
def test_what_an_audit_cannot_try_is_answered(group, fields, words):
    with pytest.raises(InputError, match=words):
        group(**fields)


def test_a_make_mask_that_raises_is_the_code_that_fails():
    report = audit(Stack(), padding, lambda valid: valid[99])
    assert report.verdict == "FAIL" and "in make_mask" in report.sentence


def test_intents_are_counted_against_the_layers_of_a_module():
    with pytest.raises(InputError, match="3 intents are given for 2 layers"):
        vz.audit_mask(encoder_of_torch(), [padding] * 3, lambda valid: ~valid)
    for n_intents in (3, 4):
        with pytest.raises(InputError, match=f"{n_intents} intents are given, but 2 attention"):
            vz.audit_mask(Stack(), [padding] * n_intents, padding, d_model=8)
    assert vz.audit_mask(Stack(), [padding] * 2, padding, d_model=8).verdict == "PASS"


def test_an_audit_tells_how_far_it_is_and_ends_where_it_is_told_to():
    model, told = Stack().train(), []
    vz.audit_mask(model, padding, padding, **SMALL, progress=told.append)
    assert told == [number / len(checks.QUESTIONS) for number in range(len(checks.QUESTIONS))]

    def stop(share):
        if share > 0.5:
            raise InputError("Enough.")

    drawn = torch.get_rng_state()
    with pytest.raises(InputError, match="Enough"):
        vz.audit_mask(model, padding, padding, **SMALL, progress=stop)
    assert model.training  # left as it was found
    assert torch.equal(torch.get_rng_state(), drawn)


class Drawn(nn.Module):
    """It draws from numpy and torch, whether it trains or not."""

    def __init__(self):
        super().__init__()
        self.stack = Stack()

    def forward(self, x, keep):
        drawn = np.random.rand() + float(torch.rand(()))
        return self.stack(x * (1 + 0.0 * drawn), keep)


def test_random_numbers_after_an_audit_are_those_without_one():
    model, x = Drawn().eval(), torch.randn(2, 5, 8)
    keep = padding(torch.arange(5) < torch.tensor([[3], [5]]))
    for run in (
        lambda: vz.audit_mask(model, padding, **SMALL),
        lambda: vz.audit_batch(lambda b: model(*b), (x, keep), lambda b: b[1]),
    ):
        np.random.seed(0)
        torch.manual_seed(0)
        run()
        drawn = np.random.rand(), float(torch.rand(()))
        np.random.seed(0)
        torch.manual_seed(0)
        assert drawn == (np.random.rand(), float(torch.rand(())))
