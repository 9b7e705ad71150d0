"""Token similarity: how alike the tokens' hidden states are, layer by layer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from viz_encoder.arguments import Count, public
from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.result import ArrayResult, TableResult
from viz_encoder.trace import Trace
from viz_encoder.trace.token_selection import n_states, real_token_numbers, state_of

MAX_SIDE = 2048  # most tokens of a whole matrix; more come as means of blocks
ROUNDING = 1e-6  # below this share of its length, what is left of a state is float32 rounding


@dataclass(frozen=True, eq=False, repr=False)
class TokenSimilarity(ArrayResult, main="cosines"):
    """cosines[i, j] is the mean cosine, −1 … 1, between the tokens of block i and those of block j.

    Block i holds the tokens tokens[edges[i]] … tokens[edges[i + 1] - 1]; where each block is one
    token, this is the whole matrix, 1 on its diagonal. In larger blocks a token is not compared
    with itself. NaN where a state has no direction: a length of 0, after centering maybe.
    """

    cosines: Float[np.ndarray, "block block"]
    edges: Int[np.ndarray, " edge"]
    tokens: Int[np.ndarray, " token"]  # their numbers in the run
    state: int
    centered: bool


@dataclass(frozen=True, eq=False, repr=False)
class OverSmoothing(
    TableResult, table={"cosine": "cosine", "apart": "apart", "centered": "centered"}
):
    """Three numbers for the embeddings (0) and after each block; no units.

    cosine is the mean over all pairs of different tokens, −1 … 1; 1 = all point one way.
    apart is ‖X − mean‖ / ‖X‖, 0 … 1: the part of the states in which tokens differ at all; 0 = all
    tokens are the same (the residual of Dong et al., 2021, arXiv:2103.03404, by Frobenius norm).
    centered is the root mean square, 0 … 1, of the pairs' cosines when the mean token has been
    subtracted: 1 = all differences lie on one line. (Their mean would say nothing: centered states
    sum to 0, which holds it near −1 / (tokens − 1) in any model.)
    NaN where it is not defined, as with one token.
    """

    cosine: Float[np.ndarray, " state"]
    apart: Float[np.ndarray, " state"]
    centered: Float[np.ndarray, " state"]
    tokens: Int[np.ndarray, " token"]


@dataclass(frozen=True, eq=False, repr=False)
class BetweenRuns(ArrayResult, main="cosine"):
    """cosine[l] is the mean, −1 … 1, over pairs of tokens of different runs after l blocks."""

    cosine: Float[np.ndarray, " state"]
    n_tokens: int  # compared, of all runs together


@public
def token_similarity(
    trace: Trace,
    state: int,
    *,
    hide_special: bool = False,
    centered: bool = False,
    size: Count | None = None,
) -> TokenSimilarity:
    """Cosines between the hidden states of all real tokens after `state` blocks.

    Means of blocks are exact and need no T × T matrix: they are products of summed unit vectors.

    Args:
        trace: the run.
        state: after how many blocks, as in `trace.hidden`; 0 = embeddings.
        hide_special: whether special tokens such as [CLS] are left out.
        centered: whether the mean of these tokens is subtracted first, so that what they all share
            does not make all tokens alike.
        size: most blocks a side; each token by itself if not given.

    Raises:
        SelectionError: no such state, no token left, or a size below 1.
        TooLong: over 2,048 tokens, and no size given.
    """
    tokens = real_token_numbers(trace, hide_special=hide_special)
    if size is None and len(tokens) > MAX_SIDE:
        raise TooLong(
            f"This run has {len(tokens):,} tokens, and a whole matrix takes at most {MAX_SIDE:,}; "
            "ask for means of blocks: token_similarity(trace, state, size=512)."
        )
    hidden = state_of(trace, state, tokens)
    units = _units(hidden - hidden.mean(axis=0), hidden) if centered else _units(hidden, hidden)
    step = -(-len(tokens) // (size or len(tokens)))
    starts = np.arange(0, len(tokens), step)
    cosines = _block_means(units, starts)
    edges = np.append(starts, len(tokens))
    return TokenSimilarity(cosines, edges, tokens, state, centered)


@public
def over_smoothing(trace: Trace, *, hide_special: bool = False) -> OverSmoothing:
    """Measure how alike the tokens are in each layer, at any length, without a T × T matrix.

    A cosine near 1 alone does not prove over-smoothing: states of any two inputs may share a large
    direction (anisotropy). `between_runs` measures that; tokens are over-smoothed where `cosine`
    is well above it.

    Args:
        trace: the run.
        hide_special: whether special tokens such as [CLS] are left out.

    Raises:
        SelectionError: no token left, or the run kept no hidden states.
    """
    tokens = real_token_numbers(trace, hide_special=hide_special)
    numbers = [_layer(state_of(trace, layer, tokens)) for layer in range(n_states(trace))]
    cosine, apart, centered = np.array(numbers).T
    return OverSmoothing(cosine, apart, centered, tokens)


@public
def between_runs(traces: Sequence[Trace], *, hide_special: bool = False) -> BetweenRuns:
    """Mean cosine between tokens of different inputs, after each block: the model's anisotropy.

    It is what two unrelated tokens share in this model anyway (Ethayarajh, 2019,
    arXiv:1909.00512). Give runs of inputs that have little to do with each other. Traces know no
    weights, so that all are of the same ones is yours to see to: only sizes are compared.

    Args:
        traces: two runs of one model at least.
        hide_special: whether special tokens such as [CLS] are left out. They are alike in all
            inputs, so leave them out to compare words.

    Raises:
        SelectionError: fewer than two runs, or runs of models of different sizes.
    """
    sizes = {(n_states(trace), trace.hidden(0).shape[-1]) for trace in traces}
    if len(traces) < 2 or len(sizes) > 1:
        raise SelectionError(
            f"There are {len(traces)} runs of {len(sizes)} kinds of models; give at least two "
            "runs of one model."
        )
    kept = [real_token_numbers(trace, hide_special=hide_special) for trace in traces]
    cosine = [_between(traces, kept, layer) for layer in range(n_states(traces[0]))]
    return BetweenRuns(np.array(cosine), sum(map(len, kept)))


def _between(traces: Sequence[Trace], kept: Sequence[np.ndarray], layer: int) -> float:
    found = [_units(hidden, hidden) for hidden in map(state_of, traces, [layer] * len(kept), kept)]
    defined = [units[np.isfinite(units[:, 0])] for units in found]
    sums = np.stack([units.sum(axis=0) for units in defined])
    counts = np.array([len(units) for units in defined], dtype=float)
    pairs = counts.sum() ** 2 - (counts**2).sum()
    total = sums.sum(axis=0)
    return float((total @ total - (sums * sums).sum()) / pairs) if pairs else np.nan


def _layer(hidden: Float[np.ndarray, "token d_model"]) -> tuple[float, float, float]:
    """Mean cosine, share of the states that is not their mean, centered root mean square."""
    rest = hidden - hidden.mean(axis=0)
    length = np.linalg.norm(hidden)
    apart = float(np.linalg.norm(rest) / length) if length else np.nan
    units, turned = _units(hidden, hidden), _units(rest, hidden)
    return _mean_cosine(units), apart, _rms_cosine(turned)


def _mean_cosine(units: Float[np.ndarray, "token d_model"]) -> float:
    """Over pairs of distinct tokens: ‖Σ u‖² counts each pair twice and each token once."""
    units = units[np.isfinite(units[:, 0])]
    count, total = len(units), units.sum(axis=0)
    return float((total @ total - count) / (count * (count - 1))) if count > 1 else np.nan


def _rms_cosine(units: Float[np.ndarray, "token d_model"]) -> float:
    """The squares of all cosines sum to ‖U Uᵀ‖² = ‖Uᵀ U‖²; the smaller of the two is made."""
    units = units[np.isfinite(units[:, 0])]
    count = len(units)
    if count < 2:
        return np.nan
    inner = units.T @ units if count > units.shape[1] else units @ units.T
    squares = max(0.0, float((inner * inner).sum()) - count)
    return float(np.sqrt(squares / (count * (count - 1))))


def _units(
    rows: Float[np.ndarray, "token d_model"], of: Float[np.ndarray, "token d_model"]
) -> Float[np.ndarray, "token d_model"]:
    """Rows of length 1; NaN for a row that is nothing but the rounding of the states it is of."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    least = ROUNDING * np.linalg.norm(of, axis=1, keepdims=True)
    return np.where(lengths > least, rows / np.where(lengths > least, lengths, 1.0), np.nan)


def _block_means(
    units: Float[np.ndarray, "token d_model"], starts: Int[np.ndarray, " block"]
) -> Float[np.ndarray, "block block"]:
    """Mean cosine between the tokens of two blocks; within one, of different tokens."""
    sums = np.add.reduceat(units, starts, axis=0)
    counts = np.diff(np.append(starts, len(units))).astype(float)
    total = sums @ sums.T
    means = total / np.outer(counts, counts)
    pairs = np.where(counts > 1, counts * (counts - 1), 1.0)
    within = np.where(counts > 1, (np.diagonal(total) - counts) / pairs, np.diagonal(total))
    np.fill_diagonal(means, within)
    return np.clip(means, -1.0, 1.0).astype(np.float32)
