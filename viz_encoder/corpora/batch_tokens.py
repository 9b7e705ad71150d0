"""Batch tokens: which tokens of a padded batch are real, special, punctuation or words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.analyses.findings.reading import is_lettered, is_unknown, plain_name
from viz_encoder.inputs import Sample
from viz_encoder.trace.row_walk import pairs_at

KEY_KINDS = ("first", "special", "delimiter", "sink", "punctuation")


@dataclass(frozen=True, eq=False)
class BatchTokens:
    """Token classes of a batch, as 0/1 factors on the weights' device."""

    real: Float[Tensor, "batch token"]
    kinds: Float[Tensor, "batch token kind"]  # in the order of KEY_KINDS
    sides: Float[Tensor, "batch 2 token"]  # words of text A, words of text B
    plain: Float[Tensor, "batch token"]  # real and not special
    paired: bool  # whether any text of the batch is a pair
    _by_head: dict[tuple[int, int], list[Tensor]] = field(default_factory=dict, init=False)

    @property
    def n_real(self) -> Float[Tensor, " batch"]:
        """Number of real tokens in each text."""
        return self.real.sum(dim=1)

    def by_head(self, n_heads: int, span: int) -> list[Tensor]:
        """Factors of the queries, once for each head of a text: made once for all layers.

        Sums over them, real, plain, special, and real pairs at each offset −span … span.
        """
        if (n_heads, span) not in self._by_head:
            queries = torch.cat([self.real[:, None], self.sides], dim=1)[
                :, : 3 if self.paired else 1
            ]
            special, pairs = self.real - self.plain, pairs_at(self.real, span)
            of_texts = queries, self.real, self.plain, special, pairs
            made = [each.repeat_interleave(n_heads, dim=0) for each in of_texts]
            self._by_head[n_heads, span] = made
        return self._by_head[n_heads, span]


def batch_tokens(
    samples: Sequence[Sample], valid: Bool[Tensor, "batch token"], like: Tensor
) -> BatchTokens:
    """The tokens of a batch, padded behind, in the dtype and on the device of `like`.

    The kinds are those of `vz.analyses.role_shares`: a delimiter is a special token other than the
    first, a sink is the first token or a delimiter, punctuation has neither letter nor digit; words
    are the other real tokens but the unknown ones.
    """
    n_batch, n_tokens = valid.shape
    of_token = torch.zeros(n_batch, n_tokens, 4, dtype=torch.bool)
    for row, sample in enumerate(samples):
        of_token[row, : len(sample.tokens)] = torch.tensor(list(_facts(sample)))
    valid = valid.cpu()
    special, punctuation, side_a, side_b = (of_token & valid[..., None]).unbind(dim=2)
    first = torch.zeros_like(valid)
    first[:, 0] = valid[:, 0]
    delimiter = special & ~first
    kinds = torch.stack([first, special, delimiter, delimiter | first, punctuation], dim=2)
    sides = torch.stack([side_a, side_b], dim=1)
    paired = any(1 in sample.segments for sample in samples)
    real, kinds, sides, plain = (
        each.to(like.device, like.dtype) for each in (valid, kinds, sides, valid & ~special)
    )
    return BatchTokens(real, kinds, sides, plain, paired)


def _facts(sample: Sample) -> Iterator[tuple[bool, bool, bool, bool]]:
    """For each token: special, punctuation, word of text A, word of text B."""
    segments = sample.segments or (0,) * len(sample.tokens)
    for token, special, segment in zip(sample.tokens, sample.special, segments, strict=True):
        lettered, unknown = _name_facts(token)
        word = lettered and not special and not unknown
        yield special, not special and not lettered, word and segment == 0, word and segment == 1


@lru_cache(maxsize=2**16)
def _name_facts(token: str) -> tuple[bool, bool]:
    name = plain_name(token)
    return is_lettered(name), is_unknown(name)
