"""Trace: one captured run. Keeps queries and keys, and computes any attention map from them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.arguments import AnyPath, Token, known_kind, public, read_index
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Grid, Sample
from viz_encoder.shown import counted, facts_html, one_line
from viz_encoder.trace.layer import TENSORS, LayerTrace, Origin, received
from viz_encoder.trace.notebook_cell import RunView
from viz_encoder.trace.proof import Proof, prove
from viz_encoder.trace.recorded_parts import RecordedParts

FUSED = ("mean", "max")
OneMap = Annotated[int | str, 'the number of a head, "mean" or "max"']


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """One run of one sequence through an encoder. Rows of a map are queries, columns are keys."""

    layers: tuple[LayerTrace, ...]
    hidden_states: tuple[Float[Tensor, "token d_model"], ...]
    output: Float[Tensor, "token d_model"]
    valid: Bool[Tensor, " token"]
    sample: Sample
    origin: Origin
    key_tokens: tuple[str, ...] = ()  # for cross-attention; otherwise the keys are the tokens
    notes: tuple[str, ...] = ()  # how it was captured, one sentence each
    parts: RecordedParts | None = None  # references into a recorded model; not saved
    removed: tuple[tuple[int, int], ...] = ()  # (layer, head) pairs with outputs set to zero

    def __repr__(self) -> str:
        """One line: the model, the sizes and the first tokens."""
        first = " ".join(token[:20] for token in self.tokens[:6])
        more = " …" if self.n_tokens > 6 else ""
        sizes = f"{counted(self.n_layers, 'layer')} × {counted(self.n_heads, 'head')}"
        sizes = f"{sizes}, {counted(self.n_tokens, 'token')}"
        return one_line(f"<Trace of {self.origin.model}: {sizes}: {first}{more}>")

    def _repr_html_(self) -> str:
        """A small HTML table for notebooks; includes the proof only if already computed."""
        facts = {
            "Layers × heads": f"{self.n_layers} × {self.n_heads}",
            "Tokens": f"{self.n_tokens:,}: {' '.join(self.tokens)}",
            "Hidden states": f"{len(self.hidden_states)} of d_model {self.output.shape[-1]}",
            "Ran on": f"{self.origin.device}, {self.origin.dtype}, {self.origin.kernel}",
            "Held": f"{self.nbytes / 2**20:,.1f} MB",
            "Maps": self.proof.sentence if "proof" in vars(self) else "",
            "Notes": " ".join(self.notes),
        }
        return facts_html(f"Trace of {self.origin.model}", facts)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens, in the model's own spelling."""
        return self.sample.tokens

    @property
    def grid(self) -> Grid | None:
        """Rows and columns of patches, if the input was an image."""
        return self.sample.grid

    @property
    def n_layers(self) -> int:
        """Number of attention layers."""
        return len(self.layers)

    @property
    def n_heads(self) -> int:
        """Number of heads in the first layer (all layers, in every model we load)."""
        return self.layers[0].n_heads

    @property
    def n_tokens(self) -> int:
        """Number of tokens, including padding and prefix tokens."""
        return self.layers[0].q.shape[1]

    @property
    def mask(self) -> Bool[Tensor, "#head #query #key"] | None:
        """The first layer's mask, True = may attend; None if every token may attend to all."""
        return self.layers[0].mask

    @property
    def nbytes(self) -> int:
        """Bytes held by the trace's tensors; shared storage counts once."""
        held = (tensor.untyped_storage() for tensor in self._tensors())
        return sum({storage.data_ptr(): storage.nbytes() for storage in held}.values())

    @cached_property
    def proof(self) -> Proof:
        """Check that the maps computed here are those that ran, in every row of every head.

        `viz_encoder.analyses.survey` checks the same rows, so this is free after it.
        """
        return prove(self.layers, self.origin)

    @public
    def hidden(self, state: int) -> Float[Tensor, "token d_model"]:
        """Hidden states after `state` blocks: 0 = embeddings, n_layers = before the final norm."""
        if not self.hidden_states:
            raise SelectionError("This run kept no hidden states.")
        return self.hidden_states[read_index("state", state, len(self.hidden_states))]

    @public
    def attention(
        self, layer: int, head: OneMap | None = None, rows: slice | None = None
    ) -> Float[Tensor, "*head query key"]:
        """Attention weights, float32, computed from the queries and keys that ran.

        Args:
            layer: counted from 0.
            head: one head, counted from 0, or the "mean" or "max" over all; default all heads.
            rows: a slice of queries; default all.

        Returns:
            "head query key", or "query key" for one map. Each row sums to 1 over the keys that
            the mask allows, or to less where an attention sink takes the rest (see `proof.sinks`);
            a query that may attend to nothing has a row of zeros.

        Raises:
            SelectionError: there is no such layer or head, or rows is not a forward slice.
        """
        if isinstance(head, str) and head in FUSED:
            ran, _ = self._choose(layer, None)
            return ran.fused(range(ran.n_heads), head, forward_rows(rows))
        ran, heads = self._choose(layer, head)
        weights = ran.weights(heads, forward_rows(rows))
        return weights if head is None else weights[0]

    @public
    def received(self, layer: int | None = None) -> Float[Tensor, " token"]:
        """How much attention each token received: the mean over heads and real queries.

        It sums to 1, or to less where an attention sink takes the rest; `vz.pool(…, "received")`
        weighs by it. The map is never held whole.

        Args:
            layer: counted from 0; default the last, whose output is pooled.

        Raises:
            SelectionError: there is no such layer, or the keys are other tokens than the queries.
        """
        ran, _ = self._choose(self.n_layers - 1 if layer is None else layer, None)
        return received(ran, self.valid)

    @public
    def blocks(
        self, layer: int, head: int | None = None
    ) -> Iterator[tuple[slice, Float[Tensor, "head query key"]]]:
        """Iterate over the maps of a layer, or of one head, in blocks of rows, never whole."""
        ran, heads = self._choose(layer, head)
        return ran.blocks(heads)

    def save(self, path: AnyPath) -> None:
        """Write this run to a safetensors file; see `Trace.load`.

        Raises:
            TraceError: the name has another format's extension, or the file cannot be written.
        """
        raise NotImplementedError  # done by trace.saved, as viz_encoder/__init__.py says

    @staticmethod
    def load(path: AnyPath) -> "Trace":
        """Read a run that `save` wrote, on this or another machine.

        Raises:
            TraceError: it is not a saved trace, of another version, or damaged.
        """
        raise NotImplementedError  # done by trace.saved

    def show(
        self,
        *,
        layer: int | Iterable[int] | None = None,
        head: int | Iterable[int] | None = None,
        query: Token | None = None,
        words: bool = False,
        hide_special: bool = False,
        max_bytes: int = 1_000_000,
        encoder: Any = None,
        live: bool | None = None,
    ) -> RunView:
        """Show interactive words, lines and maps below a notebook's cell, also within a loop.

        In a notebook with anywidget (`pip install 'viz-encoder[notebook]'`) the view is live: it is
        the page's Explore tab, whose numbers the kernel computes when they are asked for, without a
        server. Its `layer`, `head`, `query`, `key` and `measure` can be set and observed, and
        `selection` is a table of what is selected.

        Otherwise, and in the saved notebook, it is one document of at most `max_bytes`, without a
        network, which states how close its weights are to those that ran.

        Both have `save(path)`: .html, or a picture of the map (.png, .svg, .pdf), .csv or .npz.

        Args:
            layer: counted from 0; several, such as range(3); default all.
            head: counted from 0, likewise.
            query: the token to open on, by index or name; by default, that of the strongest link
                between two different words that are not adjacent.
            words: whether to merge the sub-words of a word.
            hide_special: whether to leave out special tokens such as [CLS].
            max_bytes: the most it may add to the notebook. Heads that do not fit are left out, the
                chosen head's layer last, and the cell says so.
            encoder: the model that ran, which a live view needs for contributions and effects; it
                finds a built-in one by itself.
            live: whether it is live; by default, where it can be.

        Raises:
            SelectionError: there is no such layer, head or token, several tokens have that name,
                nothing fits, or the encoder is not the model that ran.
            TraceError: the check of the maps failed, so they are not shown.
        """
        raise NotImplementedError  # done by ui.notebook.show

    def _choose(self, layer: int, head: int | str | None) -> tuple[LayerTrace, slice]:
        ran = self.layers[read_index("layer", layer, self.n_layers)]
        if head is None:
            return ran, slice(0, ran.n_heads)
        number = read_index("head", head, ran.n_heads, also=', "mean" or "max"')
        return ran, slice(number, number + 1)

    def _tensors(self) -> Iterator[Tensor]:
        yield from (*self.hidden_states, self.output, self.valid)
        for ran in self.layers:
            yield from (x for part in TENSORS if (x := getattr(ran, part)) is not None)


def forward_rows(rows: slice | None) -> slice:
    """All rows for None; reversed slices are refused because they would select other rows."""
    rows = slice(None) if rows is None else rows
    if rows.indices(1)[2] < 0:
        raise SelectionError(f"rows is {rows!r}; give a forward slice such as slice(0, 8).")
    return rows


def _wanted(given: object) -> str:
    """Describe the accepted type to someone who passed something close to it."""
    if callable(getattr(given, "trace", None)):
        return "a Trace; call recording.trace(…) first, which gives one"
    if isinstance(given, list | tuple) and all(isinstance(each, Trace) for each in given):
        return "a Trace; give one of the list"
    return "a Trace, from vz.capture(encoder, text) or recording.trace(…)"


known_kind(Trace, _wanted)
