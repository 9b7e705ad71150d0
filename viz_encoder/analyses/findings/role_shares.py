"""Role shares: how much of every head's attention goes to one kind of token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.analyses.findings.measure import summed_of
from viz_encoder.analyses.findings.reading import RunTokens, n_linked, pronouns_of, read
from viz_encoder.arguments import OneOf, public, read_index
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.head_statistics import ROLES as OF_CORPORA
from viz_encoder.trace.head_statistics import STATISTICS as OF_ONE_TEXT
from viz_encoder.trace.query_sums import Amount, QuerySums, SummedQueries
from viz_encoder.trace.row_walk import head_walks

STATISTICS = OF_ONE_TEXT | OF_CORPORA
BY_OFFSET = {"previous": -1, "same": 0, "next": 1}


def amount_of(role: str, offset: int, sums: QuerySums) -> Amount:
    """A role's total weight in each head, and over how many queries."""
    return sums.at(offset) if role == "offset" else STATISTICS[role].made_of(sums)


ROLES = (
    *("previous", "next", "same", "offset", "first", "delimiter", "sink", "punctuation"),
    *("across", "a_to_b", "b_to_a", "pronoun"),
)
RoleName = Annotated[str, OneOf(ROLES)]


@dataclass(frozen=True, eq=False, repr=False)
class RoleShares(ArrayResult, main="shares", table={"share": "shares"}):
    """Every head's share, 0 … 1; NaN in cross-attention, and where it is a mean over no query.

    shares: of the weight of the queries that have such a key; of "pronoun", of the pronouns.
    n_queries: how many queries, or pronouns, each share is a mean over.
    """

    shares: Float[np.ndarray, "layer head"]
    layers: tuple[int, ...]
    role: str
    offset: int
    n_queries: int


@public
def role_shares(
    trace: Trace,
    role: RoleName,
    *,
    offset: int = 0,
    layers: Sequence[int] | None = None,
) -> RoleShares:
    """Share of every head's attention on one kind of token (after Clark et al., 2019).

    A mean over the real queries that have such a key: "previous", "next", "same" (the query
    itself), "offset" (the token `offset` places later, negative = earlier), "across" (from words of
    one text of a pair to words of the other), "a_to_b" and "b_to_a" (the same in one direction;
    special tokens and punctuation do not count as words, and where one of the texts has no words,
    no query counts). A mean over all real queries: "first", "delimiter" (special tokens except the
    first), "sink" (the first and all special tokens), "punctuation"; 0 where the text has none.

    "pronoun" is the share of the text's pronouns whose largest weight is on an earlier content
    word and is at least twice what the average query gives that word. Pronouns are he, she, it,
    they and their forms (`findings/reading.py` lists them, and the function words that do not
    count). It is a rule about weights, not coreference resolution: it ignores gender, number and
    syntax, works for English only, and a head that passes may have linked the wrong word.
    (arXiv:1906.04341 measures coreference heads against annotated data.)

    Args:
        trace: the run.
        role: one of the names above.
        offset: for "offset", how many places after the query the key is; negative = before.
        layers: which layers; all if not given.

    Raises:
        SelectionError: no such role, layer or offset.
    """
    chosen = tuple(range(trace.n_layers) if layers is None else layers)
    offset = BY_OFFSET.get(role, offset if role == "offset" else 0)
    _check(trace, offset, chosen)
    reading = read(trace)
    pronouns = pronouns_of(reading, trace.sample) if role == "pronoun" else None
    if pronouns is None:
        none = SummedQueries(reading.kinds, 1, trace.n_tokens, abs(offset)).sums()
        n_queries = int(amount_of(role, offset, none)[1])
    else:
        n_queries = len(pronouns)
    most = max(layer.n_heads for layer in trace.layers)
    shares = np.full((len(chosen), most), np.nan, dtype=np.float32)
    for place, number in enumerate(chosen):
        layer = trace.layers[number]
        if layer.cross or layer.k.shape[1] != trace.n_tokens or not n_queries:
            continue
        summed = summed_of(layer, reading, abs(offset))
        for walk in head_walks(layer, abs(offset)):
            summed.add_all(walk)
        sums = summed.sums()
        if pronouns is None:
            total = amount_of(role, offset, sums)[0].cpu()
        else:
            total = _linked(layer, sums, reading, pronouns)
        shares[place, : layer.n_heads] = (total / n_queries).tolist()
    return RoleShares(shares, chosen, role, offset, n_queries)


def _linked(
    layer: LayerTrace, sums: QuerySums, reading: RunTokens, pronouns: list[int]
) -> Int[Tensor, " head"]:
    means = sums.by_key[:, 0] / sums.n_real[0]
    return torch.tensor(
        [n_linked(layer, head, means[head], reading, pronouns) for head in range(layer.n_heads)]
    )


def _check(trace: Trace, offset: int, layers: tuple[int, ...]) -> None:
    for number in layers:
        read_index("layer", number, trace.n_layers)
    if not layers:
        raise SelectionError("layers is empty; give the layers to read, or leave it out for all.")
    far = trace.n_tokens - 1
    if offset and not far:
        raise SelectionError(
            f"This run has one token, so none is {abs(offset)} away; choose the offset 0."
        )
    if abs(offset) > far:
        raise SelectionError(
            f"No two tokens are {abs(offset)} places apart; choose an offset from −{far} to {far}."
        )
