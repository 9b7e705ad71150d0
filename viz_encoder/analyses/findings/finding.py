"""Finding: one thing that stands out in a run, as a sentence with its numbers; of pictures too."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import torch

from viz_encoder.analyses.findings.measure import MeasuredHead, MeasuredLayer
from viz_encoder.inputs import Grid
from viz_encoder.result import SeriesResult
from viz_encoder.shown import OneLine
from viz_encoder.trace import Trace

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


HALF = 0.5
MOST_PATCHES = 0.1  # share of all patches that holds half of a concentrated head's attention


def patch_links(trace: Trace, grid: Grid, layers: Iterable[MeasuredLayer]) -> list[Finding]:
    """Heads by which the first prefix token, or else the mean patch, looks at few patches.

    The fewest first; no two with the same patch before all others, for they would show the same.
    """
    found = [
        one
        for layer in layers
        if layer.own_keys
        for head in layer.heads
        for one in _of(trace, grid, head)
    ]
    found.sort(key=lambda one: one[:2])
    tops = dict[int | None, Finding]()
    for _, _, finding in found:
        tops.setdefault(finding.key, finding)
    return list(tops.values())


def _of(trace: Trace, grid: Grid, head: MeasuredHead) -> Iterable[tuple[int, float, Finding]]:
    """Score and finding of a head by how few patches hold half of its attention."""
    means = head.to_key / trace.valid.sum().cpu()
    ran = trace.layers[head.layer]
    heads = slice(head.head, head.head + 1)
    row = ran.weights(heads, slice(0, 1))[0, 0].float().cpu() if grid.n_prefix else means
    patches, n = row[grid.n_prefix :], grid.n_rows * grid.n_cols
    ordered = patches.sort(descending=True).values.cumsum(dim=0)
    count = int((ordered < HALF).sum()) + 1
    if count > max(1, int(MOST_PATCHES * n)) or count > n:
        return
    key = int(patches.argmax()) + grid.n_prefix
    share = float(ordered[count - 1])
    yield count, -float(row[key]), _finding(trace, grid, head, (key, count, n), share, row, means)


def _finding(
    trace: Trace,
    grid: Grid,
    head: MeasuredHead,
    numbers: tuple[int, int, int],
    share: float,
    row: torch.Tensor,
    means: torch.Tensor,
) -> Finding:
    place, (key, count, n) = f"{head.layer}.{head.head}", numbers
    who = trace.tokens[0] if grid.n_prefix else "the average patch"
    on = f"{count} of {n} patches" if count > 1 else f"one of {n} patches"
    return Finding(
        kind="link",
        layer=head.layer,
        head=head.head,
        query=0 if grid.n_prefix else None,
        key=key,
        weight=float(row[key]),
        ratio=float(row[key] / means[key]) if grid.n_prefix else None,
        sentence=f"Head {place}: {who} puts {share:.2f} of its attention on {on}.",
        chip=f"{place} {who} → {count} patch{'es' if count > 1 else ''}",
        heads=((head.layer, head.head),),
    )
