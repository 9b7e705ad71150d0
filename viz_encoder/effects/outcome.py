"""outcome: what a model answers before and after a change, in numbers and in one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.change import Change
from viz_encoder.effects.changed_capture import place_after
from viz_encoder.effects.measure import Logits, MeasureArguments, PooledChange, turned
from viz_encoder.effects.measures import measure_of
from viz_encoder.effects.rerun import Rerun
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Inputs, Sample
from viz_encoder.model.layer_masks import CustomMask
from viz_encoder.shown import OneLine
from viz_encoder.trace import Trace
from viz_encoder.trace.prediction_heads import likelihoods

SHOWN = 3  # answers of each run
FEW = 4  # listed by name


@dataclass(frozen=True, repr=False)
class Outcome(OneLine):
    """Effect of a change on the output.

    sentence: what was done, and what the answer or the vector became.
    became: the second half of that sentence by itself.
    measure: what `before` and `after` are, in words.
    labels: the first answers of both runs, () without a prediction head.
    shares: how likely each is, before and after.
    before, after: the measure; after is None if there is none in a text with other tokens.
    cosine: of the pooled vectors of both runs.
    moved: mean over the real tokens of ‖h − h′‖ / ‖h′‖ at the output; None with other tokens.
    """

    sentence: str
    became: str
    measure: str
    labels: tuple[str, ...]
    shares: tuple[tuple[float, ...], tuple[float, ...]]
    before: float
    after: float | None
    cosine: float
    moved: float | None

    @property
    def flips(self) -> bool:
        """Whether another answer comes first."""
        before, after = self.shares
        return bool(before) and int(np.argmax(before)) != int(np.argmax(after))


def outcome(
    encoder: LoadedEncoder,
    plain: Inputs,
    changed: tuple[Trace, Inputs],
    changes: Sequence[Change],
    mask: CustomMask | None = None,
) -> Outcome:
    """Compare a changed run with the run of the same input, and mask, without any change.

    If a text's only [MASK] was deleted, there is no answer left, and only vectors are compared.

    Raises:
        SelectionError: the changed text does not allow the answer to be read.
    """
    trace, inputs = changed
    other = any(change.of_text for change in changes)
    run = Rerun(encoder, plain, mask)
    output = trace.output[None].to(run.output)
    asked = measure = measure_of(None, run, MeasureArguments())
    pooled = PooledChange(run, None)
    now = Rerun(encoder, inputs) if other else run
    vectors = (PooledChange(now, None) if other else pooled).vectors(output)
    apart = float(turned(vectors, pooled.vectors(run.output))[0])
    labels: tuple[str, ...] = ()
    shares: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    before = float(measure.read(run.output)[0])
    there: Logits | None = None
    if isinstance(measure, Logits):
        there = _in_other(measure, now, run.sample, changes) if other else measure
        if there is None:
            measure, before = pooled, 0.0
    if isinstance(measure, Logits) and there is not None:
        labels, shares = _answers(measure, run.output, there, output)
        after = float(there.read(output)[0])
    else:
        after = apart if other else float(measure.read(output)[0])
    done = _done(changes, run.sample.tokens)
    became = _answer_said(labels, shares) if labels else f"the pooled vector changes by {apart:.3g}"
    if other and there is None and isinstance(asked, Logits):
        became = f"there is no answer left to read; {became}"
    unit = "" if labels else " (1 − cosine; 0 = no change)"
    return Outcome(
        f"{_capital(done)} and {became}{unit}.",
        f"{_capital(became)}{unit}.",
        measure.words,
        labels,
        shares,
        before,
        after,
        1 - apart,
        None if other else _moved(run.output[0], output[0], run.valid[0]),
    )


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _in_other(
    measure: Logits, now: Rerun, sample: Sample, changes: Sequence[Change]
) -> Logits | None:
    """The same answers in a text with other tokens, at the token's new position.

    None if the token is gone, as the only [MASK] of a text is once it is deleted.
    """
    at = None
    if measure.place is not None:
        at = place_after(sample, changes, measure.place, now.sample)
        if at is None:
            return None
    try:
        asked = MeasureArguments(measure.name(measure.answer), measure.name(measure.other), at)
        return Logits(now, measure.head.task, asked)
    except SelectionError as fault:
        raise SelectionError(f"Without that word there is nothing to compare: {fault}") from fault


def _answers(
    one: Logits, before: Tensor, two: Logits, after: Tensor
) -> tuple[tuple[str, ...], tuple[tuple[float, ...], tuple[float, ...]]]:
    shares = [likelihoods(m.head, m.logits(out))[0][0] for m, out in ((one, before), (two, after))]
    most = min(SHOWN, len(shares[0]))
    first = [number for each in shares for number in each.topk(most).indices.tolist()]
    numbers = list(dict.fromkeys(first))
    names = tuple(one.name(number) for number in numbers)
    return names, tuple(tuple(each[numbers].tolist()) for each in shares)  # type: ignore[return-value]


def _answer_said(labels: Sequence[str], shares: tuple[Sequence[float], Sequence[float]]) -> str:
    before, after = shares
    first, now = int(np.argmax(before)), int(np.argmax(after))
    if first == now:
        return f"the answer stays: {labels[first]} {before[first]:.3f} → {after[first]:.3f}"
    said = (f"{labels[at]} {before[at]:.3f} → {after[at]:.3f}" for at in (first, now))
    return f"the answer flips: {', '.join(said)}"


def _done(changes: Sequence[Change], tokens: Sequence[str]) -> str:
    """All changes in a few words; many heads as a count."""
    heads = [f"{change.layer}.{change.head}" for change in changes if change.kind == "h"]
    parts = [change.command(tokens) for change in changes if len(heads) < 2 or change.kind != "h"]
    if len(heads) > 1:
        parts.insert(
            0,
            f"remove heads {_listed(heads)}" if len(heads) <= FEW else f"remove {len(heads)} heads",
        )
    if len(parts) > FEW:
        parts = [*parts[: FEW - 1], f"make {len(parts) - FEW + 1} more changes"]
    return _listed(parts)


def _listed(parts: Sequence[str]) -> str:
    """Such as "a, b and c"."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _moved(before: Tensor, after: Tensor, valid: Tensor) -> float:
    with torch.inference_mode():
        apart = (after - before)[valid].double().norm(dim=-1)
        return float((apart / before[valid].double().norm(dim=-1)).mean())
