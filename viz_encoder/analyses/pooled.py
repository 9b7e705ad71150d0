"""Pooled: one input by every pooling at every state, and what each token put into the vector."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.model.pooling import attention_shares
from viz_encoder.result import Columns, TableResult, long_columns
from viz_encoder.trace import Trace
from viz_encoder.trace.states import States, choose_methods, left_out, states_of, unlike_declared

Queries = Mapping[int, Float[np.ndarray, " d_model"]]


@dataclass(frozen=True, eq=False, repr=False)
class PooledInput(TableResult):
    """The vectors of one input; state 0 is the embeddings, the last is the output.

    `shares[method]` says what each token put into the pooled vector p, and sums to 1 in each
    state: <part, p> / <p, p> of its additive part, which may be negative; for max, the dimensions
    in which the token is the largest, divided by d_model (the first wins a tie). It is NaN where
    p is a zero vector. A declared pooling has shares unless it takes a maximum or goes through a
    dense layer or a layer norm. The pooler adds no parts up, so it has no shares; where it looks at
    the tokens by a learned query, as SigLIP's does, `pooler_weights` holds how much each of its
    heads does: 0 at padding, each row sums to 1, and its mean over axis 1 is one row a state.
    """

    methods: tuple[str, ...]
    states: tuple[int, ...]
    tokens: tuple[str, ...]
    vectors: dict[str, Float[np.ndarray, "state d_pooled"]]  # NaN: no query for this state
    norms: Float[np.ndarray, "state method"]
    cosines: Float[np.ndarray, "state method method"]  # NaN: of other widths, or a zero vector
    shares: dict[str, Float[np.ndarray, "state token"]]
    weights: Float[np.ndarray, "state token"] | None  # for attention pooling, if requested
    left_out: dict[str, str]  # method: why this model has none
    pooler_weights: Float[np.ndarray, "state head token"] | None = (
        None  # of the pooler's learned query
    )

    def columns(self) -> Columns:
        """One line per state and method: its length, and its cosine with every method."""
        values = {"norm": self.norms}
        for at, name in enumerate(self.methods):
            values[f"cosine_{name}"] = self.cosines[..., at]
        return long_columns({"blocks": self.states, "method": self.methods}, values)


@public
def pooled(
    encoder: LoadedEncoder,
    trace: Trace,
    *,
    methods: Sequence[str] | None = None,
    states: Sequence[int] | None = None,
    queries: Queries | None = None,
) -> PooledInput:
    """Pool one run in all ways, with cosines, norms and the tokens' shares.

    The hidden states are read through the model's final norm, if it has one.
    The pooler was trained on the output alone: applied to an earlier state, it shows how near that
    state is to it.

    Args:
        encoder: the model that ran.
        trace: the run, padded or not.
        methods: names of `viz_encoder.model.pooling.METHODS`; all that this model has where not
            given.
        states: 0 = embeddings, -1 = the output; all if not given.
        queries: for "attention": state → the query learned there.

    Raises:
        SelectionError: no such state or method, or a run of another model or of other
            weights; "declared" of a run that sentence-transformers would not have read so.
    """
    unlike = unlike_declared(encoder, trace.sample, int(trace.valid.sum()))
    chosen = choose_methods(encoder, methods, ("attention",) if queries else (), unlike)
    found, at = states_of(encoder, trace, states)
    learned = {state: torch.tensor(query) for state, query in (queries or {}).items()}
    each = [_state(found, place, chosen, learned.get(state)) for place, state in enumerate(at)]
    vectors = {name: _rows([vectors[name] for vectors, _ in each]) for name in chosen}
    adding = [name for name in chosen if name in each[0][1]]
    weights = None
    if "attention" in chosen:
        weights = _rows([_weights(found, place, learned.get(x)) for place, x in enumerate(at)])
    pooler_weights = None
    if "pooler" in chosen and found.has_query:
        each_state = [found.attention_weights(place)[0].cpu() for place in range(len(at))]
        pooler_weights = _rows(each_state)
    return PooledInput(
        methods=chosen,
        states=at,
        tokens=trace.tokens,
        vectors=vectors,
        norms=np.stack([np.linalg.norm(vectors[name], axis=1) for name in chosen], axis=1),
        cosines=np.stack([_cosines([vectors[n][i] for n in chosen]) for i in range(len(at))]),
        shares={name: _rows([shares[name] for _, shares in each]) for name in adding},
        weights=weights,
        left_out=left_out(encoder, unlike),
        pooler_weights=pooler_weights,
    )


ByMethod = dict[str, Float[Tensor, " _"]]


def _state(
    states: States, place: int, methods: Sequence[str], query: Tensor | None
) -> tuple[ByMethod, ByMethod]:
    """Each method's vector and shares at one state; both NaN without a query."""
    vectors, shares = {}, {}
    n_tokens, d_model = states.first.shape[1:]
    for method in methods:
        if method == "attention" and query is None:
            vectors[method] = torch.full((d_model,), torch.nan)
            shares[method] = torch.full((n_tokens,), torch.nan)
            continue
        vectors[method] = states.pooled(method, place, query=query)[0].cpu()
        if method == "max":
            shares[method] = _wins(states, place)
        elif states.adds(method):
            parts = states.parts(method, place, query)
            total = parts.sum(dim=0)
            shares[method] = (parts @ total / (total @ total)).float()
    return vectors, shares


def _wins(states: States, place: int) -> Float[Tensor, " token"]:
    """In how much of d_model each token is the largest; argmax names the first of equals."""
    real = torch.where(states.valid[..., None], states.after[place], -torch.inf)[0]
    largest = real == real.amax(dim=0)
    winners = largest.int().argmax(dim=0)
    return (winners.bincount(minlength=len(real)) / real.shape[1]).cpu()


def _weights(states: States, place: int, query: Tensor | None) -> Float[Tensor, " token"]:
    if query is None:
        return torch.full(states.valid.shape[1:], torch.nan)
    return attention_shares(states.after[place], states.valid, query)[0].float().cpu()


def _rows(each: list[Tensor]) -> Float[np.ndarray, "state *_"]:
    return torch.stack(each).numpy()


def _cosines(vectors: list[Float[np.ndarray, " _"]]) -> Float[np.ndarray, "method method"]:
    """Cosine of every two methods; NaN where widths differ or a vector is zero."""
    found = np.full((len(vectors), len(vectors)), np.nan, np.float32)
    norms = [float(np.linalg.norm(vector.astype(np.float64))) for vector in vectors]
    for i, a in enumerate(vectors):
        for j, b in enumerate(vectors):
            if a.shape == b.shape and norms[i] > 0 and norms[j] > 0:
                found[i, j] = a.astype(np.float64) @ b.astype(np.float64) / (norms[i] * norms[j])
    return found
