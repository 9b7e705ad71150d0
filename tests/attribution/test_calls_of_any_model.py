"""Functions are followed however a model calls them, and embeddings however it gives them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import viz_encoder as vz
from viz_encoder.errors import InputError, SelectionError, TraceError

DRAWN = torch.Generator().manual_seed(4)
X = torch.randn(1, 7, 32, generator=DRAWN)
W, B = torch.randn(32, 32, generator=DRAWN) / 6, torch.randn(32, generator=DRAWN)
ALONG = torch.linspace(-1, 1, 32)

CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "matmul": lambda x: torch.matmul(x, other=W),
    "bmm": lambda x: torch.bmm(input=x, mat2=W[None]),
    "addmm": lambda x: torch.addmm(input=B, mat1=x[0], mat2=W)[None],
    "arithmetic": lambda x: torch.div(torch.sub(torch.mul(x, other=B), other=B), other=B.exp()),
    "add": lambda x: torch.add(input=x, other=B, alpha=2),
    "whole": lambda x: x + torch.div(x, B, rounding_mode="floor"),
    "where": lambda x: torch.where(condition=x > 0, input=x, other=B),
    "power": lambda x: torch.pow(x, exponent=2),
    "linear": lambda x: F.gelu(input=F.linear(input=x, weight=W, bias=B)),
    "layer_norm": lambda x: torch.layer_norm(x, (32,), B, B, 1e-5, False),
    "conv1d": lambda x: F.conv1d(input=x, weight=torch.ones(7, 7, 1), bias=torch.ones(7)),
    "glu": lambda x: F.glu(torch.cat([x @ W, x], dim=-1)),
    "clamp": lambda x: torch.clamp(x, min=0.3) + x.clamp(max=B),
    "lengths": lambda x: x * torch.linalg.vector_norm(x, dim=-1, keepdim=True) / x.norm(),
    "spread": lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6) + x.abs(),
    "max_pool1d": lambda x: F.max_pool1d(x, 3, stride=1, padding=1),
}


def asked(model: Any, run: Callable[[Any], Any], **at: Any) -> Any:
    return vz.attribute(model.eval(), run, score=lambda out: out[0, 2] @ ALONG, **at)


@pytest.mark.parametrize("name", CALLS)
def test_it_is_exact(name):
    found = asked(nn.Identity(), lambda model: CALLS[name](model(X)), at=X)
    assert np.isclose(found.score, float(CALLS[name](X)[0, 2] @ ALONG), rtol=1e-4)
    assert np.isclose(found.tokens.sum() + found.biases, found.score, rtol=1e-4)


def test_a_length_is_a_score():
    found = vz.attribute(
        nn.Identity().eval(), lambda m: m(X), score=lambda out: out[0, :2].norm(), at=X
    )
    lengths = X[0, :2].norm(dim=-1)
    assert np.allclose(found.tokens[:2], lengths**2 / lengths.norm()) and found.biases == 0


def test_only_functions_that_give_embeddings_are_named():
    with pytest.raises(TraceError, match=r"no rule: group_norm\.$"):
        asked(nn.Identity(), lambda model: F.group_norm(model(X), 7), at=X)


class Gated(torch.autograd.Function):
    """A function that is hidden from torch's own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.exp()

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> Tensor:
        return given[0]


def test_a_function_that_is_hidden_is_hinted_at():
    with pytest.raises(TraceError, match=r"another one ran, such as a torch\.autograd\.Function"):
        asked(nn.Identity(), lambda model: Gated.apply(model(X) * 2), at=X)


def encoder() -> nn.Module:
    torch.manual_seed(3)
    layer = nn.TransformerEncoderLayer(32, 4, 48, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()


def test_a_compiled_model_is_followed_as_it_was_written():
    plain = asked(encoder(), lambda model: model(X), at=X)
    compiled = asked(torch.compile(encoder(), backend="eager"), lambda model: model(X), at=X)
    assert np.array_equal(compiled.tokens, plain.tokens) and compiled.heads.shape == (2, 4)


def test_under_autocast_it_is_as_exact_as_half_precision():
    def run(model: Any) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(X).float()

    plain, half = (asked(encoder(), how, at=X) for how in (lambda model: model(X), run))
    assert 1e-6 < half.unexplained < 0.02
    assert np.abs(half.tokens - plain.tokens).max() < 0.02 * np.abs(plain.tokens).sum()


class Patches(nn.Module):
    """A model whose embeddings come with the size of their grid."""

    def __init__(self, last: Any) -> None:
        super().__init__()
        self.embeddings = self.Embeddings()
        self.last = last

    class Embeddings(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, tuple[int, int]]:
            return x * 2, (7, 1)

    def forward(self, x: Tensor) -> Tensor:
        patches, (rows, _) = self.embeddings(x)
        return self.last(patches / rows)


def test_embeddings_that_come_in_a_tuple():
    found = asked(Patches(nn.Identity()), lambda model: model(X))
    assert np.isclose(found.tokens[2], float(X[0, 2] @ ALONG) * 2 / 7)
    ids = nn.Module()
    ids.forward = lambda x: x.long()  # type: ignore[assignment]
    model = nn.Sequential(ids, nn.Identity())
    with pytest.raises(InputError, match=r"\(Module\) gives no tensor of embeddings"):
        asked(model, lambda model: model(X).float(), at=ids)


def test_a_model_that_knows_no_embeddings_is_asked_for_them():
    class Waves(nn.Module):
        def get_input_embeddings(self) -> Any:
            raise NotImplementedError("please override in the subclass")

    with pytest.raises(SelectionError, match="Waves has no module named embeddings; say which"):
        asked(Waves(), lambda model: X)


def test_what_is_asked_of_our_encoders_is_not_ignored():
    for ask in ({"of": "state"}, {"against": torch.ones(3)}, {"through": "attention"}):
        with pytest.raises(SelectionError, match="score= says all that is asked"):
            asked(nn.Identity(), lambda model: model(X), at=X, **ask)
