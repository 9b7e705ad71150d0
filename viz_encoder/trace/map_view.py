"""Map view: which map is shown, how its weights are processed, and its color scale."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from viz_encoder.arguments import read_index
from viz_encoder.errors import SelectionError
from viz_encoder.trace.token_selection import shown_tokens
from viz_encoder.trace.trace import FUSED, Trace

# One head, "mean" or "max" over all, or the mean of several.
Head = Annotated[int | str | tuple[int, ...], 'the number of a head, several, "mean" or "max"']


@dataclass(frozen=True)
class MapView:
    """Which map is shown and how its weights are processed; by default, as they ran.

    hide_special: whether to leave out special tokens such as [CLS]. renormalize: whether to divide
    rows by their sum over the kept keys. words: whether to merge subwords into words. scale: a key
    of SCALES.
    """

    layer: int = 0
    head: Head = 0
    _: KW_ONLY
    hide_special: bool = False
    renormalize: bool = False
    words: bool = False
    scale: str = "head"

    @property
    def as_it_ran(self) -> bool:
        """Whether nothing is hidden, renormalized or merged."""
        return not any(self.switches.values())

    @property
    def switches(self) -> dict[str, Any]:
        """What is hidden, renormalized and merged, as keywords of an analysis."""
        return {
            "hide_special": self.hide_special,
            "renormalize": self.renormalize,
            "words": self.words,
        }

    def kept(self, trace: Trace) -> list[tuple[int, ...]]:
        """The tokens that are shown, in order: one per entry, or those of a merged word."""
        return shown_tokens(trace, hide_special=self.hide_special, words=self.words)


AS_IT_RAN = MapView()


def heads_of(trace: Trace, layer: int, head: Head) -> list[int]:
    """Resolve `head` to a list of head indices, each valid and listed once.

    Raises:
        SelectionError: there is no such layer or head.
    """
    n_heads = trace.layers[read_index("layer", layer, trace.n_layers)].n_heads
    if head in FUSED:
        return list(range(n_heads))
    chosen = head if isinstance(head, tuple) else (head,)
    numbers = [read_index("head", each, n_heads, also=', "mean" or "max"') for each in chosen]
    if not numbers:
        raise SelectionError('There is no head in (); give a number, several, "mean" or "max".')
    return list(dict.fromkeys(numbers))


@dataclass(frozen=True)
class ColorScale:
    """A way to color weights, in words: its name, what a color measures, and its upper end."""

    title: str
    measures: str
    says: str


SHARE = "Attention weight (share of the query's total)"
BY_ROW = "Attention weight ÷ the largest weight of its row"
SCALES = {
    "head": ColorScale("Linear, per map", SHARE, "linear, up to this map's largest weight"),
    "row": ColorScale("Linear, per row", BY_ROW, "linear, each row up to its own largest weight"),
    "layer": ColorScale(
        "Linear, shared by this layer",
        SHARE,
        "linear, up to the largest weight of this layer's heads",
    ),
    "all": ColorScale(
        "Linear, shared by all heads", SHARE, "linear, up to the largest weight of all heads"
    ),
    "shared": ColorScale("Linear, 0 to 1", SHARE, "linear, 0 to 1 for every head"),
    "percentile": ColorScale(
        "Linear, percentiles 1 to 99",
        SHARE,
        "linear, from the 1st to the 99th percentile of this map's weights above 0",
    ),
    "sqrt": ColorScale("Square root", SHARE, "square root, up to this map's largest weight"),
    "log": ColorScale("Logarithmic", SHARE, "logarithmic, the same for every head"),
}
