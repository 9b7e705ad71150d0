"""Selects tokens of a run, by index or name: their hidden states, or those a sweep covers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.arguments import Token, read_index, read_token
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.shown import after_blocks
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.trace import Trace


def real_token_numbers(trace: Trace, *, hide_special: bool = False) -> Int[np.ndarray, " token"]:
    """Indices of the real tokens, in order, without padding.

    Args:
        trace: the run.
        hide_special: whether to leave out special tokens such as [CLS].

    Raises:
        SelectionError: no token is left.
    """
    kept = [
        at
        for at, real in enumerate(trace.valid.tolist())
        if real and not (hide_special and trace.sample.special[at])
    ]
    if not kept:
        none = "tokens but special ones; keep them with hide_special=False"
        what = none if hide_special else "real tokens"
        raise SelectionError(f"This run has no {what}.")
    return np.array(kept)


def shown_tokens(
    trace: Trace, *, hide_special: bool = False, words: bool = False
) -> list[tuple[int, ...]]:
    """Shown tokens in order: one per entry, or one word's subwords together.

    Args:
        trace: the run.
        hide_special: whether to leave out special tokens such as [CLS].
        words: whether to merge the subwords of a word. Special tokens stay single, and so do all
            tokens of a run recorded without words.
    """
    sample, shown = trace.sample, list[tuple[int, ...]]()
    word_of = sample.words or (None,) * trace.n_tokens
    segment_of = sample.segments or (0,) * trace.n_tokens
    before = None
    for at, is_special in enumerate(sample.special):
        known = words and not is_special and word_of[at] is not None
        word = (segment_of[at], word_of[at]) if known else None
        if word is not None and word == before:
            shown[-1] += (at,)
        elif not (hide_special and is_special):
            shown.append((at,))
        before = word
    return shown


def place_of(units: list[tuple[int, ...]], token: int, trace: Trace, what: str = "token") -> int:
    """Index of a token among the shown ones.

    Raises:
        SelectionError: there is no such token, or it is a hidden special token.
    """
    found = next((place for place, unit in enumerate(units) if token in unit), None)
    if found is not None:
        return found
    read_index(what, token, trace.n_tokens)
    raise SelectionError(
        f"{what.capitalize()} {token} is a special token, and special tokens are hidden; "
        "show them first, or choose another."
    )


def query_of(trace: Trace, query: Token, what: str = "query") -> int:
    """Index of a query token, given by index or name; padding is allowed.

    Raises:
        SelectionError: there is no such token, or several have that name.
    """
    return read_token(query, trace.tokens, what)


def key_of(trace: Trace, key: Token, layer: int) -> int:
    """Index of a layer's key, given by index or name; in cross-attention, in the other sequence.

    Raises:
        SelectionError: there is no such key, or several have that name.
    """
    return read_token(key, key_names(trace, layer), "key")


def real_token(trace: Trace, token: Token) -> int:
    """Index of a real token (not padding), given by index or name.

    Raises:
        SelectionError: there is no such token, several have that name, or it is padding.
    """
    return read_token(token, trace.tokens, valid=trace.valid)


def key_names(trace: Trace, layer: int) -> Sequence[str]:
    """Names of a layer's keys; numbers if they are unknown."""
    ran = trace.layers[layer]
    named, n_keys = trace.key_tokens if ran.cross else trace.tokens, ran.k.shape[1]
    return named if len(named) == n_keys else [str(at) for at in range(n_keys)]


def n_states(trace: Trace) -> int:
    """Number of hidden states: the embeddings, and one after each block.

    Raises:
        SelectionError: the run kept none.
    """
    trace.hidden(0)
    return len(trace.hidden_states)


def state_of(
    trace: Trace, state: int, tokens: Int[np.ndarray, " token"]
) -> Float[np.ndarray, "token d_model"]:
    """Hidden states of some tokens after `state` blocks, as float64 on the CPU.

    Raises:
        SelectionError: there is no such state, or the run kept no hidden states.
        TraceError: they hold NaN or infinite values.
    """
    hidden = trace.hidden(state).cpu()[torch.from_numpy(tokens)].double().numpy()
    if not np.isfinite(hidden).all():
        raise TraceError(
            f"The hidden states {after_blocks(state)} hold NaN or infinite values; "
            "run the model in float32."
        )
    return hidden


@dataclass(frozen=True, eq=False)
class KeptTokens:
    """Tokens along both sides of a layer's maps, by index; None: all of them."""

    queries: Int[Tensor, " query"] | None
    keys: Int[Tensor, " key"] | None
    positions: Float[Tensor, " query"]  # indices of the queries
    real: Float[Tensor, "#head query"]  # 1 for a real token, 0 for padding
    owners: Int[Tensor, " query"] | None  # word of each token, where words are merged

    def neighbors(self, shift: int) -> Float[Tensor, "#head key"]:
        """1 for a real key whose neighbor `shift` tokens before it is shown; 0 otherwise."""
        if not shift:
            return self.real
        beside, none = (self.positions.diff() == 1).float(), self.positions.new_zeros(1)
        return self.real * torch.cat([none, beside] if shift > 0 else [beside, none])

    def shares_of_mean(self) -> Float[Tensor, "#head query"] | None:
        """Weight of each real query in a mean over words; None where words are not merged."""
        if self.owners is None:
            return None
        return self.real / self.owners.bincount()[self.owners]


def kept_tokens(
    trace: Trace, layer: LayerTrace, *, hide_special: bool = False, words: bool = False
) -> KeptTokens:
    """Choose a layer's tokens to sweep; in cross-attention all keys, which are another sequence.

    Raises:
        SelectionError: no token is left.
    """
    device = layer.q.device
    groups = shown_tokens(trace, hide_special=hide_special, words=words)
    if not groups:
        raise SelectionError("Every token of this run is special; show special tokens again.")
    numbers = torch.tensor([at for group in groups for at in group], device=device)
    every = None if len(numbers) == trace.n_tokens else numbers
    sizes = torch.tensor([len(group) for group in groups], device=device)
    owners = torch.arange(len(groups), device=device).repeat_interleave(sizes) if words else None
    real = trace.valid.to(device)[numbers].float()[None]
    return KeptTokens(every, None if layer.cross else every, numbers.float(), real, owners)
