"""Token kinds: which tokens of some texts are real, special, punctuation or words, as factors."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from viz_encoder.inputs import Sample
from viz_encoder.trace.row_walk import pairs_at

KEY_KINDS = ("first", "special", "delimiter", "sink", "punctuation")
WORD_MARKS = "Ġ▁"  # a space before a sub-word, as byte-level BPE and SentencePiece write it


@dataclass(frozen=True, eq=False)
class TokenKinds:
    """Token classes of a batch, most as 0/1 factors on the weights' device."""

    real: Float[Tensor, "text token"]
    kinds: Bool[Tensor, "text token kind"]  # in the order of KEY_KINDS
    sides: Float[Tensor, "text 2 token"]  # words of text A, words of text B
    plain: Float[Tensor, "text token"]  # real and not special
    paired: bool  # whether any text of the batch is a pair
    _by_head: dict[tuple[int, int], tuple["TokenKinds", Tensor]] = field(
        default_factory=dict, init=False
    )

    @cached_property
    def queries(self) -> Float[Tensor, "text sum token"]:
        """What is summed over: real ones; of pairs also words of text A, and of text B."""
        both = torch.cat([self.real[:, None], self.sides], dim=1)
        return both if self.paired else both[:, :1]

    def on(self, device: torch.device) -> "TokenKinds":
        """The same on a device."""
        return self if self.real.device == device else self._with(lambda each: each.to(device))

    def by_head(
        self, n_heads: int, span: int
    ) -> tuple["TokenKinds", Float[Tensor, "head token band"]]:
        """The same, once for each head of a text, and `pairs_at`: made once for all layers."""

        def repeated(of_texts: Tensor) -> Tensor:
            if len(of_texts) == 1:
                return of_texts.expand(n_heads, *of_texts.shape[1:])
            return of_texts.repeat_interleave(n_heads, dim=0)

        if (n_heads, span) not in self._by_head:
            pairs = repeated(pairs_at(self.real, span))
            self._by_head[n_heads, span] = self._with(repeated), pairs
        return self._by_head[n_heads, span]

    def _with(self, made: Callable[[Tensor], Tensor]) -> "TokenKinds":
        real, kinds, sides, plain = map(made, (self.real, self.kinds, self.sides, self.plain))
        return TokenKinds(real, kinds, sides, plain, self.paired)


def token_kinds(
    samples: Sequence[Sample], valid: Bool[Tensor, "text token"], like: Tensor
) -> TokenKinds:
    """The tokens of a batch, padded behind, in the dtype and on the device of `like`.

    A delimiter is a special token other than the first, a sink is the first token or a delimiter,
    punctuation has neither letter nor digit; words are the other real tokens but the unknown ones.
    """
    of_token = torch.zeros(*valid.shape, 4, dtype=torch.bool)
    for row, sample in enumerate(samples):
        of_token[row, : len(sample.tokens)] = torch.tensor(list(token_facts(sample)))
    valid = valid.cpu()
    special, punctuation, side_a, side_b = (of_token & valid[..., None]).unbind(dim=2)
    first = valid & (valid.cumsum(dim=1) == 1)
    delimiter = special & ~first
    kinds = torch.stack([first, special, delimiter, delimiter | first, punctuation], dim=2)
    sides = torch.stack([side_a, side_b], dim=1)
    paired = any(1 in sample.segments for sample in samples)
    real, sides, plain = (each.to(like) for each in (valid, sides, valid & ~special))
    return TokenKinds(real, kinds.to(like.device), sides, plain, paired)


def token_facts(sample: Sample) -> Iterator[tuple[bool, bool, bool, bool]]:
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


def plain_name(token: str) -> str:
    """The token without the mark of the space before it."""
    return token.lstrip(WORD_MARKS) or token


def is_unknown(name: str) -> bool:
    """Whether it stands for what the vocabulary lacks: [UNK], <unk>."""
    return name.strip("[]<>").lower() == "unk"


def is_lettered(name: str) -> bool:
    """Whether it has a letter or a digit; what is neither this nor special is punctuation."""
    return any(c.isalnum() for c in name)
