"""A batch of one's own is looked at as it runs: in training mode with gradients, fused in eval."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import viz_encoder as vz
from tests.audit.audits import own
from tests.audit.plants import Stack, banded, causal, padding
from tests.slow import slow_but
from viz_encoder.audit.measure.reach import pattern_in

VALID = torch.arange(9) < torch.tensor([6, 4, 9, 3])[:, None]


class Checkpointed(Stack):
    """Right, but for the path that only a training takes; it draws, counts and normalizes."""

    def __init__(self, forgets):
        super().__init__()
        self.forgets, self.drop = forgets, nn.Dropout(0.1)
        self.norm = nn.BatchNorm1d(8)
        self.register_buffer("n_calls", torch.zeros(()))

    def forward(self, x, valid):
        self.n_calls += 1
        x, keep = self.drop(self.norm(x.mT).mT), causal(valid)
        for layer in self.layers:
            if self.training and torch.is_grad_enabled():
                passed = None if self.forgets else keep
                x = checkpoint(layer, x, passed, use_reentrant=False)
            else:
                x = layer(x, keep)
        return x


@pytest.mark.parametrize("forgets", [True, False])
@pytest.mark.parametrize("train", [True, False])
def test_what_a_model_does_in_training_alone_is_looked_at(forgets, train):
    model = Checkpointed(forgets).train(train)
    before = {name: one.clone() for name, one in model.state_dict().items()}
    drawn, grads = torch.get_rng_state(), [p.requires_grad for p in model.parameters()]
    given = {"x": torch.randn(4, 9, 8, generator=torch.Generator().manual_seed(0)), "valid": VALID}
    report = vz.audit_batch(model, given, lambda batch: causal(batch["valid"]))
    assert (report.verdict == "FAIL") == (forgets and train), str(report)
    assert own(report) == (["maps"] if forgets and train else [])
    for name, one in model.state_dict().items():
        assert torch.equal(one, before[name]), name
    assert torch.equal(torch.get_rng_state(), drawn) and model.training == train
    assert [p.requires_grad for p in model.parameters()] == grads
    assert all(p.grad is None for p in model.parameters())


def test_where_gradients_raise_it_is_looked_at_without_them_and_said():
    class NoGradients(Stack):
        def forward(self, x, valid):
            assert not torch.is_grad_enabled(), "inference only"
            return super().forward(x, causal(valid))

    given = {"x": torch.randn(4, 9, 8), "valid": VALID}
    report = vz.audit_batch(NoGradients().train(), given, lambda batch: causal(batch["valid"]))
    assert report.verdict == "PASS", str(report)
    assert any(
        "in which it trains: the model raised AssertionError" in x for x in report.not_tested
    )


def lengths(more):
    return lambda valid: torch.arange(valid.shape[1]) < (valid.sum(dim=1) + more)[:, None]


WRONG = {
    "one too many": (lengths(1), "lengths"),
    "one too few": (lengths(-1), "lengths"),
    "two too many": (lengths(2), "lengths"),
    "rolled": (lambda valid: valid.roll(1, dims=0), "other_sample"),
    "sorted": (lambda valid: valid[valid.sum(dim=1).argsort()], "sorted"),
    "the first for all": (lambda valid: valid[:1].expand_as(valid), "first_sample"),
    "none": (torch.ones_like, "ignored"),
}


class Fused(nn.Module):
    """nn.TransformerEncoder, which packs a padded batch in eval mode, told of other lengths."""

    def __init__(self, padded):
        super().__init__()
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.encoder, self.table = nn.TransformerEncoder(layer, 2), nn.Embedding(50, 16)
        self.padded = padded

    def forward(self, ids, valid):
        return self.encoder(self.table(ids), src_key_padding_mask=~self.padded(valid))


def ids():
    drawn = torch.randint(1, 50, VALID.shape, generator=torch.Generator().manual_seed(0))
    return {"ids": drawn * VALID, "valid": VALID}


@pytest.mark.parametrize("name", slow_but(["one too many", "rolled"], WRONG))
def test_a_wrong_mask_on_torch_s_fused_path_is_as_red_as_off_it(name):
    padded, code = WRONG[name]
    for train in (False, True):
        model = Fused(padded).train(train)
        found = vz.audit_batch(model, ids(), lambda batch: padding(batch["valid"])).check("maps")
        assert (found.verdict, found.code) == ("FAIL", code), found
        assert "document" not in found.cause and "searchsorted" not in found.cure
    encoder = Fused(padded).eval().encoder
    report = vz.audit_mask(
        lambda x, kept: encoder(x, src_key_padding_mask=~padded(kept)),
        padding,
        lambda valid: valid,
        d_model=16,
        module=encoder,
    )
    assert own(report) == ["maps"] and report.check("maps").code in (code, "as_passed"), str(report)
    assert not report.check("maps").cause.startswith("consistent")


def test_a_right_mask_on_the_fused_path_passes():
    report = vz.audit_batch(Fused(lambda v: v).eval(), ids(), lambda batch: padding(batch["valid"]))
    assert report.verdict == "PASS", str(report)


@pytest.mark.parametrize("intent", [padding, causal, banded(3)])
@pytest.mark.parametrize("counts", [[6, 4, 9, 3], [6, 4, 7, 3]])
def test_the_pattern_of_a_batch_is_what_its_samples_have_in_common(intent, counts):
    valid = torch.arange(9) < torch.tensor(counts)[:, None]
    whole = intent(torch.ones_like(valid))
    assert torch.equal(pattern_in(intent(valid), valid), whole)


def test_samples_of_different_patterns_have_none_in_common():
    number = torch.tensor([[0] * 4 + [1] * 5, [0] * 6 + [1] * 3])
    packed = number[:, :, None] == number[:, None, :]
    valid = torch.ones(2, 9, dtype=torch.bool)
    assert torch.equal(pattern_in(packed, valid), packed)
