"""Routes: the graph by which a score came from the input embeddings to where it was read."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from viz_encoder.result import Columns, TableResult


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
