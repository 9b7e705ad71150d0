"""A part whose outputs jump with padding, which no gradient shows, is named."""

import math

import pytest
import torch
from torch import nn

from tests.audit.audits import audit, own
from tests.audit.plants import Attention, Stack, padding


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


class TokenFirst(Attention):
    def forward(self, x, keep):
        return super().forward(x.transpose(0, 1), keep).transpose(0, 1)


@pytest.mark.parametrize("kind", [Attention, TokenFirst])
def test_attention_itself_is_not_called_another_part(kind):
    """Its own mask jumps: a very loud token, padding too, closes the first key for all."""

    class Hard(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.attention = kind()

        def forward(self, x, valid):
            loud = x.norm(dim=-1).amax(1) > 20
            keep = padding(valid) & ~(loud[:, None] & (torch.arange(x.shape[1]) == 0))[:, None]
            if kind is Attention:
                return self.attention(x, keep)
            return self.attention(x.transpose(0, 1), keep).transpose(0, 1)

    report = audit(Hard().eval(), padding, lambda valid: valid, n_layers=1)
    assert own(report) == ["perturbation"], str(report)
    assert report.check("perturbation").code == "", str(report)


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
