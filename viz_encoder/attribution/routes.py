"""Routes: the graph by which a score, or a state, came from the input embeddings."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.analyses.rollout import fused_rows, idle, require_self_attention
from viz_encoder.arguments import Token, at_least, public
from viz_encoder.attribution.frozen_run import TINY
from viz_encoder.result import Columns, TableResult
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.token_selection import query_of, real_token_numbers


class Edge(NamedTuple):
    """A link from a key's state to a query's state one block up, over all heads of that block.

    head: the head that brings most in the direction of the sum, and what it brings.
    """

    layer: int
    query: int
    key: int
    share: float
    head: int
    by_head: float


@dataclass(frozen=True, eq=False, repr=False)
class Routes(TableResult):
    """Tokens across, blocks upward; every share is in the unit of the score.

    A node (n, token) is the token's hidden state after n blocks. What comes into node n + 1, by
    links, from the token's own state below (the residual stream and the feed-forward network) and
    from biases, adds up to what it holds: nodes[n + 1] = own[n] + links[n] + biases[n].

    nodes: the share of the score that sat in each state.
    own: what came from the token's own state one block below.
    links: what came by links, those too weak to be listed included.
    biases: what biases added after the heads; those of queries, keys and values are in the links.
    edges: the links that are strong enough, block by block.
    names: of the tokens.
    """

    nodes: Float[np.ndarray, "state token"]
    own: Float[np.ndarray, "layer token"]
    links: Float[np.ndarray, "layer token"]
    biases: Float[np.ndarray, "layer token"]
    edges: tuple[Edge, ...]
    names: tuple[str, ...]
    unit: str

    def groups(self, most: int) -> tuple[tuple[int, ...], ...]:
        """At most so many columns of tokens: those that hold most in some row stand alone.

        The last one is all others together, where there are more tokens than columns.
        """
        n_tokens = len(self.names)
        if n_tokens <= most:
            return tuple((at,) for at in range(n_tokens))
        held = abs(self.nodes).max(axis=0)
        kept = sorted(np.argsort(-held, kind="stable")[: most - 1].tolist())
        return *((at,) for at in kept), tuple(sorted(set(range(n_tokens)) - set(kept)))

    def folded(self, groups: tuple[tuple[int, ...], ...]) -> Float[np.ndarray, "state column"]:
        """The nodes of these columns: what all their tokens hold together."""
        return np.stack([self.nodes[:, tokens].sum(axis=1) for tokens in groups], axis=1)

    def between(self, groups: tuple[tuple[int, ...], ...]) -> list[Edge]:
        """Edges from one column to another, the strongest first."""
        place = {token: at for at, tokens in enumerate(groups) for token in tokens}
        moved = [edge for edge in self.edges if place[edge.query] != place[edge.key]]
        return sorted(moved, key=lambda edge: -abs(edge.share))

    def columns(self) -> Columns:
        """One line an edge."""
        fields = ("layer", "query", "key", "share", "head", "by_head")
        table: Columns = {name: [getattr(e, name) for e in self.edges] for name in fields}
        for name in ("query", "key"):
            table[f"{name}_token"] = [self.names[at] for at in table[name]]
        return table


TokenRow = Float[Tensor, " token"]


@public
def weight_routes(
    trace: Trace, query: Token | None = None, least: Annotated[float, at_least(0)] = 0.02
) -> Routes:
    """How attention could have passed information to a query, block by block, by weights alone.

    Each block counts as (A + I) / 2, A being the heads' mean (Abnar & Zuidema, 2020,
    arXiv:2005.00928), so nodes[0] is `rollout(trace, query).rows[-1]` and each row sums to 1. It
    measures where heads look, not what the model made of it: beside `Attribution.routes`, which
    has the same form, it shows how far the two differ.

    Args:
        trace: a run.
        query: the token whose final state is asked about; the mean over all tokens if not given.
        least: a link is listed from this share on.

    Raises:
        SelectionError: no such query, or layers of cross-attention.
    """
    require_self_attention(trace)
    row = _start(trace, query)
    nodes, own, edges = [row], [], []
    for number in reversed(range(trace.n_layers)):
        below, stays, found = _down(trace.layers[number], number, row, least)
        own.append(stays)
        edges += found
        nodes.append(row := below)
    states, stayed = _upward(nodes), _upward(own)
    edges.sort(key=lambda edge: edge.layer)
    none = np.zeros_like(stayed)
    links = states[1:] - stayed
    return Routes(states, stayed, links, none, tuple(edges), trace.tokens, "weight")


def _start(trace: Trace, query: Token | None) -> TokenRow:
    row = torch.zeros(trace.n_tokens, device=trace.layers[0].q.device)
    places = real_token_numbers(trace) if query is None else [query_of(trace, query)]
    row[places] = 1 / len(places)
    return row


def _down(
    layer: LayerTrace, number: int, row: TokenRow, least: float
) -> tuple[TokenRow, TokenRow, list[Edge]]:
    """What reaches each token one block below, what stays at its own, and the strongest links."""
    stays, moved = row / 2, torch.zeros_like(row)
    edges: list[Edge] = []
    touched = row.nonzero()[:, 0]
    for rows, fused in fused_rows(layer, "mean", int(touched[0]), int(touched[-1]) + 1):
        carried = row[rows, None] * fused / 2
        moved += carried.sum(dim=0)
        stays[rows] += row[rows] * idle(fused) / 2
        for query, key in (carried >= max(TINY, least)).nonzero().tolist():
            edges.append(_edge(layer, number, rows.start + query, key, float(carried[query, key])))
    return stays + moved, stays, edges


def _edge(layer: LayerTrace, number: int, query: int, key: int, share: float) -> Edge:
    """A link, and the head that has most of it; heads count alike."""
    weights = layer.weights(slice(0, layer.n_heads), slice(query, query + 1))[:, 0, key].float()
    head = int(weights.argmax())
    return Edge(number, query, key, share, head, share * float(weights[head] / weights.sum()))


def _upward(rows: list[TokenRow]) -> Float[np.ndarray, "row token"]:
    return torch.stack(rows[::-1]).double().cpu().numpy()
