"""What a call changes in place is found, where it matters, and is put back after the audit."""

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.audits import audit, own
from tests.audit.plants import NoMaps, Stack, causal, padding
from tests.slow import slow

TRIANGLE = torch.ones(64, 64).tril().bool()


def around(forward, model=Stack, **parts):
    """A right stack, called by `forward(inner, x, passed)`."""

    class Around(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model()
            for name, one in parts.items():
                self.register_buffer(name, one)

        def forward(self, x, passed):
            return forward(self, x, passed)

    return Around().eval()


def layer_by_layer(model, x, valid):
    """The first layer hides token 1 from all that come after it."""
    for layer in model.inner.layers:
        x = layer(x, padding(valid))
        valid[:, 1] = False
    return x


def inverted(model, x, ignore):
    return model.inner(x, ignore.logical_not_())


def kept(model, x, valid):
    n_samples, n_tokens = valid.shape
    keep = model.causal[:n_samples, :n_tokens, :n_tokens]
    keep &= padding(valid)
    return model.inner(x, keep)


def of_the_code(model, x, valid):
    keep = TRIANGLE[: x.shape[1], : x.shape[1]]
    keep &= valid.all(dim=0)  # in a global tensor
    return model.inner(x, keep & padding(valid))


BUFFER = {"causal": TRIANGLE.expand(8, -1, -1).clone()}
PLANTS = {
    "the mask, from call to call": (inverted, padding, lambda valid: ~padding(valid)),
    "a tensor that the code": (of_the_code, causal, lambda valid: valid),
}


@pytest.mark.parametrize("kind", [Stack, slow(NoMaps)])
@pytest.mark.parametrize("name", PLANTS)
def test_it_is_named_and_all_else_follows_from_it(name, kind):
    forward, intent, make_mask = PLANTS[name]
    report = audit(around(forward, kind), intent, make_mask)
    found = report.check("in_place")
    assert own(report) == ["in_place"], str(report)
    assert found.code == "in_place" and f"changes {name.partition(',')[0]}" in found.evidence


@pytest.mark.parametrize(
    ("forward", "verdict"),
    [
        (lambda model, x, keep: model.inner(x.relu_(), keep), "INFO"),  # twice is as once
        (lambda model, x, keep: model.inner(x.add_(1.0), keep), "WARN"),  # vectors are no mask
        (lambda model, x, keep: model.inner(x, keep.tril_()), "INFO"),
        (lambda model, x, keep: model.inner(x, keep) + 0 * model.calls.add_(1), "PASS"),
    ],
)
def test_what_has_no_effect_on_masks_is_no_failure(forward, verdict):
    model = around(forward, calls=torch.zeros(1))
    report = audit(model, causal, lambda valid: padding(valid).clone())
    assert report.check("in_place").verdict == verdict, str(report)


def test_what_the_model_keeps_is_as_it_was_after_the_audit():
    model = around(kept, **{name: one.clone() for name, one in BUFFER.items()})
    assert audit(model, causal, lambda valid: valid).verdict == "FAIL"
    assert torch.equal(model.causal, BUFFER["causal"])
    audit(around(of_the_code), causal, lambda valid: valid)
    assert torch.equal(TRIANGLE, torch.ones(64, 64).tril().bool())


def test_dropout_that_is_on_is_not_taken_for_a_change():
    def forward(model, x, valid):
        valid[:, 1] = False
        return model.inner(nn.functional.dropout(x, 0.1), padding(valid))

    report = audit(around(forward), padding, lambda valid: valid)
    assert report.check("in_place").verdict in ("INFO", "NOT TESTED")


@pytest.mark.parametrize("train", [False, True])
def test_a_batch_of_ones_own(train):
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.drop = Stack(), nn.Dropout(0.2)

        def forward(self, x, attention_mask):
            return self.drop(layer_by_layer(self, x, attention_mask))

    valid = torch.arange(9) < torch.tensor([6, 9, 3, 7])[:, None]
    given = {"x": torch.randn(4, 9, 8), "attention_mask": valid}
    report = vz.audit_batch(
        Reader().train(train), given, lambda batch: padding(batch["attention_mask"])
    )
    assert own(report) == ["in_place"] and "'attention_mask'" in report.sentence, str(report)
    assert int(given["attention_mask"].sum()) == 25  # it is a copy that was changed
