"""Gradients: of ids by their embeddings, and of all rows at once."""

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.audits import audit, own
from tests.audit.plants import NoMaps, Stack, banded, causal, padding
from tests.slow import slow_but
from viz_encoder.audit import AuditInputs
from viz_encoder.audit.faults import changed_tokens
from viz_encoder.audit.measure import gradients
from viz_encoder.audit.measure.gradients import NoGradient, gradients_of, real_rows
from viz_encoder.audit.measure.setting import Case, Setting
from viz_encoder.audit.measure.subject import Subject

VALID = torch.arange(7) < torch.tensor([5, 3, 7])[:, None]
GIVEN = AuditInputs(vocab_size=90)


class Reader(nn.Module):
    """Ids through a right stack; `embed` calls the table."""

    def __init__(self, embed):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.place = nn.Embedding(90, 8), nn.Embedding(50, 8)
        self.stack, self.embed = Stack(), embed

    def forward(self, ids, keep):
        x = self.embed(self.table, ids, keep.diagonal(dim1=1, dim2=2))
        return self.stack(x + self.place(torch.arange(ids.shape[1])), keep)


def of_real(table, ids, valid):
    x = torch.zeros(*ids.shape, 8)
    x[valid] = table(ids[valid])
    return x


def of_real_rows(table, ids, valid):
    x = torch.zeros(*ids.shape, 8)
    for sample, real in enumerate(valid):
        x[sample, real] = table(ids[sample, real])
    return x


def by_token(table, ids, valid):
    return torch.stack([table(ids[:, n]) for n in range(ids.shape[1])], dim=1)


def one_row_by_token(table, ids, valid):
    return torch.cat([table(ids[:1]), table(ids[1:2]), by_token(table, ids[2:], valid)])


WAYS = {
    "twice": lambda table, ids, valid: (
        (table(ids) + table(ids.view(1, -1)).view(*ids.shape, -1)) / 2
    ),
    "batch": lambda table, ids, valid: table(ids),
    "row by row": lambda table, ids, valid: torch.cat([table(row[None]) for row in ids]),
    "one row": lambda table, ids, valid: table(ids.reshape(1, -1)).view(*ids.shape, -1),
    "real tokens": of_real,
    "real tokens, row by row": of_real_rows,
}


@pytest.mark.parametrize("name", WAYS)
def test_the_gradients_are_those_of_the_embedded_tokens(name):
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1, 90, VALID.shape, generator=generator)
    model = Reader(WAYS[name]).eval()
    case = Case(ids, VALID, (causal(VALID),), causal(VALID))
    found = gradients_of(Subject(model), case, real_rows(case)).values
    leaf = model.table(ids).detach().requires_grad_(True)
    out = model.stack(leaf + model.place(torch.arange(7)), causal(VALID))
    mixture = torch.randn(8, generator=torch.Generator().manual_seed(1))
    for number, (sample, query) in enumerate(real_rows(case)):
        grad = torch.autograd.grad((out[sample, query] * mixture).sum(), leaf, retain_graph=True)[0]
        torch.testing.assert_close(found[number].float(), grad.abs().amax(dim=-1))


@pytest.mark.parametrize("name", slow_but([*WAYS][:2], WAYS))
def test_an_audit_of_ids_has_gradients_and_sees_a_leak(name):
    right = vz.audit_mask(Reader(WAYS[name]).eval(), causal, inputs=GIVEN)
    assert right.verdict == "PASS" and right.check("gradient").verdict == "PASS", str(right)
    if "real" not in name:  # there the mask tells what is real
        wrong = vz.audit_mask(Reader(WAYS[name]).eval(), causal, padding, inputs=GIVEN)
        assert wrong.check("gradient").verdict == "FAIL"


@pytest.mark.parametrize("embed", [by_token, one_row_by_token])
def test_tables_that_are_called_otherwise_are_said_with_the_cure(embed):
    report = vz.audit_mask(Reader(embed).eval(), causal, inputs=GIVEN, n_layers=2)
    assert report.verdict == "PASS" and report.check("gradient").verdict == "NOT TESTED"
    assert any("embed them yourself" in line for line in report.not_tested)


def test_samples_of_the_same_ids_are_not_taken_for_one_another():
    ids = torch.arange(1, 8).expand(3, 7).contiguous()
    case = Case(ids, VALID | True, (causal(VALID | True),), causal(VALID | True))
    with pytest.raises(NoGradient, match=r"nn\.Embedding"):
        gradients_of(Subject(Reader(WAYS["row by row"]).eval()), case, real_rows(case))
    assert gradients_of(Subject(Reader(WAYS["one row"]).eval()), case, real_rows(case)).rows


class Normed(nn.Module):
    """Attention to all earlier tokens, then a norm, which holds the sum of its outputs constant."""

    def forward(self, x, keep):
        return nn.functional.layer_norm(
            nn.functional.scaled_dot_product_attention(x, x, x, keep), (8,)
        )


@pytest.mark.parametrize("n_tokens", [7, 70])  # all rows together, and one by one
def test_a_norm_at_the_end_hides_no_gradient(n_tokens):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, n_tokens, 8, generator=generator)
    valid = torch.ones(2, n_tokens, dtype=torch.bool)
    case = Case(x, valid, (causal(valid),), causal(valid))
    found = gradients_of(Subject(Normed()), case, [(0, 3)])
    assert float(found.values[0, 0, :4].min()) > 1e-3 and not found.values[0, 0, 4:].any()


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
    monkeypatch.setattr(changed_tokens, "TOGETHER", 0)
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
