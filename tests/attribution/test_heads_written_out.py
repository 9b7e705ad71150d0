"""Heads of models that compute their softmax themselves are seen, or it is said."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import viz_encoder as vz
from viz_encoder.errors import SelectionError

X = torch.randn(1, 7, 32, generator=torch.Generator().manual_seed(2))
ALONG = torch.linspace(-1, 1, 32)


class Summed(nn.Module):
    """Attention written out, its values mixed by an einsum."""

    def __init__(self, equation: str, shared: bool = False) -> None:
        super().__init__()
        self.equation, self.shared = equation, shared
        factors, _, self.out = equation.partition("->")
        self.maps, self.values = sorted(factors.split(","), key=lambda axes: "q" not in axes)
        self.maps_first = factors.startswith(self.maps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = x.unflatten(-1, (4, -1)).transpose(1, 2)  # "batch head query d"
        v = q[:, :1] * 2 if self.shared else q * 2
        weights = (q @ v.mT).softmax(-1)
        if self.maps == "bqhk":
            weights = torch.einsum("bqhd,bhkd->bqhk", q.transpose(1, 2), v).softmax(-1)
        v = v[:, 0] if self.shared else v.transpose(1, 2) if self.values == "bkhd" else v
        both = (weights, v) if self.maps_first else (v, weights)
        found = torch.einsum(self.equation, *both)
        found = found.transpose(1, 2) if self.out in ("bhqd", "...qd") else found
        return x + found.flatten(2)


EINSUMS = (
    *("bhqk,bhkd->bhqd", "bhqk,bkhd->bqhd", "bkhd,bhqk->bqhd", "...qk,...kd->...qd"),
    *("bqhk,bkhd->bqhd", "bhqk,bkd->bqhd"),
)


@pytest.mark.parametrize("equation", EINSUMS)
def test_heads_whose_values_are_mixed_by_einsum_are_heads(equation):
    shared = equation == "bhqk,bkd->bqhd"
    found = vz.attribute(
        Summed(equation, shared).eval(), lambda m: m(X), score=lambda o: o[0, 3] @ ALONG, at=X
    )
    q = X[0].double().unflatten(-1, (4, -1)).transpose(0, 1)
    v = (q[:1] * 2).expand(4, -1, -1) if shared else q * 2
    weights = (q @ v.mT).softmax(-1)
    toward = torch.zeros(7, 32).double()
    toward[3] = ALONG
    links = weights * (toward.unflatten(-1, (4, -1)).transpose(0, 1) @ v.mT)
    assert np.allclose(found.links(0), links, atol=1e-5)
    assert np.allclose(found.heads, links.sum((1, 2))[None], atol=1e-5)


@pytest.mark.parametrize("equation", ["bhqk,bhkd->bhqkd", "bhqk,bhkd->bhd", "bhqk,bhqd->bhkd"])
def test_an_einsum_that_mixes_nothing_is_no_attention(equation):
    def run(model):
        q = model(X).unflatten(-1, (4, -1)).transpose(1, 2)
        return torch.einsum(equation, (q @ q.mT).softmax(-1), q)

    found = vz.attribute(nn.Identity().eval(), run, score=lambda o: o.sum(), at=X)
    with pytest.raises(SelectionError, match="there are no heads"):
        found.links(0)


def _exp_sum(scores: torch.Tensor) -> torch.Tensor:
    whole = (scores - scores.amax(-1, keepdim=True)).exp()
    return whole / whole.sum(-1, keepdim=True)


def _in_place(scores: torch.Tensor) -> torch.Tensor:
    scores.exp_()
    scores /= scores.sum(-1, keepdim=True)
    return scores


def _over_sum(weights: torch.Tensor) -> torch.Tensor:
    return weights / weights.sum(-1, keepdim=True)


def _masked_sigmoid(scores: torch.Tensor) -> torch.Tensor:
    return scores.masked_fill(torch.ones(7, 7).triu(1).bool(), -torch.inf).sigmoid()


WRITTEN_OUT = {
    "exp ÷ sum": _exp_sum,
    "in place": _in_place,
    "logsumexp": lambda scores: (scores - scores.logsumexp(-1, keepdim=True)).exp(),
    "cut by heads": lambda scores: torch.cat([x.softmax(-1) for x in scores.chunk(2, dim=1)], 1),
    "capped": lambda scores: ((scores / 5).tanh() * 5).softmax(-1),
    "sigmoid": torch.sigmoid,
    "sigmoid ÷ sum": lambda scores: _over_sum(scores.sigmoid()),
    "masked sigmoid": lambda scores: _masked_sigmoid(scores * 0.1 - 1),
    "ReLU ÷ n, in place": lambda scores: scores.relu_().mul_(1 / 7),
    "squared ReLU": lambda scores: torch.relu(scores) ** 2,
    "clamp": lambda scores: scores.clamp(min=0, max=9) @ torch.eye(7),
    "weighted": lambda scores: scores.softmax(-1) * torch.tensor([1.0, 0.5, 2, 0])[:, None, None],
}


def _mixed_by(weigh: Callable[[torch.Tensor], torch.Tensor], mix: Callable[..., torch.Tensor]):
    """What Summed is, with weights and their product with values as said; its links beside it."""

    def run(model: Any) -> torch.Tensor:
        q = model(X).unflatten(-1, (4, -1)).transpose(1, 2)
        return X + mix(weigh(q @ q.mT), q * 2).transpose(1, 2).flatten(2)

    q = X.unflatten(-1, (4, -1)).transpose(1, 2)
    toward = torch.zeros(7, 32)
    toward[3] = ALONG
    links = weigh(q @ q.mT)[0] * (toward.unflatten(-1, (4, -1)).transpose(0, 1) @ (q[0] * 2).mT)
    ask = {"score": lambda out: out[0, 3] @ ALONG, "at": X}
    return vz.attribute(nn.Identity().eval(), run, **ask), links


MIXES = {
    "weights · v": torch.matmul,
    "(vᵀ · weightsᵀ)ᵀ": lambda w, v: (v.mT @ w.mT).mT,
}


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
@pytest.mark.parametrize("weigh", WRITTEN_OUT.values(), ids=WRITTEN_OUT)
def test_heads_of_a_softmax_written_out_are_heads(weigh, mix):
    found, links = _mixed_by(weigh, mix)
    assert np.allclose(found.links(0), links, atol=1e-5) and not found.notes
    assert np.allclose(found.heads, links.sum((1, 2))[None], atol=1e-5)


@pytest.mark.parametrize(("weigh", "what"), [
    (_exp_sum, "a softmax or exp"), (_masked_sigmoid, "sigmoid of scores"),
])  # fmt: skip
def test_weights_that_mix_out_of_sight_are_noted(weigh, what):
    found, _ = _mixed_by(weigh, lambda w, v: (w[..., None] * v[..., None, :, :]).sum(-2))
    assert found.notes[0].startswith(f"No product with values was seen of {what} of shape (1, 4, 7")
    with pytest.raises(SelectionError, match=r"there are no heads.*of shape \(1, 4, 7, 7\)"):
        _ = found.heads


def test_an_activation_of_a_product_that_weighs_nothing_is_one_like_others():
    """Half of what it carries came by each factor."""
    near = int((X[0] @ X[0].T)[2].topk(2).indices[1])
    found = vz.attribute(
        nn.Identity().eval(),
        lambda model: torch.relu(model(X) @ model(X).mT),
        score=lambda out: out[0, 2, near],
        at=X,
    )
    assert np.allclose(found.tokens[[2, near]], found.score / 2) and found.score > 0
    assert "relu of scores" in found.notes[0]
