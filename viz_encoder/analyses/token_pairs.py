"""Token pairs: the cosine of two pooled texts as an exact sum, a part for every pair of tokens."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from viz_encoder.arguments import Most, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import SelectionError, TooLong
from viz_encoder.model.pooling import METHODS
from viz_encoder.result import ArrayResult
from viz_encoder.shown import OneLine, quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.states import States, choose_states, states_of, unlike_declared
from viz_encoder.trace.token_selection import shown_tokens

MAX_PAIRS = 2**24  # 128 MiB of parts
SMALL = 0.1  # a part below it has too few digits with two decimals
SUMS = ("mean", "cls", "last", "cls_mean", "first_last", "received", "declared")  # add tokens up
OF_THE_MODEL = ("first_last", "declared")  # read more than the one hidden state
WHY_NOT = {
    "max": "max takes each number from one token, so its cosine is not a sum over pairs of tokens",
    "pooler": "the model's own pooler is not linear, so its cosine is not a sum over token pairs",
    "attention": "attention pooling needs a query that was learned for this model and state",
}
DENSE = (
    "The model's own pooling takes a maximum or goes through a dense layer, so its cosine is not a "
    "sum over pairs of tokens; choose mean."
)


@dataclass(frozen=True, repr=False)
class PairPart(OneLine):
    """One word of each text, and their tokens' contribution to the cosine."""

    one: str
    other: str
    part: float


@dataclass(frozen=True, repr=False)
class Match(OneLine):
    """A token of the first text, the token of the second nearest to it, and their cosine."""

    token: int
    nearest: int
    cosine: float


@dataclass(frozen=True, eq=False, repr=False)
class TokenPairs(ArrayResult, main="parts", table={"part": "parts"}):
    """parts[i, j] is what token i of the first text and token j of the second add to the cosine.

    Their sum is the cosine of the two pooled vectors, −1 … 1; single parts may be negative. They
    are parts of output vectors, into which a model has mixed every word of its text: a large part
    says that two outputs point the same way, not that two words mean the same. Padding has 0.
    """

    parts: Float[np.ndarray, "token other"]  # no unit; float64
    cosine: float
    method: str
    state: int
    trace: Trace
    other: Trace
    matches: tuple[Match, ...]  # for MaxSim, without special tokens and padding

    @property
    def special_part(self) -> float:
        """Contribution of pairs with a special token such as [CLS]; the rest is pairs of words."""
        one, other = _content(self.trace), _content(self.other)
        return float(self.parts.sum() - self.parts[one][:, other].sum())

    @property
    def maxsim(self) -> float:
        """The mean over `matches` of their cosines, −1 … 1; NaN if there are none.

        ColBERT's score (Khattab & Zaharia, 2020, arXiv:2004.12832) is their sum, over vectors
        trained for it; here they are the model's own hidden states.
        """
        return float(np.mean([each.cosine for each in self.matches])) if self.matches else np.nan

    @public
    def top(self, k: Most = 5) -> tuple[PairPart, ...]:
        """The k pairs of words that add most; sub-words are added up, special tokens left out."""
        (names, one), (others, two) = _words(self.trace), _words(self.other)
        sums = one @ self.parts @ two.T
        order = np.argsort(-sums, axis=None, kind="stable")[:k]
        rows, columns = np.unravel_index(order, sums.shape)
        return tuple(
            PairPart(names[i], others[j], float(sums[i, j]))
            for i, j in zip(rows, columns, strict=True)
            if sums[i, j] != 0
        )

    @property
    def sentence(self) -> str:
        """The cosine, how much of it is of special tokens, and the largest pairs of words."""
        named = {
            run.tokens[at]: None
            for run in (self.trace, self.other)
            for at in (run.valid.cpu().numpy() & ~_content(run)).nonzero()[0]
        }
        top = self.top(3)
        parts = [each.part for each in top] + ([self.special_part] if named else [])
        digits = 3 if any(abs(part) < SMALL for part in parts) else 2
        said = f"Cosine {_said(self.cosine, digits)}"
        if named:
            special = _said(self.special_part, digits)
            said += f": {special} of it comes from pairs with {_or(list(named))}"
        words = [
            f"{quoted(each.one)}–{quoted(each.other)} {_said(each.part, digits)}" for each in top
        ]
        if not words:
            return f"{said}; the vectors hold no other tokens."
        return f"{said}{';' if named else ':'} the largest word pairs are {', '.join(words)}."


@public
def token_pairs(
    trace: Trace,
    other: Trace,
    method: str = "mean",
    *,
    state: int = -1,
    encoder: LoadedEncoder | None = None,
) -> TokenPairs:
    """Split the cosine of two texts into pairs of tokens, for a pooling that sums tokens.

    A pooled vector is a sum p = Σ pᵢ over its tokens, so the cosine is Σᵢⱼ ⟨pᵢ, qⱼ⟩ / (‖p‖ ‖q‖),
    exactly; normalizing changes nothing. It says nothing of input words; see `TokenPairs`. Without
    the encoder, models are told apart by name and size only; with it, by weights.

    Args:
        trace: the run of one text, or picture.
        other: that of another, of the same model.
        method: "mean", "cls", "last", "cls_mean", "received"; with the encoder also "first_last"
            and "declared", where the model's own pooling adds up tokens.
        state: 0 = embeddings, -1 = the output.
        encoder: the model that ran; needed for earlier states of a model with a final norm, through
            which all are read.

    Raises:
        SelectionError: no such method or state, a method that does not add up tokens, runs of two
            models, or a vector of zeros.
        TooLong: more than MAX_PAIRS pairs.
    """
    _check(trace, other, method, encoder)
    both = [_states(run, state, method, encoder) for run in (trace, other)]
    one, two = (states.parts(method, 0).numpy() for states in both)
    length = np.linalg.norm(one.sum(axis=0)) * np.linalg.norm(two.sum(axis=0))
    if not np.isfinite(length) or length == 0:
        raise SelectionError(
            "A pooled vector has no direction (it is all zeros or has NaN), so it has no cosine."
        )
    parts = one @ two.T / length
    after = both[0].layers[0]
    matches = _matches(trace, other, *(states.after[0][0] for states in both))
    return TokenPairs(parts, float(parts.sum()), method, after, trace, other, matches)


def not_a_sum(method: str, encoder: LoadedEncoder | None = None) -> str:
    """Why a pooling's cosine is no sum over pairs of tokens, a plain sentence; "" where it is."""
    if method in WHY_NOT:
        return (
            f"The pooling {method} cannot be split into token pairs: {WHY_NOT[method]}; choose "
            "mean."
        )
    declared = encoder.declared if encoder is not None and method == "declared" else None
    if declared is None or declared.problem or declared.additive:
        return ""
    return DENSE


def _check(trace: Trace, other: Trace, method: str, encoder: LoadedEncoder | None) -> None:
    if method not in METHODS:
        raise SelectionError(f"There is no pooling {method!r}; choose one of {', '.join(SUMS)}.")
    if why := not_a_sum(method, encoder):
        raise SelectionError(why)
    if method in OF_THE_MODEL and encoder is None:
        raise SelectionError(f"The pooling {method!r} needs the model that ran: encoder=encoder.")
    names = trace.origin.model, other.origin.model
    if names[0] != names[1] or trace.output.shape[-1] != other.output.shape[-1]:
        raise SelectionError(
            f"The runs are of {names[0] or 'a model'} and {names[1] or 'another'}; vectors of "
            "different models cannot be compared. Run both texts with one model."
        )
    if trace.n_tokens * other.n_tokens > MAX_PAIRS:
        raise TooLong(
            f"The texts have {trace.n_tokens:,} and {other.n_tokens:,} tokens; at most "
            f"{MAX_PAIRS:,} pairs are computed. Choose shorter texts."
        )


def _states(run: Trace, state: int, method: str, encoder: LoadedEncoder | None) -> States:
    """The hidden states of one run after some blocks, as its pooling reads them."""
    if encoder is not None:
        states = states_of(encoder, run, [state])[0]
        if method == "declared":
            _require_declared(encoder, run)
        return states
    (at,) = choose_states([state], run.n_layers)
    if at == run.n_layers:
        after = run.output
    elif torch.equal(run.hidden(run.n_layers), run.output):
        after = run.hidden(at)
    else:
        raise SelectionError(
            "This model has a final norm, through which earlier states are read; give the model "
            "that ran: encoder=encoder."
        )
    batch, n_prefix = after[None], run.grid.n_prefix if run.grid else 1
    valid = run.valid[None].to(after.device)
    return States(
        *((at,), (batch,), batch, valid, n_prefix),
        n_prompt=run.sample.n_prompt,
        ran=(run.layers,),
    )


def _require_declared(encoder: LoadedEncoder, run: Trace) -> None:
    if encoder.declared is None:
        raise SelectionError(f"{encoder.card.name} declares no pooling; choose mean.")
    unlike = unlike_declared(encoder, run.sample, int(run.valid.sum()))
    if why := encoder.declared.problem or unlike:
        raise SelectionError(why)


def _matches(
    trace: Trace,
    other: Trace,
    one: Float[torch.Tensor, "token_a d_model"],
    two: Float[torch.Tensor, "token_b d_model"],
) -> tuple[Match, ...]:
    """For each content token of the first text, the nearest of the second."""
    ours, theirs = (np.flatnonzero(_content(run)) for run in (trace, other))
    if not len(ours) or not len(theirs):
        return ()
    a, b = (_directions(state, at) for state, at in ((one, ours), (two, theirs)))
    cosines = a @ b.T
    best = cosines.argmax(axis=1)
    return tuple(
        Match(int(at), int(theirs[j]), float(cosines[i, j]))
        for i, (at, j) in enumerate(zip(ours, best, strict=True))
    )


def _directions(
    states: Float[torch.Tensor, "token d_model"], at: Int[np.ndarray, " kept"]
) -> Float[np.ndarray, "kept d_model"]:
    kept = states.cpu().double().numpy()[at]
    return kept / np.maximum(np.linalg.norm(kept, axis=1, keepdims=True), 1e-30)


def _content(run: Trace) -> Bool[np.ndarray, " token"]:
    """Real tokens that are of the text: no special tokens, no padding."""
    return run.valid.cpu().numpy() & ~np.array(run.sample.special, bool)


def _words(run: Trace) -> tuple[list[str], Float[np.ndarray, "word token"]]:
    """The words of the text as they were typed, and which tokens are of each, as ones."""
    content, sample = _content(run), run.sample
    groups = [
        group for group in shown_tokens(run, hide_special=True, words=True) if content[group[0]]
    ]
    of, names = np.zeros((len(groups), run.n_tokens)), []
    for word, group in enumerate(groups):
        of[word, list(group)] = 1
        name = ""
        if sample.spans and sample.texts:
            text = sample.texts[sample.segment_of(group[0])]
            name = text[sample.spans[group[0]][0] : sample.spans[group[-1]][1]].strip()
        names.append(name or sample.tokens[group[0]])
    return names, of


def _or(names: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _said(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−")
