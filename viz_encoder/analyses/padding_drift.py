"""Padding drift: how far padding moves a pooled vector, with the mask and when it is forgotten."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import Inputs, TextReader
from viz_encoder.result import Columns, TableResult
from viz_encoder.shown import OneLine
from viz_encoder.trace.capture import run
from viz_encoder.trace.states import (
    States,
    choose_methods,
    choose_states,
    states_of_batch,
    unlike_declared,
)

NAN = float("nan")
CASES = {  # name: what is done in the padded batch
    "masked": "The encoder and the pooling both get the mask: nothing should change.",
    "zeroed": "Hidden states of padding are set to zero, then pooled like those of real tokens.",
    "unmasked": "The encoder gets the mask, the pooling does not: padding is pooled as tokens.",
    "attended": "The pooling gets the mask, the encoder does not: real tokens attend to padding.",
    "neither": "Neither gets the mask.",
}


@dataclass(frozen=True, repr=False)
class Drift(OneLine):
    """How far a method's vector moved in one case from that of the unpadded text."""

    method: str
    case: str
    largest: float  # largest difference in any dimension, in the hidden states' own unit
    relative: float  # length of the difference ÷ length of the vector alone
    cosine: float  # 1 − cosine with the vector alone; NaN where one of them is zero
    why: str


@dataclass(frozen=True, eq=False, repr=False)
class PaddingDrift(TableResult):
    """Every method in every case, in the order of the methods and CASES."""

    state: int
    n_tokens: int  # real ones, of the text
    n_padding: int  # added, and typed in the text
    rows: tuple[Drift, ...]
    vectors: dict[tuple[str, str], Float[np.ndarray, " d_pooled"]]  # (method, case)
    alone: dict[str, Float[np.ndarray, " d_pooled"]]

    @public
    def row(self, method: str, case: str) -> Drift:
        """Look up one row."""
        for row in self.rows:
            if (row.method, row.case) == (method, case):
                return row
        raise SelectionError(f"There is no row for {method!r} in the case {case!r}; see rows.")

    def columns(self) -> Columns:
        """One line per method and case."""
        names = [field.name for field in fields(Drift)]
        return {name: [getattr(row, name) for row in self.rows] for name in names}


@public
def padding_drift(
    encoder: LoadedEncoder,
    text: str | tuple[str, str],
    *,
    n_padding: int = 16,
    state: int = -1,
    methods: Sequence[str] | None = None,
    query: Float[np.ndarray, " d_model"] | None = None,
) -> PaddingDrift:
    """Pool a text alone, and again with padding behind it, as in a batch with a longer text.

    Args:
        encoder: a model of texts.
        text: what is pooled, or a pair of texts.
        n_padding: how many padding tokens are added, besides those in the text.
        state: 0 = embeddings, -1 = the output.
        methods: all that this model has if not given.
        query: for "attention", the query learned at this state.

    Raises:
        InputError: a model of pictures, whose batches have no padding; a text that leaves no room
            for the padding, or no padding at all.
        SelectionError: no such state or method.
    """
    single = _single(encoder, text)
    extra = ("attention",) if query is not None else ()
    unlike = unlike_declared(encoder, single.samples[0], int(single.valid.sum()))
    chosen = choose_methods(encoder, methods, extra, unlike)
    at = choose_states([state], encoder.config.n_layers)
    learned = None if query is None else torch.tensor(query)
    padded = _padded(encoder, single, n_padding)
    n_tokens = int(single.valid.sum())
    n_padding = padded.valid.shape[1] - n_tokens  # with what was typed
    last = int(single.valid[0].nonzero()[-1])
    before, masked, attended = (
        states_of_batch(encoder, run(encoder, each), each.valid, at, chosen)
        for each in (single, padded, replace(padded, padded=False))
    )
    everything = torch.ones_like(padded.valid)
    cases = {
        "masked": masked,
        "zeroed": replace(_zeroed(masked), valid=everything.to(masked.valid.device)),
        "unmasked": replace(masked, valid=everything.to(masked.valid.device)),
        "attended": attended,
        "neither": replace(attended, valid=everything.to(attended.valid.device)),
    }
    alone = {name: _vector(before, name, learned) for name in chosen}
    vectors = {
        (name, case): _vector(cases[case], name, learned) for name in chosen for case in CASES
    }
    rows = [
        _drift(name, case, alone[name], vector, n_tokens, n_padding, last)
        for (name, case), vector in vectors.items()
    ]
    return PaddingDrift(at[0], n_tokens, n_padding, tuple(rows), vectors, alone)


def _single(encoder: LoadedEncoder, text: str | tuple[str, str]) -> Inputs:
    if not isinstance(encoder.reader, TextReader):
        raise InputError(
            f"{encoder.card.name} reads no texts; the pictures in a batch have one size and "
            "need no padding."
        )
    return encoder.read(text)


def _padded(encoder: LoadedEncoder, single: Inputs, n_padding: int) -> Inputs:
    assert isinstance(encoder.reader, TextReader)
    n_tokens, most = single.valid.shape[1], encoder.reader.max_tokens
    if not 1 <= n_padding <= most - n_tokens:
        raise InputError(
            f"{n_padding} padding tokens do not fit: the text has {n_tokens} tokens and this model "
            f"reads {most}, so there is room for {most - n_tokens}."
        )

    def behind(values: Tensor, filling: int) -> Tensor:
        return torch.nn.functional.pad(values, (0, n_padding), value=filling)

    segments = None if single.segments is None else behind(single.segments, 0)
    valid = behind(single.valid, False)
    ids = behind(single.values, encoder.reader.pad_id)
    return Inputs(ids, valid, single.samples, segments, padded=True)


def _zeroed(states: States) -> States:
    real = states.valid[..., None]
    after = tuple(torch.where(real, state, 0) for state in states.after)
    return replace(states, after=after, first=torch.where(real, states.first, 0))


def _vector(states: States, method: str, query: Tensor | None) -> Float[np.ndarray, " d_pooled"]:
    return states.pooled(method, 0, query=query)[0].cpu().numpy()


def _drift(
    method: str,
    case: str,
    alone: Float[np.ndarray, " d_pooled"],
    vector: Float[np.ndarray, " d_pooled"],
    *places: int,
) -> Drift:
    """places: how many tokens, how many of padding, and the last of the tokens."""
    a, b = alone.astype(np.float64), vector.astype(np.float64)
    lengths = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    return Drift(
        method,
        case,
        largest=float(np.abs(a - b).max()),
        relative=float(np.linalg.norm(a - b)) / lengths[0] if lengths[0] else NAN,
        cosine=1 - float(a @ b) / (lengths[0] * lengths[1]) if all(lengths) else NAN,
        why=_why(method, case, a, b, places),
    )


def _why(
    method: str,
    case: str,
    alone: Float[np.ndarray, " d_pooled"],
    vector: Float[np.ndarray, " d_pooled"],
    places: tuple[int, ...],
) -> str:
    n_tokens, n_padding, last = places
    total = n_tokens + n_padding
    ratio = float(np.linalg.norm(vector) / np.linalg.norm(alone)) if alone.any() else NAN
    raised = int((np.abs(vector - alone) > 1e-5 * np.abs(alone).max()).sum())
    if case == "masked":
        return "Padding takes no part; what is left is float32 rounding."
    if case == "attended":
        return (
            f"The real tokens attended to {n_padding} padding tokens, so their own hidden states "
            "changed before any pooling."
        )
    too = " The encoder attended to padding too." if case == "neither" else ""
    if method == "declared":
        return (
            "The model's own pooling; the row of the method it uses, such as mean, says why." + too
        )
    if method == "pooler" or (method == "cls" and case != "neither"):
        return "It reads the first token, or what the model's own pooler reads." + too
    if method == "cls":
        return "Only because the encoder attended to padding."
    if method == "last":
        return f"Token {total - 1}, which is padding, is read instead of token {last}." + too
    if case == "zeroed" and method == "max":
        return (
            f"Zero is larger than all of the text's own values in {raised} of {len(alone)} "
            "dimensions, so the maximum is 0 there."
        )
    if case == "zeroed" and method in ("mean", "first_last"):
        return (
            f"The sum is divided by {total} instead of {n_tokens}: the vector keeps its "
            f"direction and {ratio:.0%} of its length."
        )
    if method == "max" and case == "neither":
        return (
            f"The maximum differs in {raised} of {len(alone)} dimensions: it includes padding, "
            "and the encoder attended to padding too."
        )
    if method == "max":
        return (
            f"Padding is larger than all of the text's own values in {raised} of {len(alone)} "
            "dimensions."
        )
    if method == "received":
        return f"{n_padding} of {total} tokens that look and are looked at are padding." + too
    return f"{n_padding} of {total} tokens in the mean are padding." + too
