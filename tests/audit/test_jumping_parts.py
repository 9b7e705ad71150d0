"""A part whose outputs jump with padding, which no gradient shows, is named."""

import math

import pytest
import torch
from torch import nn

from tests.audit.audits import audit, own
from tests.audit.plants import Stack, padding


class Capacity(nn.Module):
    """The loudest third of the tokens are passed on: of all, or of the real ones."""

    def __init__(self, mended):
        super().__init__()
        self.mended = mended

    def forward(self, x, valid):
        scores = x.norm(dim=-1)
        scores = scores.masked_fill(~valid, -math.inf) if self.mended else scores
        counts = valid.sum(1) if self.mended else torch.full((len(x),), x.shape[1])
        rank = scores.argsort(1, descending=True).argsort(1)
        return x * (rank < -(-counts // 3)[:, None])[..., None]


class Routed(nn.Module):
    def __init__(self, mended):
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.experts = Stack(), Capacity(mended)

    def forward(self, x, valid):
        x = self.inner(x, padding(valid))
        return x + self.experts(x, valid)


@pytest.mark.parametrize("mended", [True, False])
def test_a_capacity_that_padding_takes_is_named(mended):
    report = audit(Routed(mended).eval(), padding, lambda valid: valid)
    assert own(report) == ([] if mended else ["perturbation"]), str(report)
    found = report.check("perturbation")
    assert found.code == ("" if mended else "besides_attention")
    assert mended or "experts (Capacity), which is not attention" in found.cause, found


def test_attention_itself_is_not_called_another_part():
    """Its own mask jumps: the key that is left out depends on all keys, padding too."""

    class Hard(Stack):
        def forward(self, x, valid):
            loudest = x.detach().norm(dim=-1).argmax(1)
            keep = padding(valid).clone()
            keep[torch.arange(len(x)), :, loudest] = valid.sum(1)[:, None] == 1
            return super().forward(x, keep)

    found = audit(Hard().eval(), padding, lambda valid: valid).check("perturbation")
    assert "which is not attention" not in found.cause, found


@pytest.mark.parametrize("mended", [True, False])
def test_code_between_two_modules_is_named_by_them(mended):
    class Pruned(nn.Module):
        def __init__(self):
            super().__init__()
            self.below, self.above = Stack(1), Stack(1, seed=1)

        def forward(self, x, valid):
            x = self.below(x, padding(valid))
            loud = x.norm(dim=-1).masked_fill(~valid & mended, -1.0)
            counts = valid.sum(1) if mended else torch.full((len(x),), x.shape[1])
            rank = loud.argsort(1, descending=True).argsort(1)
            return self.above(x * (rank < -(-counts // 3)[:, None])[..., None], padding(valid))

    report = audit(Pruned().eval(), padding, lambda valid: valid)
    assert own(report) == ([] if mended else ["perturbation"]), str(report)
    told = report.check("perturbation").cause
    assert told == ("" if mended else BETWEEN), told


BETWEEN = "the maps are right, and tokens mix in the code between below and above.layers.0.qkv."
