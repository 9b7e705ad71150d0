"""Look: what one watched batch showed, as numbers a head, checks and a picture."""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from viz_encoder.analyses.survey import LayerSurvey, surveys
from viz_encoder.audit.measure.flex_masks import tensors_in
from viz_encoder.audit.report import Check
from viz_encoder.corpora.statistics import PerHead
from viz_encoder.errors import VizEncoderError
from viz_encoder.shown import OneLine
from viz_encoder.trace import Trace
from viz_encoder.training.beside import BatchRecording
from viz_encoder.training.leaks import LayerLeaks

SIZE = 32  # cells a side of a head in the atlas
GAP, LEAST = 2, 32  # pixels between heads, and of a head's side at least
LOW, HIGH = np.array([247, 251, 255]), np.array([8, 48, 107])
NONE = np.array([225, 225, 225])  # gaps, and pairs that are masked


@dataclass(frozen=True, eq=False, repr=False)
class Look(OneLine):
    """One observed batch.

    Attributes:
        step: counted from 0.
        heads: a number for each layer and head, by name. "leak" is the largest weight on a
            forbidden key, "leak_share" the mean share of a query's weight on forbidden keys, "lost"
            how many allowed pairs are closed, of all samples; the others are those of
            `analyses.survey`, means over some samples. NaN where there is none.
        checks: what was found; none, if all is as it is meant to be.
        atlas: the maps of the first sample, a row a layer.
        not_seen: what this look wanted to see and could not, a sentence each.
        samples: the samples that statistics are of, by their numbers; leaks are of all.
    """

    step: int
    heads: Mapping[str, PerHead]
    checks: tuple[Check, ...] = ()
    atlas: UInt8[np.ndarray, "height width 3"] | None = None
    not_seen: tuple[str, ...] = ()
    samples: tuple[int, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no check is red."""
        return not any(check.verdict.is_red for check in self.checks)

    @property
    def scalars(self) -> dict[str, float]:
        """Every number by a name such as "entropy/layer_0_head_3"; "leak/largest" of all heads."""
        found = {
            f"{name}/layer_{layer}_head_{head}": value for name, layer, head, value in self.rows()
        }
        for name in ("leak", "lost"):
            if name in self.heads:
                found[f"{name}/largest"] = float(np.nanmax(self.heads[name]))
        return found

    @property
    def sentences(self) -> tuple[str, ...]:
        """Findings in words."""
        return tuple(
            f"{check.verdict}: {check.evidence}" + (f" Cause: {check.cause}" if check.cause else "")
            for check in self.checks
        )

    def rows(self) -> Iterator[tuple[str, int, int, float]]:
        """Name, layer, head and value of each number that is one."""
        for name, values in self.heads.items():
            for layer, head in np.argwhere(~np.isnan(values)):
                yield name, int(layer), int(head), float(values[layer, head])

    def __str__(self) -> str:
        """The step and what was found."""
        return f"step {self.step}: {' '.join(self.sentences) or 'PASS'}"


def look_at(
    step: int,
    recording: BatchRecording,
    checks: tuple[Check, ...],
    batch: Any,
    special_ids: Collection[int],
    within: str,
) -> Look:
    """Build the look from a recording.

    Raises:
        TraceError: nothing was seen.
    """
    try:
        traces = list(_traces(recording, batch, special_ids, within))
        swept = [one.layers for one in surveys(traces, SIZE)]
    except VizEncoderError as fault:
        if not recording.leaks:
            raise
        return Look(step, _leaks(recording.leaks), checks, not_seen=(f"Statistics: {fault}",))
    heads = _leaks(recording.leaks) | _statistics(swept)
    if not special_ids:
        heads.pop("special", None)
    picture = atlas([layer.thumbnails_max for layer in swept[0]])
    return Look(step, heads, checks, picture, samples=tuple(recording.kept))


def _traces(
    recording: BatchRecording, batch: Any, special_ids: Collection[int], within: str
) -> Iterator[Trace]:
    kept, meant = recording.kept, recording.meant
    ids = _ids(batch, special_ids)
    for number, sample in enumerate(kept or [0]):
        tokens = valid = None
        if ids is not None:
            tokens = [f"[{n}]" if n in special_ids else str(n) for n in ids[sample].tolist()]
        if recording.leaks:  # else it is of other tokens
            valid = torch.stack([one.valid[sample] for one in meant]).any(dim=0)
        try:
            yield recording.trace(sample=number, tokens=tokens, valid=valid, within=within)
        except ValueError:
            yield recording.trace(sample=number, within=within)


def _ids(batch: Any, special_ids: Collection[int]) -> Tensor | None:
    found = dict(tensors_in(batch)) if special_ids else {}
    whole = {n: x for n, x in found.items() if x.ndim == 2 and not x.is_floating_point()}
    return whole.get("input_ids", next(iter(whole.values()), None))


def _leaks(layers: tuple[LayerLeaks, ...]) -> dict[str, PerHead]:
    if not layers:
        return {}
    return {
        "leak": _table([one.largest for one in layers]),
        "leak_share": _table([one.share for one in layers]),
        "lost": _table([one.lost for one in layers]),
    }


def _statistics(swept: list[tuple[LayerSurvey, ...]]) -> dict[str, PerHead]:
    """Means over the samples that have the number."""
    found = {}
    for name in swept[0][0].statistics:
        each = [_table([layer.statistics[name] for layer in layers]) for layers in swept]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mean over no number is none
            found[name] = np.nanmean(np.stack(each), axis=0)
    return found


def _table(rows: list[Any]) -> PerHead:
    """A line a layer; NaN for heads that a layer does not have."""
    values = [np.asarray(row.cpu() if isinstance(row, Tensor) else row, float) for row in rows]
    wide = max(len(one) for one in values)
    found = np.full((len(values), wide), np.nan)
    for line, one in zip(found, values, strict=True):
        line[: len(one)] = one
    return found


def atlas(
    layers: Sequence[Float[np.ndarray, "head row col"]],
) -> UInt8[np.ndarray, "height width 3"]:
    """A row a layer, a column a head; dark is the largest weight of all."""
    grown = [_grown(one) for one in layers]
    tall = max(one.shape[1] for one in grown) + GAP
    wide = max(one.shape[2] for one in grown) + GAP
    n_heads = max(len(one) for one in grown)
    stitched = np.full((len(grown) * tall, n_heads * wide), np.nan, dtype=np.float32)
    for number, layer in enumerate(grown):
        for head, cells in enumerate(layer):
            top, left = number * tall, head * wide
            stitched[top : top + cells.shape[0], left : left + cells.shape[1]] = cells
    most = float(np.nanmax(stitched)) if np.isfinite(stitched).any() else 1.0
    share = np.clip(np.nan_to_num(stitched / (most or 1.0)), 0.0, 1.0)[..., None]
    colors = np.where(np.isnan(stitched)[..., None], NONE, LOW + share * (HIGH - LOW))
    return colors.round().astype(np.uint8)


def _grown(
    layer: Float[np.ndarray, "head row col"],
) -> Float[np.ndarray, "head height width"]:
    """Each cell as a square of pixels, so that short texts can be seen."""
    factor = max(1, -(-LEAST // max(layer.shape[1:])))
    return layer.repeat(factor, axis=1).repeat(factor, axis=2)
