"""Shares against those of lxt, and links against gradients of maps that are written out."""

import lxt.explicit.functional as lf
import numpy as np
import pytest
import torch

import viz_encoder as vz
from benchmarks.faithfulness import grammar as sentences
from benchmarks.faithfulness import written_out
from benchmarks.faithfulness.references import TINY, AttnLRP, lxt_relevance
from viz_encoder.checkpoints import LoadedEncoder

pytestmark = pytest.mark.parity
EXACT = 1e-9  # of the largest share


class Held(AttnLRP):
    """lxt's rules with attention weights held: each head is a linear map of its values."""

    def attend(self, q, k, v, scale):
        weights = (q @ k.mT * scale).softmax(dim=-1).detach()[0]
        heads = [
            lf.linear_epsilon(values.mT, each, None, TINY).mT
            for values, each in zip(v[0], weights, strict=True)
        ]
        return torch.stack(heads)[None]


class Frozen(written_out.Steps):
    """Plain steps, with divisors, gates and maps held; each map is a leaf of its own."""

    def norm(self, layer, x):
        centered = x - x.mean(dim=-1, keepdim=True)
        divisor = (centered.square().mean(dim=-1, keepdim=True) + layer.eps).sqrt()
        return centered / divisor.detach() * layer.weight + layer.bias

    def activate(self, f, x):
        return x * (f(x) / x).detach()

    def attend(self, q, k, v, scale):
        self.maps.append((q @ k.mT * scale).softmax(dim=-1).detach().requires_grad_())
        return self.maps[-1] @ v


@pytest.fixture(scope="module")
def wide() -> LoadedEncoder:
    return vz.load("grammar", device="cpu", dtype=torch.float64)


@pytest.fixture(scope="module", params=("agreement", "copying"))
def case(wide, request) -> sentences.Case:
    return sentences.cases(wide, request.param, 1)[0]


@pytest.mark.parametrize(("through", "steps"), [("attention", AttnLRP), ("values", Held)])
def test_shares_are_those_of_lxt(wide, case, through, steps):
    relevance = lxt_relevance(case.asked, steps())
    first, second = case.words
    found = vz.attribute(wide, case.twin.clean, label=first, against=second, through=through)
    assert np.abs(found.tokens - relevance).max() < EXACT * np.abs(relevance).max()


def test_links_are_maps_times_their_gradients(wide, case):
    steps = Frozen()
    score = case.asked.score(case.asked.embedded(), steps)
    gradients = torch.autograd.grad(score.sum(), steps.maps)
    first, second = case.words
    found = vz.attribute(wide, case.twin.clean, label=first, against=second)
    assert np.isclose(found.score, float(score.detach()), rtol=1e-9)
    for layer, (weights, gradient) in enumerate(zip(steps.maps, gradients, strict=True)):
        links = (weights * gradient)[0].detach().numpy()
        assert np.abs(found.links(layer) - links).max() < EXACT * np.abs(links).max()
