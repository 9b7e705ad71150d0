"""Predictions: what a model's head says of a run, after the last layer or read off every layer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from viz_encoder.arguments import Count, Token, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import HeadConfig, HeadPool, Task
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult, Columns, SeriesResult, long_columns
from viz_encoder.trace import Trace
from viz_encoder.trace.head_rows import row_blocks
from viz_encoder.trace.prediction_heads import choose_head, head_input, likelihoods, masked_tokens
from viz_encoder.trace.prediction_heads import tasks as tasks
from viz_encoder.trace.same_model import require_heads_of
from viz_encoder.trace.token_selection import n_states, real_token, real_token_numbers


@dataclass(frozen=True, eq=False, repr=False)
class Guess(ArrayResult, main="shares"):
    """The most likely labels at one token, or of the whole input; unit says what `shares` are."""

    token: int | None  # its number; None: of the whole input
    labels: tuple[str, ...]
    shares: Float[np.ndarray, " label"]
    unit: str  # "probability", or "score" for a regression head, which has one output

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


BLOCK_BYTES = 64 * 2**20  # scores held at once; vocabularies are large
WHOLE = -1


@dataclass(frozen=True, eq=False, repr=False)
class LogitLens(ArrayResult, main="shares"):
    """The most likely labels, and the probability of the model's answer, in every layer.

    labels[l, p, r] is the label of rank r (0 = most likely) read after l blocks at place p, with
    shares[l, p, r] in `unit` and numbers[l, p, r] among the head's outputs. finals[l, p] is the
    same of the *answer*: the most likely label of the output, which is the last row here. Places
    are tokens[p]; a head that speaks of the whole input has one place, of number -1.
    """

    labels: Shaped[np.ndarray, "state place rank"]  # text
    shares: Float[np.ndarray, "state place rank"]
    numbers: Int[np.ndarray, "state place rank"]
    finals: Float[np.ndarray, "state place"]
    tokens: Int[np.ndarray, " place"]
    unit: str  # "probability", or "score" for a regression head, which has one output
    task: Task

    def columns(self) -> Columns:
        """One line per state, place and rank; `answer` is the share of the model's final answer."""
        n_states, _, n_ranks = self.shares.shape
        axes = {"blocks": range(n_states), "token": self.tokens, "rank": range(n_ranks)}
        answers = np.repeat(self.finals[..., None], n_ranks, axis=-1)
        return long_columns(axes, {"label": self.labels, self.unit: self.shares, "answer": answers})


@public
def logit_lens(
    encoder: LoadedEncoder,
    trace: Trace,
    *,
    task: Task | str = "",
    tokens: Sequence[Token] | None = None,
    n: Count = 5,
) -> LogitLens:
    """The prediction head applied to the embeddings and to the states after each block.

    A prediction head was trained on the output alone. Applied to earlier states through the final
    norm (the "logit lens", nostalgebraist, 2020), it shows how near those are to the answer as the
    head sees it, but not what an earlier layer holds in another form. At words that are not masked,
    a masked-token head may have been trained little or not at all.

    Args:
        encoder: the model that ran; its prediction head is used.
        trace: the run.
        task: which head, if there are several; the first if not given.
        tokens: at which tokens; all real ones if not given.
        n: how many labels a place at most.

    Raises:
        SelectionError: no such head or token, padding, a trace of another model or of other
            weights, n below 1.
    """
    head = choose_head(encoder, task)
    require_heads_of(encoder, trace)
    if head.pool is not HeadPool.EACH:
        places = np.array([WHOLE])
    elif tokens is None:
        places = real_token_numbers(trace)
    else:
        places = np.array([real_token(trace, token) for token in tokens], dtype=np.int64)
    if not len(places):
        raise SelectionError("tokens is empty; give the tokens to read.")
    parts = [_read(encoder, trace, head, part, n) for part in _parts(head, places)]
    numbers, shares, finals = (np.concatenate(each, axis=1) for each in zip(*parts, strict=True))
    names = {int(n): encoder.output_name(head, int(n)) for n in np.unique(numbers)}
    labels = np.array([names[n] for n in numbers.ravel().tolist()], dtype=np.str_)
    unit = likelihoods(head, torch.zeros(1, head.n_out))[1]
    return LogitLens(
        labels.reshape(numbers.shape), shares, numbers, finals, places, unit, head.task
    )


def _read(
    encoder: LoadedEncoder,
    trace: Trace,
    head: HeadConfig,
    places: Int[np.ndarray, " place"],
    n: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    output = head_input(encoder, trace)
    answers = _scores(encoder, trace, head, output, places).argmax(dim=-1, keepdim=True)
    numbers, shares, finals = [], [], []
    for layer in range(n_states(trace)):
        state = head_input(encoder, trace, layer)
        likely = likelihoods(head, _scores(encoder, trace, head, state, places))[0]
        best = likely.topk(min(n, likely.shape[-1]))
        numbers.append(best.indices.cpu().numpy())
        shares.append(best.values.cpu().numpy())
        finals.append(likely.gather(-1, answers)[:, 0].cpu().numpy())
    return np.stack(numbers), np.stack(shares), np.stack(finals)


def _parts(head: HeadConfig, places: np.ndarray) -> list[np.ndarray]:
    return [places[part] for part in row_blocks(len(places), max(1, head.n_out), BLOCK_BYTES)]


def _scores(
    encoder: LoadedEncoder,
    trace: Trace,
    head: HeadConfig,
    hidden: Float[Tensor, "token d_model"],
    places: Int[np.ndarray, " place"],
) -> Float[Tensor, "place label"]:
    """The head's scores, in float32: of some places, or of the whole input."""
    speak = encoder.model.heads[str(head.task)]
    with torch.inference_mode():
        if head.pool is HeadPool.EACH:
            picked: Tensor = speak(hidden[None, torch.from_numpy(places).to(hidden.device)])[0]
            return picked.float()
        whole: Tensor = speak(hidden[None], trace.valid.to(hidden.device)[None])
        return whole.float()
