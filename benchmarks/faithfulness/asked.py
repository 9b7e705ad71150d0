"""Asked: one input, and the score that every method is asked about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from benchmarks.faithfulness import written_out
from benchmarks.faithfulness.written_out import Steps
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.without_tokens import mask_id
from viz_encoder.inputs import Inputs

AT_ONCE = 64  # variants of an input that run together


@dataclass(frozen=True, eq=False)
class Asked:
    """A score: a direction of the logits at a token, or of the mean of all tokens' states.

    head: the prediction head; None: the mean.
    unit: whether the vector is made of length 1 first, as for a cosine.
    units: what is removed together, such as the tokens of a word.
    settings: what vz.attribute is asked, by the name of the row.
    effect: what vz.effects.tokens is asked.
    """

    encoder: LoadedEncoder
    inputs: Inputs
    direction: Tensor
    units: Sequence[tuple[int, ...]]
    head: str | None = None
    token: int | None = None
    unit: bool = False
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    effect: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_tokens(self) -> int:
        return len(self.inputs.samples[0].tokens)

    def embedded(self) -> Tensor:
        return written_out.embeddings(self.encoder, self.inputs.values)

    def vector(self, output: Tensor, steps: Steps | None = None) -> Tensor:
        """ "variant n"; the mean is plain."""
        if self.head is None:
            return output.mean(dim=1)
        return written_out.answer(self.encoder.model.heads[self.head], output[:, self.token], steps)

    def score(self, x: Tensor, steps: Steps | None = None) -> Tensor:
        """One number for each of "variant token d_model" embeddings."""
        vector = self.vector(written_out.encode(self.encoder.model, x, steps), steps)
        return (
            torch.nn.functional.normalize(vector, dim=-1) if self.unit else vector
        ) @ self.direction

    @torch.no_grad()
    def without(self, sets: Sequence[tuple[int, ...]]) -> Tensor:
        """The score with each set of tokens replaced: words by [MASK], patches by the median gray."""
        return torch.cat([
            self.score(torch.cat([self.replaced(each) for each in sets[at : at + AT_ONCE]]))
            for at in range(0, len(sets), AT_ONCE)
        ])  # fmt: skip

    @torch.no_grad()
    def replaced(self, tokens: Sequence[int]) -> Tensor:
        """The embeddings with these tokens blank; a special one is replaced like any other."""
        values = self.inputs.values.clone()
        if not values.is_floating_point():
            values[0, list(tokens)] = mask_id(self.encoder)
            return self.encoder.model.embed(values)
        size, grid = self.encoder.config.patch_size, self.inputs.samples[0].grid
        gray = values.median()
        for at in tokens:
            row, column = divmod(at - grid.n_prefix, grid.n_cols)
            values[..., row * size : (row + 1) * size, column * size : (column + 1) * size] = gray
        return self.encoder.model.embed(values)
