"""joint: what changes when several heads are removed at once."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from viz_encoder.arguments import Token, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.heads import HeadPlace, Heads, chosen
from viz_encoder.effects.measure import MeasureArguments
from viz_encoder.effects.measures import Measured, measure_of
from viz_encoder.effects.replacement import ReplaceHow, Replacement, replacement
from viz_encoder.effects.rerun import Replaced, Rerun


@public
def joint(
    encoder: LoadedEncoder,
    text: Any,
    heads: Heads,
    *,
    how: ReplaceHow = "zero",
    reference: Iterable[Any] | None = None,
    measure: Measured | None = None,
    answer: str | None = None,
    other: str | None = None,
    at: Token | None = None,
    pooling: str | None = None,
) -> tuple[float, str]:
    """The effect of removing several heads at once, and what the model then answers.

    Compare it with the sum of their single effects, which it need not equal: heads may do the same
    work, and a head above may take over (Rushing & Nanda, 2024, arXiv:2402.15390).

    Args: as in `effect`; `heads` are removed together.

    Returns:
        The measure with all of them removed, minus that of the untouched run; and the answer, ""
        if there is none.

    Raises:
        SelectionError, InputError: as in `effect`.
    """
    stand_in = replacement(encoder, how, reference)
    run = Rerun(encoder, encoder.read(text))
    of_run = measure_of(measure, run, MeasureArguments(answer, other, at, pooling))
    output = next(run.edited(edits_of(chosen(heads, encoder.config), stand_in, encoder)))
    said = of_run.said(output)
    before, after = (float(of_run.read(each)[0]) for each in (run.output, output))
    name = "" if said is None else of_run.name(int(said.labels[0]))
    return after - before, name


def edits_of(
    heads: Sequence[HeadPlace], stand_in: Replacement, encoder: LoadedEncoder
) -> dict[int, Replaced]:
    """Edits that remove all these heads at once, as one variant."""
    of_layer: dict[int, list[int]] = defaultdict(list)
    for layer, head in heads:
        of_layer[layer].append(head)
    edits = {}
    for layer, numbers in of_layer.items():
        where = torch.zeros(1, encoder.config.n_heads, dtype=torch.bool, device=encoder.device)
        where[0, numbers] = True
        edits[layer] = Replaced(where, stand_in.of(layer))
    return edits
