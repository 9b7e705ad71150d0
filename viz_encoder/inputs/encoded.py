"""Encoded: a text's tokens and where each was typed, and which of them are typed padding."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from tokenizers import Encoding

ESCAPE = "\\"  # before a padding token that is meant as a word


@dataclass(frozen=True)
class PaddingWord:
    """The typed form of a model's padding; "" if it cannot be typed."""

    name: str = ""
    id: int = 0

    def is_in(self, texts: Iterable[str]) -> bool:
        """Whether it was typed at all."""
        return bool(self.name) and any(self.name in text for text in texts)

    @property
    def as_word(self) -> str:
        r"""The escaped form, read as a word, such as \[PAD]."""
        return ESCAPE + self.name

    def bare(self, text: str) -> str:
        """The text without escapes, as passed to the tokenizer."""
        return text.replace(self.as_word, self.name) if self.name else text

    def escaped_at(self, text: str) -> list[int]:
        """Positions of escaped padding in the bare text."""
        parts = text.split(self.as_word)[:-1] if self.name else []
        found, start = [], 0
        for part in parts:
            found.append(start + len(part))
            start += len(part) + len(self.name)
        return found


NOT_TYPED = PaddingWord()


@dataclass(frozen=True, eq=False)
class Encoded:
    """The tokenizer's output for one text or two."""

    encoding: Encoding
    texts: tuple[str, ...]  # as they were typed, which is what spans count in
    word: PaddingWord

    def __len__(self) -> int:
        """Number of tokens."""
        return len(self.encoding)

    @property
    def ids(self) -> list[int]:
        """The tokens' numbers."""
        return self.encoding.ids

    @property
    def tokens(self) -> list[str]:
        """The tokens' names."""
        return self.encoding.tokens

    @property
    def text_of(self) -> list[int | None]:
        """Text index of each token; None for tokens the tokenizer added."""
        return self.encoding.sequence_ids

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The characters of each token's own text."""
        escapes = [self.word.escaped_at(text) for text in self.texts]
        if not any(escapes):
            return tuple(self.encoding.offsets)
        return tuple(
            span if text is None else _typed(span, escapes[text])
            for span, text in zip(self.encoding.offsets, self.text_of, strict=True)
        )

    @cached_property
    def padding(self) -> frozenset[int]:
        """Places of the padding that was typed, and not meant as a word."""
        if not self.word.is_in(self.texts):
            return frozenset()
        escapes = [set(self.word.escaped_at(text)) for text in self.texts]
        bare = [self.word.bare(text) for text in self.texts]
        return frozenset(
            at
            for at, (number, text) in enumerate(zip(self.ids, self.text_of, strict=True))
            if number == self.word.id
            and text is not None
            and bare[text].find(self.word.name, self.encoding.offsets[at][0]) not in escapes[text]
        )

    def own(self, text: int) -> list[int]:
        """Places of a text's own tokens."""
        return [at for at, of in enumerate(self.text_of) if of == text]


def _typed(span: tuple[int, int], escapes: list[int]) -> tuple[int, int]:
    """Characters of the bare text as those of what was typed."""
    start, stop = span
    return start + sum(at <= start for at in escapes), stop + sum(at < stop for at in escapes)


def without_tail(full: Encoded) -> tuple[tuple[str, ...], str, int]:
    """The texts without the padding at the end of the last, that end, and how many tokens it is."""
    *first, last = full.texts
    own = full.own(len(first))
    words = [at for at in own if at not in full.padding]
    tail = own[own.index(words[-1]) + 1 :] if words else own
    if not tail:
        return full.texts, "", 0
    text = last[: full.spans[tail[0]][0]].rstrip()
    return (*first, text), last[len(text) :], len(tail)
