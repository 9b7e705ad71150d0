"""Finding: one thing that stands out in a run, as a sentence with its numbers, and all of them."""

from dataclasses import dataclass, fields
from typing import Literal

from viz_encoder.result import Columns, SeriesResult
from viz_encoder.shown import OneLine

FindingKind = Literal[
    "link",
    "previous",
    "next",
    "same",
    "offset",
    "first",
    "delimiter",
    "punctuation",
    "across",
    "unlike",
]
LayerHead = tuple[int, int]  # layer and head, each counted from 0
NOTHING = (
    "Nothing stands out: no head links two words selectively, keeps to one kind of token, or "
    "differs clearly from the others in its layer."
)
NAN_CURE = "Look for NaN in the model's weights and inputs; run it in float32 if it is in float16."


@dataclass(frozen=True, eq=False, repr=False)
class Finding(OneLine):
    """One thing that stands out, and where to see it best.

    weight: of a link, the query's weight on the key; of a role, the mean share of the clearest
        head; of an unlike head, its mean Jensen–Shannon distance to the others, 0 … 1.
    ratio: of a link, the weight as a multiple of the key's mean over all real queries; of a role,
        as a multiple of what even attention would give; of an unlike head, of the layer's median.
    heads: all heads that do it, as (layer, head), the clearest first.
    """

    kind: FindingKind
    layer: int
    head: int
    query: int | None
    key: int | None
    weight: float
    ratio: float | None
    sentence: str
    chip: str
    heads: tuple[LayerHead, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Findings(SeriesResult[Finding], items="found"):
    """What stands out in a run, strongest first; may be empty."""

    found: tuple[Finding, ...]
    unread: tuple[LayerHead, ...] = ()  # heads whose weights are NaN, of which nothing can be said

    @property
    def sentence(self) -> str:
        """The first finding's sentence, or that nothing stands out; heads of NaN come before it."""
        if not self.unread:
            return self.found[0].sentence if self.found else NOTHING
        layer, head = self.unread[0]
        more = f" and {len(self.unread) - 1} more" if len(self.unread) > 1 else ""
        said = f"The weights of head {layer}.{head}{more} are NaN, so nothing can be said of them. "
        return said + (self.found[0].sentence if self.found else NAN_CURE)

    def __str__(self) -> str:
        """The first lines of the table; the sentence where nothing stands out."""
        return super().__str__() if self.found else self.sentence

    def columns(self) -> Columns:
        """One line per finding."""
        names = [field.name for field in fields(Finding)]
        return {name: [getattr(finding, name) for finding in self.found] for name in names}
