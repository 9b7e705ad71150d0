"""Measures of vectors: how far the pooled one, or the tokens' last states, have turned."""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.arguments import Token, read_token
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measure import Outputs
from viz_encoder.effects.rerun import Rerun
from viz_encoder.errors import InputError
from viz_encoder.inputs import Sample
from viz_encoder.model import pool


class PooledChange:
    """1 − cosine between the pooled vector and the untouched one: 0 = no change, at most 2."""

    def __init__(self, run: Rerun, method: str | None) -> None:
        """Pool the untouched output; by the model's declared pooling if it can, else by mean."""
        self._run = run
        self._method = method or usual_pooling(run.encoder, run.sample, run.valid)
        self._before = self.vectors(run.output)
        self.words = f"1 − cosine between the pooled vector ({self._method}) and the untouched one"

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """Angle by which the vector turned."""
        return turned(self.vectors(outputs), self._before)

    def said(self, outputs: Outputs) -> None:
        """A vector says nothing."""

    def name(self, number: int) -> str:
        """A vector has no labels."""
        return ""

    def vectors(self, outputs: Outputs) -> Float[Tensor, "variant d_vector"]:
        """The pooled vector of each output."""
        run = self._run
        with torch.inference_mode():
            return pooled(run.encoder, run.sample, outputs, run.valid, self._method)


def pooled(
    encoder: LoadedEncoder,
    sample: Sample,
    outputs: Outputs,
    valid: Bool[Tensor, "1 token"],
    method: str,
) -> Float[Tensor, "variant d_vector"]:
    """The pooled vector of each output, by a method of `vz.pool`."""
    heads = encoder.model.heads
    return pool(
        outputs,
        valid.expand(len(outputs), -1),
        method,
        encoder=encoder,
        head=heads["pool"] if "pool" in heads else None,  # noqa: SIM401 (a ModuleDict has no get)
        n_prefix=max(1, len(encoder.config.prefix)),
        n_prompt=sample.n_prompt,
    )


def usual_pooling(encoder: LoadedEncoder, sample: Sample, valid: Bool[Tensor, "1 token"]) -> str:
    """The model's own; mean where it declares none, or none of so many tokens."""
    if encoder.declared is None:
        return "mean"
    try:
        encoder.declared.require(valid, sample.n_prompt)
    except InputError:
        return "mean"
    return "declared"


class StateChange:
    """1 − cosine between a hidden state and the untouched one; the mean over tokens if no `at`."""

    def __init__(self, run: Rerun, at: Token | None) -> None:
        at = None if at is None else read_token(at, run.sample.tokens)
        self._at, self._real, self._before = at, run.valid[0], run.output
        whose = "mean over the tokens" if at is None else f"token {at}, “{run.sample.tokens[at]}”"
        self.words = f"1 − cosine between the last hidden state and the untouched one ({whose})"

    def read(self, outputs: Outputs) -> Float[np.ndarray, " variant"]:
        """Angles by which the states turned."""
        if self._at is not None:
            return turned(outputs[:, self._at], self._before[:, self._at])
        each = turned(outputs[:, self._real], self._before[:, self._real])
        mean: Float[np.ndarray, " variant"] = each.mean(axis=1)
        return mean

    def said(self, outputs: Outputs) -> None:
        """A state says nothing."""

    def name(self, number: int) -> str:
        """A state has no labels."""
        return ""


def turned(
    now: Float[Tensor, "*places d_vector"], before: Float[Tensor, "*#places d_vector"]
) -> Float[np.ndarray, "*places"]:
    """1 − cosine, as half the squared distance of unit vectors: exact where it is tiny."""
    now, before = (torch.nn.functional.normalize(x.double(), dim=-1) for x in (now, before))
    return ((now - before).square().sum(dim=-1) / 2).cpu().numpy()
