"""What is tried in one batch for speed gives what is tried one by one."""

import pytest
import torch

from tests.audit.audits import audit, own
from tests.audit.plants import NoMaps, Stack, banded, causal, padding
from viz_encoder.audit.checks import perturbation
from viz_encoder.audit.measure import gradients
from viz_encoder.audit.measure.setting import Setting
from viz_encoder.audit.measure.subject import Subject


class Unbatched(torch.autograd.Function):
    """A backward pass that looks at single numbers, which no batch of them has."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * (1.0 if float(grad.sum()) < torch.inf else 2.0)


class BySteps(Stack):
    def forward(self, x, keep):
        return Unbatched.apply(super().forward(x, keep))


def case_of(intent):
    def draw(seed, batch, length):
        return torch.randn(batch, length, 8, generator=torch.Generator().manual_seed(seed))

    return Setting((intent,), intent, draw).base()


@pytest.mark.parametrize("intent", [padding, causal, banded(3)])
@pytest.mark.parametrize("pooled", [False, True])
def test_gradients_of_all_rows_at_once(intent, pooled):
    model, case = Stack(), case_of(intent)
    subject = Subject(lambda x, keep: model(x, keep).mean(1) if pooled else model(x, keep))
    rows = [(sample, 0) for sample in range(3)] if pooled else gradients.real_rows(case)
    x = case.x.clone().requires_grad_(True)
    out = subject.run(case, x=x, grad=True)
    together = gradients._together(out, x, rows, 0, 7)
    apart = gradients._one_by_one(out, x, rows, 0, 7)
    assert together is not None and torch.equal(together == 0, apart == 0)
    assert torch.allclose(together, apart, rtol=1e-5, atol=0)
    assert torch.equal(gradients.gradients_of(subject, case, rows).values, together)


def test_what_cannot_be_batched_is_differentiated_row_by_row():
    case, rows = case_of(causal), [(0, 1), (2, 5)]
    x = case.x.clone().requires_grad_(True)
    out = Subject(BySteps()).run(case, x=x, grad=True)
    assert gradients._together(out, x, rows, 0, 7) is None
    found = gradients.gradients_of(Subject(BySteps()), case, rows).values
    expected = gradients.gradients_of(Subject(Stack()), case, rows).values
    assert torch.allclose(found, expected, rtol=1e-5, atol=0)
    assert audit(BySteps(), causal).check("gradient").verdict == "PASS"


@torch.no_grad()
def sees_the_next(x, keep):
    return NoMaps()(x, keep | torch.ones_like(keep).tril(1))


@torch.no_grad()
def right(x, keep):
    return NoMaps()(x, keep)


@pytest.mark.parametrize("model", [sees_the_next, right])
def test_changes_in_one_batch_judge_as_each_by_itself(model, monkeypatch):
    together = audit(model, causal)
    monkeypatch.setattr(perturbation, "TOGETHER", 0)
    apart = audit(model, causal)
    assert own(together) == own(apart) == (["perturbation"] if model is sees_the_next else [])
    for name in ("perturbation", "lengths"):
        assert together.check(name) == apart.check(name)


def test_a_model_of_small_batches_only_is_tried_change_by_change():
    sizes = []

    def small(x, keep):
        assert len(x) <= 3, "three samples at most"
        sizes.append(len(x))
        return sees_the_next(x, keep)

    report = audit(small, causal)
    assert own(report) == ["perturbation"] and max(sizes) == 3
    assert report.check("perturbation") == audit(sees_the_next, causal).check("perturbation")
