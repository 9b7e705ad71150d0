"""joint: what changes when several heads are removed at once, and what replaces their output."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import OneOf, Token, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measure import MeasureArguments
from viz_encoder.effects.measures import Measured, kind_of, measure_of
from viz_encoder.effects.rerun import HeadPlace, Heads, Replaced, Rerun, chosen
from viz_encoder.errors import InputError

ReplaceHow = Annotated[str, OneOf(("zero", "mean"))]


@dataclass(frozen=True)
class Replacement:
    """The output that stands in for each head's, and how to say so."""

    values: Float[Tensor, "layer head d_value"]
    words: str

    def of(self, layer: int) -> Float[Tensor, "1 head 1 d_value"]:
        """Replacement for one layer's heads, the same for every token."""
        return self.values[layer, None, :, None]


def replacement(
    encoder: LoadedEncoder, how: ReplaceHow, reference: Iterable[Any] | None
) -> Replacement:
    """Zero, or each head's mean output over all real tokens of a reference set.

    The mean over the text's own tokens is not offered: with mean pooling it leaves the pooled sum
    as it was, and so says that nothing matters.
    """
    if how == "zero":
        if reference is not None:
            raise InputError('reference= is used only with how="mean"; pass both, or neither.')
        config = encoder.config
        zeros = torch.zeros(config.n_layers, config.n_heads, config.d_head, device=encoder.device)
        return Replacement(zeros, "zero")
    texts = [] if reference is None or isinstance(reference, str) else list(reference)
    if not texts:
        raise InputError(
            'how="mean" needs a set to average over: reference=[text, text, …], about 20 of them.'
        )
    total, n_tokens = torch.zeros(()), 0
    for text in texts:
        run = Rerun(encoder, encoder.read(text))
        said = torch.stack(run.said)[:, 0, :, run.valid[0]]  # layer head token d_value
        total = total.to(said.device) + said.double().sum(dim=2)
        n_tokens += said.shape[2]
    words = f"its mean over {len(texts)} {kind_of(encoder)} ({n_tokens:,} tokens)"
    return Replacement((total / n_tokens).to(encoder.dtype), words)


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
    before, after = (float(of_run.read(each)[0]) for each in (run.output, output))
    return after - before, of_run.said(output)[0][0]


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
