"""Replacement for a removed head's output: zero, or its mean over a named set."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor

from viz_encoder.arguments import OneOf
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.measures import kind_of
from viz_encoder.effects.rerun import Rerun
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

    Raises:
        InputError: "mean" without a set, or a set that is not used.
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
