"""Trace: one captured run. It keeps queries and keys, and computes any attention map from them."""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Grid, Sample
from viz_encoder.model.attention import attention_weights
from viz_encoder.trace.proof import Proof, prove

BLOCK_BYTES = 64 * 2**20  # weights held at once while a map is walked through in blocks


@dataclass(frozen=True)
class Origin:
    """Which model ran, on what: shown beside every map."""

    model: str
    device: str = "cpu"
    dtype: str = "float32"
    kernel: str = "unknown"  # the attention kernel that torch chose


@dataclass(frozen=True, eq=False)
class LayerTrace:
    """One attention layer of one sequence; grouped-query layers have fewer kv_heads than heads."""

    q: Float[Tensor, "head query d_head"]
    k: Float[Tensor, "kv_head key d_head"]
    v: Float[Tensor, "kv_head key d_value"]
    scale: float
    mask: Bool[Tensor, "#head #query #key"] | None = None  # True = may attend; None = no mask
    bias: Float[Tensor, "#head #query #key"] | None = None  # added to the scores
    signature: Float[Tensor, "head query signature"] | None = None  # of the layer's real output
    name: str = ""


@dataclass(frozen=True, eq=False)
class Trace:
    """One run of one sequence through an encoder. Rows of a map are queries, columns are keys."""

    layers: tuple[LayerTrace, ...]
    hidden_states: tuple[Float[Tensor, "token d_model"], ...]
    output: Float[Tensor, "token d_model"]
    valid: Bool[Tensor, " token"]
    sample: Sample
    origin: Origin

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens, in the model's own spelling."""
        return self.sample.tokens

    @property
    def grid(self) -> Grid | None:
        """Rows and columns of patches, if the input was a picture."""
        return self.sample.grid

    @property
    def n_layers(self) -> int:
        """Number of attention layers."""
        return len(self.layers)

    @property
    def n_heads(self) -> int:
        """Number of heads in the first layer (all layers, in every model we load)."""
        return self.layers[0].q.shape[0]

    @property
    def n_tokens(self) -> int:
        """Number of tokens, padding and prefix tokens included."""
        return self.layers[0].q.shape[1]

    @property
    def mask(self) -> Bool[Tensor, "#head #query #key"] | None:
        """The first layer's mask, True = may attend; None where every token may see every token."""
        return self.layers[0].mask

    @property
    def nbytes(self) -> int:
        """Bytes held by the tensors of this trace; storage that is shared counts once."""
        return sum(
            {
                t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
                for t in self._tensors()
            }.values()
        )

    @cached_property
    def proof(self) -> Proof:
        """Whether the maps computed here are the maps that ran, in every row of every head."""
        return prove(self)

    def hidden(self, layer: int) -> Float[Tensor, "token d_model"]:
        """Hidden states after `layer` blocks: 0 = embeddings, n_layers = before the final norm."""
        return self.hidden_states[_check("layer", layer, len(self.hidden_states))]

    def attention(
        self, layer: int, head: int | None = None, rows: slice | None = None
    ) -> Float[Tensor, "*head query key"]:
        """Attention weights, float32, computed from the queries and keys that ran.

        Args:
            layer: counted from 0.
            head: one head, counted from 0; all heads where not given.
            rows: which queries; all where not given.

        Returns:
            "head query key", or "query key" for one head. Each row sums to 1 over the keys that
            the mask allows; a query that may attend to nothing has a row of zeros.

        Raises:
            SelectionError: no such layer or head.
        """
        ran = self.layers[_check("layer", layer, self.n_layers)]
        rows = slice(None) if rows is None else rows
        if head is None:
            return _weights(ran, slice(None), rows)
        head = _check("head", head, ran.q.shape[0])
        return _weights(ran, slice(head, head + 1), rows)[0]

    def blocks(
        self, layer: int, head: int | None = None
    ) -> Iterator[tuple[slice, Float[Tensor, "head query key"]]]:
        """The maps of a layer (or of one head) in blocks of rows, never whole, at any length."""
        n_heads = 1 if head is not None else self.layers[layer].q.shape[0]
        step = max(1, BLOCK_BYTES // (4 * n_heads * self.n_tokens))
        for start in range(0, self.n_tokens, step):
            rows = slice(start, min(start + step, self.n_tokens))
            weights = self.attention(layer, head, rows)
            yield rows, weights if head is None else weights[None]

    def _tensors(self) -> Iterator[Tensor]:
        yield from (*self.hidden_states, self.output, self.valid)
        for ran in self.layers:
            for tensor in (ran.q, ran.k, ran.v, ran.mask, ran.bias, ran.signature):
                if tensor is not None:
                    yield tensor


def _weights(ran: LayerTrace, heads: slice, rows: slice) -> Float[Tensor, "head query key"]:
    group = ran.q.shape[0] // ran.k.shape[0]
    k = ran.k.repeat_interleave(group, dim=0) if group > 1 else ran.k
    with torch.no_grad():
        return attention_weights(
            ran.q[heads, rows],
            k[heads],
            _part(ran.mask, heads, rows),
            ran.scale,
            _part(ran.bias, heads, rows),
        )


def _part(x: Tensor | None, heads: slice, rows: slice) -> Tensor | None:
    """The part of a broadcasting "#head #query #key" tensor that belongs to heads and rows."""
    if x is None:
        return None
    x = x[heads] if x.shape[0] > 1 else x
    return x[:, rows] if x.shape[1] > 1 else x


def _check(what: str, index: int, count: int) -> int:
    try:
        number = operator.index(index)
    except TypeError:
        number = -1
    if isinstance(index, bool) or not 0 <= number < count:
        raise SelectionError(
            f"There is no {what} {index!r}; this run has {what}s 0 to {count - 1}."
        )
    return number
