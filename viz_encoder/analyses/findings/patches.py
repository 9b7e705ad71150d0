"""Patches: heads of a picture by which at least half of the attention falls on a few patches."""

from collections.abc import Iterable

import torch

from viz_encoder.analyses.findings.finding import Finding
from viz_encoder.analyses.findings.measure import MeasuredHead, MeasuredLayer
from viz_encoder.inputs import Grid
from viz_encoder.trace import Trace

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
    means = (head.sums.to_key / trace.valid.sum()).cpu()
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
