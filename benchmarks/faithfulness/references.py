"""What the shares are compared with: other attributions, and what attention alone says."""

import lxt.explicit.functional as lf
import numpy as np
import torch
from captum.attr import IntegratedGradients
from lxt.explicit.rules import identity
from torch import Tensor, nn

import viz_encoder as vz
from benchmarks.faithfulness import written_out
from benchmarks.faithfulness.asked import Asked
from benchmarks.faithfulness.written_out import Activation, Steps

N_STEPS = 20  # of integrated gradients
TINY = 1e-12  # lxt's stabilizers, which add to a denominator
SEED = 7


class AttnLRP(Steps):
    """The rules of lxt (Achtibat et al., 2024): what goes back is relevance, not a gradient."""

    def linear(self, layer: nn.Linear, x: Tensor) -> Tensor:
        return lf.linear_epsilon(x, layer.weight, layer.bias, TINY)

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        return lf.add2(a, b, False, TINY)

    def norm(self, layer: nn.Module, x: Tensor) -> Tensor:
        return lf.layer_norm_grad_fn.apply(x, layer.weight, layer.bias, layer.eps, TINY)

    def activate(self, f: Activation, x: Tensor) -> Tensor:
        return identity(f, x)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        scores = lf.mul2(lf.matmul(q, k.mT, False, TINY), scale)
        return lf.matmul(lf.softmax(scores, -1), v, False, TINY)


def lxt_relevance(asked: Asked, steps: Steps) -> np.ndarray:
    """Each token's relevance, by an instance of AttnLRP."""
    x = asked.embedded().requires_grad_()
    output = written_out.encode(asked.encoder.model, x, steps)
    vector = asked.vector(output, steps)
    if asked.head is None:  # the mean is linear, so its relevance is known at each state
        start = output * asked.direction / asked.n_tokens
        return _sums(torch.autograd.grad(output, x, start.detach())[0])
    return _sums(torch.autograd.grad(vector, x, (vector * asked.direction).detach())[0])


def attn_lrp(asked: Asked) -> np.ndarray:
    return lxt_relevance(asked, AttnLRP())


def gradient_times_input(asked: Asked) -> np.ndarray:
    x = asked.embedded().requires_grad_()
    return _sums(x.detach() * torch.autograd.grad(asked.score(x).sum(), x)[0])


def integrated_gradients(asked: Asked, n_steps: int = N_STEPS) -> np.ndarray:
    """From the same input with every unit blank (Sundararajan et al., 2017), by captum."""
    blank = asked.replaced([at for unit in asked.units for at in unit])
    found = IntegratedGradients(asked.score, multiply_by_inputs=True).attribute(
        asked.embedded(), baselines=blank, n_steps=n_steps, internal_batch_size=n_steps
    )
    return _sums(found)


def leave_one_out(asked: Asked) -> np.ndarray:
    """What the score loses with each unit blank; a word's loss stands at its first token."""
    lost = asked.score(asked.embedded()).detach() - asked.without(asked.units)
    return _at([unit[0] for unit in asked.units], lost, asked.n_tokens)


def hidden(asked: Asked) -> np.ndarray:
    """What changes where no token may attend to it, as vz.effects.tokens measures it."""
    found = vz.effects.tokens(asked.encoder, asked.inputs, **asked.effect).values
    return np.nan_to_num(-found if asked.head else found)  # the drop of an answer, or the turn


def chefer(asked: Asked) -> np.ndarray:
    """R ← R + (∇A ∘ A)⁺ · R, layer by layer, from the row that is read (Chefer et al., 2021)."""
    steps = Steps()
    x = asked.embedded().requires_grad_()
    gradients = torch.autograd.grad(asked.score(x, steps).sum(), steps.maps)
    total = torch.eye(asked.n_tokens)
    for weights, gradient in zip(steps.maps, gradients, strict=True):
        total = total + (gradient * weights.detach())[0].clamp_min(0).mean(dim=0) @ total
    return _read(total.numpy(), asked)


def rollout(asked: Asked) -> np.ndarray:
    """Attention multiplied through the layers (Abnar & Zuidema, 2020)."""
    (trace,) = vz.capture(asked.encoder, asked.inputs)
    return _read(vz.analyses.rollout_matrix(trace).shares, asked)


def mean_attention(asked: Asked) -> np.ndarray:
    """From the token that is read, over all layers and heads."""
    (trace,) = vz.capture(asked.encoder, asked.inputs)
    maps = torch.stack([trace.attention(layer) for layer in range(trace.n_layers)])
    return _read(maps.mean(dim=(0, 1)).numpy(), asked)


def received(asked: Asked) -> np.ndarray:
    """From all tokens, in the last layer."""
    (trace,) = vz.capture(asked.encoder, asked.inputs)
    return trace.attention(trace.n_layers - 1).mean(dim=(0, 1)).numpy()


def chance(asked: Asked) -> np.ndarray:
    return np.random.default_rng(
        (SEED, asked.n_tokens, int(asked.inputs.values.abs().sum()))
    ).random(asked.n_tokens)


def _read(rows: np.ndarray, asked: Asked) -> np.ndarray:
    """The row of the token that is read, or the mean of all."""
    return rows.mean(axis=0) if asked.token is None else rows[asked.token]


def _sums(relevance: Tensor) -> np.ndarray:
    return relevance.detach()[0].double().sum(dim=-1).numpy()


def _at(places: list[int], values: Tensor, n_tokens: int) -> np.ndarray:
    found = np.zeros(n_tokens)
    found[places] = values.double().numpy()
    return found
