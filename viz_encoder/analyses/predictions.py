"""Predictions: what a model's head says of a run, after the last layer or after any other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import Count, Token, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import HeadConfig, Task
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult, Columns, SeriesResult
from viz_encoder.trace import Trace
from viz_encoder.trace.prediction_heads import choose_head, head_input, likelihoods, masked_tokens
from viz_encoder.trace.prediction_heads import tasks as tasks
from viz_encoder.trace.same_model import require_heads_of
from viz_encoder.trace.token_selection import real_token


@dataclass(frozen=True, eq=False, repr=False)
class Guess(ArrayResult, main="shares"):
    """The most likely labels at one token, or of the whole input; unit says what `shares` are."""

    token: int | None  # its number; None: of the whole input
    labels: tuple[str, ...]
    shares: Float[np.ndarray, " label"]
    unit: str  # "probability", or "score" of a head with one output that is no yes or no

    def columns(self) -> Columns:
        """One line per label, the most likely first."""
        n_labels = len(self.labels)
        return {
            "token": [self.token] * n_labels,
            "rank": list(range(n_labels)),
            "label": list(self.labels),
            self.unit: self.shares.tolist(),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(SeriesResult[Guess], items="guesses"):
    """A guess for each token that the head was asked about, or one of the whole input."""

    guesses: tuple[Guess, ...]

    def columns(self) -> Columns:
        """One line per token and label, the most likely first."""
        each = [guess.columns() for guess in self.guesses]
        names = each[0] if each else ("token", "rank", "label", "probability")
        return {name: [value for one in each for value in one[name]] for name in names}


@public
def predictions(
    encoder: LoadedEncoder,
    trace: Trace,
    *,
    task: Task | str = "",
    state: int | None = None,
    tokens: Sequence[Token] | None = None,
    n: Count = 10,
) -> Predictions:
    """Apply a prediction head to the output or to an earlier hidden state.

    A head was trained on the output alone: applied after fewer blocks (the "logit lens",
    nostalgebraist, 2020) it shows how near those hidden states are to the answer.

    Args:
        encoder: the model that ran; its prediction head is used.
        trace: the run.
        task: which head, if there are several; the first if not given.
        state: after how many blocks, as in `trace.hidden`; the output if not given. The final
            norm is applied first if the model has one.
        tokens: at which tokens; each [MASK] for a masked-token head if not given, and every
            real token for other heads that answer for each token.
        n: how many labels at most.

    Raises:
        SelectionError: no such head, state or token, padding, no tokens, or a trace of another
            model or of other weights.
    """
    if tokens is not None and not len(tokens):
        raise SelectionError("tokens is empty; give the tokens to read.")
    head = choose_head(encoder, task)
    require_heads_of(encoder, trace)
    hidden = head_input(encoder, trace, state)
    with torch.inference_mode():
        valid = trace.valid.to(hidden.device)
        logits = encoder.model.heads[str(head.task)](hidden[None], valid[None])[0].float().cpu()
    if logits.ndim == 1:
        return Predictions((_guess(None, logits, head, encoder, n),))
    places = (
        _places(head, trace) if tokens is None else [real_token(trace, token) for token in tokens]
    )
    found = (_guess(place, logits[place], head, encoder, n) for place in places)
    return Predictions(tuple(found))


def _places(head: HeadConfig, trace: Trace) -> list[int]:
    if head.task is Task.MASKED:
        return masked_tokens(trace.tokens)
    return [i for i, real in enumerate(trace.valid.tolist()) if real]


def _guess(
    token: int | None,
    logits: Float[Tensor, " label"],
    head: HeadConfig,
    of: LoadedEncoder,
    n: int,
) -> Guess:
    shares, unit = likelihoods(head, logits)
    best = shares.topk(min(n, len(shares)))
    labels = tuple(of.output_name(head, i) for i in best.indices.tolist())
    return Guess(token, labels, best.values.numpy(), unit)
