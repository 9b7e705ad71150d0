"""Alignment: matches the tokens of two runs by their longest common subsequence."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from viz_encoder.errors import TooLong
from viz_encoder.shown import OneLine
from viz_encoder.trace.prediction_heads import masked_tokens
from viz_encoder.trace.trace import Trace

MAX_BITS = 2**31  # limit on the subsequence table, one bit per pair of tokens
WORD = re.compile(r"\w+|[^\w\s]")
TwoPlaces = tuple[int, int]
NamedWords = list[tuple[str, int]]  # each word and its start offset, over all texts
Pieces = dict[
    TwoPlaces, list[int]
]  # first and last character of a text → the tokens that cover them


@dataclass(frozen=True, eq=False, repr=False)
class Alignment(OneLine):
    """Positions of matching tokens in two runs, increasing in both; padding is excluded.

    by: "tokens", or "words" where the tokenizers differ. Tokens then match when they cover the same
    characters of the same word, and special tokens match by their order before and after the text.
    A mask token matches the token it replaces in an otherwise identical run.
    """

    pairs: tuple[TwoPlaces, ...]  # (place in this run, place in the reference)
    only_here: tuple[int, ...]  # real tokens of this run without a match
    only_there: tuple[int, ...]  # real tokens of the reference without a match
    by: str


def align(trace: Trace, reference: Trace) -> Alignment:
    """Align the real tokens of two runs.

    The longest common subsequence (Hirschberg, 1975) of the tokens, or of the words where the
    tokenizers differ. Patches match only if both images have the same patch grid.

    Raises:
        TooLong: both runs are long and have little in common.
    """
    here, there, by = _real(trace), _real(reference), "tokens"
    if trace.grid != reference.grid:
        special = [at for at in here if trace.sample.special[at]]
        pairs = _by_tokens(
            *(trace, reference, special),
            [at for at in there if reference.sample.special[at]],
        )
    else:
        words = [] if _same_model(trace, reference) else _by_words(trace, reference)
        if words and any(trace.tokens[a] != reference.tokens[b] for a, b in words):
            pairs, by = words, "words"
        elif _same_but_masked(trace, reference, here, there):
            pairs = list(zip(here, there, strict=True))
        else:
            pairs = _by_tokens(trace, reference, here, there)
    ours, theirs = {a for a, _ in pairs}, {b for _, b in pairs}
    return Alignment(
        tuple(pairs),
        tuple(at for at in here if at not in ours),
        tuple(at for at in there if at not in theirs),
        by,
    )


def common_subsequence(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[TwoPlaces]:
    """Index pairs of a longest common subsequence, increasing in both.

    Each table row is one integer with a bit per column, so a row costs a few additions (Hyyrö,
    2004). All rows are kept for the backtrace.

    Raises:
        TooLong: the table exceeds MAX_BITS.
    """
    shorter = min(len(one), len(other))
    first = _n_equal(zip(one, other, strict=False))
    last = min(shorter - first, _n_equal(zip(reversed(one), reversed(other), strict=False)))
    middle = one[first : len(one) - last], other[first : len(other) - last]
    ends = [(len(one) - at, len(other) - at) for at in range(last, 0, -1)]
    between = [(first + a, first + b) for a, b in _walked(*middle)]
    return [*((at, at) for at in range(first)), *between, *ends]


def _n_equal(pairs: "zip[tuple[Hashable, Hashable]]") -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _walked(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[TwoPlaces]:
    """Backtrace through the table; where a row's bit `column` is clear, the subsequence grows."""
    if len(one) * len(other) > MAX_BITS:
        raise TooLong(
            f"The runs differ in {len(one):,} and {len(other):,} tokens in a row, which is more "
            "than can be aligned; compare shorter texts."
        )
    places: dict[Hashable, int] = {}
    for column, each in enumerate(one):
        places[each] = places.get(each, 0) | 1 << column
    every = (1 << len(one)) - 1
    row, rows = every, list[int]()
    for each in other:
        here = row & places.get(each, 0)
        row = (row + here | row - here) & every
        rows.append(row)
    found, a, b = list[TwoPlaces](), len(one), len(other)
    while a and b:
        if rows[b - 1] >> a - 1 & 1:
            a -= 1
        elif b > 1 and not rows[b - 2] >> a - 1 & 1:
            b -= 1
        else:
            a, b = a - 1, b - 1
            found.append((a, b))
    return found[::-1]


def _same_model(trace: Trace, reference: Trace) -> bool:
    """Whether both runs are known to share a tokenizer."""
    return "" != trace.origin.model == reference.origin.model


def _real(trace: Trace) -> list[int]:
    return [at for at, real in enumerate(trace.valid.tolist()) if real]


def _same_but_masked(
    trace: Trace, reference: Trace, here: Sequence[int], there: Sequence[int]
) -> bool:
    """Whether one run equals the other with some tokens masked."""
    if len(here) != len(there) or not _same_model(trace, reference):
        return False
    masks = set(masked_tokens(trace.tokens)), set(masked_tokens(reference.tokens))
    return all(
        trace.tokens[a] == reference.tokens[b] or a in masks[0] or b in masks[1]
        for a, b in zip(here, there, strict=True)
    )


def _by_tokens(
    trace: Trace, reference: Trace, here: Sequence[int], there: Sequence[int]
) -> list[TwoPlaces]:
    ours, theirs = [trace.tokens[at] for at in here], [reference.tokens[at] for at in there]
    return [(here[a], there[b]) for a, b in common_subsequence(ours, theirs)]


def _by_words(trace: Trace, reference: Trace) -> list[TwoPlaces]:
    """Match tokens that cover the same characters of the same words; empty without a text."""
    if not (trace.sample.spans and reference.sample.spans):
        return []
    (words, cut), (their_words, their_cut) = _read(trace), _read(reference)
    texts = [text for text, _ in words], [text for text, _ in their_words]
    moved: dict[int, int] = {}  # character offset in this run → offset in the reference
    for a, b in common_subsequence(*texts):
        (text, start), (_, their_start) = words[a], their_words[b]
        moved |= {start + at: their_start + at for at in range(len(text))}
    found = [
        pair
        for (start, last), tokens in cut.items()
        if start in moved and last in moved
        for pair in zip(tokens, their_cut.get((moved[start], moved[last]), ()), strict=False)
    ]
    before, after = zip(_ends(trace), _ends(reference), strict=True)
    found += zip(*before, strict=False)
    found += zip(*((reversed(each)) for each in after), strict=False)
    return _rising(found)


def _read(trace: Trace) -> tuple[NamedWords, Pieces]:
    """All words in lowercase with offsets, and the tokens by the characters they cover."""
    words, starts, start = NamedWords(), [], 0
    for text in trace.sample.texts:
        starts.append(start)
        for match in WORD.finditer(text):
            small = match[0].lower()  # lowercasing lengthens some letters
            same = len(small) == len(match[0])
            words.append((small if same else match[0], start + match.start()))
        start += len(text) + 1
    joined = " ".join(trace.sample.texts)
    cut: Pieces = {}
    segments = trace.sample.segments or (0,) * trace.n_tokens
    for at in _real(trace):
        low, high = trace.sample.spans[at]
        segment = min(segments[at], len(starts) - 1)
        low, high = starts[segment] + low, starts[segment] + high
        while low < high and joined[low].isspace():  # some tokenizers include the space
            low += 1
        if low < high and not trace.sample.special[at]:
            cut.setdefault((low, high - 1), []).append(at)
    return words, cut


def _ends(trace: Trace) -> tuple[list[int], list[int]]:
    """Special tokens before the first text token and after the last."""
    real, special = _real(trace), trace.sample.special
    before = list(takewhile(lambda at: special[at], real))
    after = list(takewhile(lambda at: special[at], reversed(real)))
    return before, after[::-1] if len(before) < len(real) else []


def _rising(pairs: list[TwoPlaces]) -> list[TwoPlaces]:
    """Sort the pairs and drop those that would go backward."""
    kept = list[TwoPlaces]()
    for pair in sorted(pairs):
        if not kept or (kept[-1][0] < pair[0] and kept[-1][1] < pair[1]):
            kept.append(pair)
    return kept
