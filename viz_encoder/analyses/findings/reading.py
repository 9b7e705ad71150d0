"""RunTokens: which tokens of a run are words, punctuation or delimiters, and which are one word."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from viz_encoder.inputs import Sample
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.token_kinds import (
    TokenKinds,
    is_lettered,
    is_unknown,
    plain_name,
    token_kinds,
)


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


PRONOUNS = _listed(
    "he him his himself she her hers herself it its itself they them their theirs themselves"
)
FUNCTION_WORDS = _listed(
    "a about after all although am an and any are as at be because been before being but by can "
    "could did do does each every for from had has have how i if in into is me my no nor not of on "
    "or our over so some such than that the these this those though through to too under until us "
    "very was we were what when where which while who whom whose why will with would you your "
    "didn doesn don isn wasn couldn wouldn hadn hasn haven s t"
)


def is_function_word(name: str) -> bool:
    """Whether a token is a word of grammar alone; "a" and "i" may as well be letters."""
    return name.lower() in FUNCTION_WORDS - {"a", "i"}


APOSTROPHES = ("'", "’", "##'", "##’")


@dataclass(frozen=True, eq=False)
class RunTokens:
    """The tokens of one run; every tensor has one entry a token."""

    names: tuple[str, ...]
    real: Bool[Tensor, " token"]  # no padding
    content: Bool[Tensor, " token"]  # real; neither special nor unknown nor punctuation
    telling: Bool[Tensor, " token"]  # content, but no English function word
    word: Int[Tensor, " token"]  # sub-words of one word share a number
    delimiter: Bool[Tensor, " token"]  # special, but not the first of the real tokens
    segment: Int[Tensor, " token"]
    masked: tuple[bool, ...]  # places that the model has to guess
    first: int
    kinds: TokenKinds  # the same as factors of the weights

    @property
    def delimiter_name(self) -> str:
        """The name that all delimiters have, or what they are."""
        names = {self.names[at] for at in self.delimiter.nonzero().flatten().tolist()}
        return names.pop() if len(names) == 1 else "special tokens"


def read(trace: Trace) -> RunTokens:
    """Classify each token of the run by its name and the tokenizer's facts."""
    sample, real = trace.sample, trace.valid.cpu()
    names = tuple(map(plain_name, trace.tokens))
    special = torch.tensor(sample.special) & real
    unknown = torch.tensor(list(map(is_unknown, names)))
    lettered = torch.tensor(list(map(is_lettered, names)))
    telling = torch.tensor([not is_function_word(name) for name in names])
    content = real & ~special & ~unknown & lettered
    first = int(real.nonzero()[0]) if bool(real.any()) else 0
    others = torch.arange(len(names)) != first
    return RunTokens(
        names=names,
        real=real,
        content=content,
        telling=content & telling,
        word=torch.tensor(_words(sample)),
        delimiter=special & others,
        segment=torch.tensor(sample.segments or (0,) * len(names)),
        masked=tuple(name.strip("[]<>").lower() == "mask" for name in names),
        first=first,
        kinds=token_kinds(
            [sample], real[None], trace.layers[0].q.new_empty(0, dtype=torch.float32)
        ),
    )


def _words(sample: Sample) -> list[int]:
    """A number for each token, the same for sub-words of a word and for the parts of "didn't"."""
    numbers = list(range(len(sample.tokens)))
    words = sample.words or (None,) * len(numbers)
    segments = sample.segments or (0,) * len(numbers)
    for at in numbers[1:]:
        together = words[at] is not None and words[at] == words[at - 1]
        if segments[at] == segments[at - 1] and (together or _contracted(sample, at)):
            numbers[at] = numbers[at - 1]
    return numbers


def _contracted(sample: Sample, at: int) -> bool:
    """Whether a token and the one before it are joined by an apostrophe that is one of them."""
    if not sample.spans or sample.special[at] or sample.special[at - 1]:
        return False
    joined = sample.spans[at - 1][1] == sample.spans[at][0] and sample.spans[at][1] > 0
    inner = at + 1 < len(sample.tokens) and sample.spans[at + 1][0] == sample.spans[at][1] > 0
    if sample.tokens[at] in APOSTROPHES:
        return joined and inner
    return joined and sample.tokens[at - 1] in APOSTROPHES


LEAST_RATIO = 2.0  # times what the average query gives the key


def pronouns_of(reading: RunTokens, sample: Sample) -> list[int]:
    """The places of third-person pronouns that are one token: "it", but no piece of a word."""
    words: list[object] = list(zip(reading.segment.tolist(), sample.words, strict=False))

    def alone(at: int) -> bool:
        beside = words[max(0, at - 1) : at] + words[at + 1 : at + 2]
        return not words or words[at] not in beside

    named = [at for at, name in enumerate(reading.names) if name.lower() in PRONOUNS]
    return [at for at in named if bool(reading.content[at]) and alone(at)]


def n_linked(
    layer: LayerTrace,
    head: int,
    means: Float[Tensor, " key"],
    reading: RunTokens,
    pronouns: list[int],
) -> int:
    """Number of pronouns that a head links to an earlier content word.

    A pronoun is linked if the largest weight in its row, over real tokens, is on an earlier content
    word (not a function word, pronoun or punctuation) and is at least LEAST_RATIO times the mean
    weight that queries give that key.
    """
    rows = torch.tensor(pronouns, device=layer.q.device)
    weights = layer.weights(slice(head, head + 1), rows)[0].float().cpu()
    top = weights.where(reading.real, -1).max(dim=1)
    plain = [name.lower() not in PRONOUNS | FUNCTION_WORDS for name in reading.names]
    nouns = reading.content & torch.tensor(plain)
    earlier = top.indices < torch.tensor(pronouns)
    selective = top.values >= LEAST_RATIO * means.cpu()[top.indices]
    return int((nouns[top.indices] & earlier & selective & (top.values > 0)).sum())
