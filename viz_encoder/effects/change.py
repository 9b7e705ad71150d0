"""Change: one change to a run, such as a head removed, and its short code, which links store."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any
from urllib.parse import quote, unquote

from viz_encoder.arguments import read_index
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Sample
from viz_encoder.shown import quoted
from viz_encoder.trace.prediction_heads import MASKS

MOST = 40  # changes of one run
SWITCHES = {  # on the whole model: past and imperative forms
    "p": ("positions off, not how it was trained", "switch positions off"),
    "c": ("causal, not how it was trained", "make attention causal"),
}
MAX_WORD = 80
UNQUOTED = "!'()*"  # also left as is by encodeURIComponent, so that both write the same code
FORMS = tuple(
    re.compile(form, re.ASCII)
    for form in (
        r"(?P<kind>[pc])",
        r"(?P<kind>h)(?P<layer>\d{1,4})\.(?P<head>\d{1,4})",
        r"(?P<kind>[tmd])(?P<key>\d{1,6})",
        r"(?P<kind>r)(?P<key>\d{1,6}):(?P<word>[^,]{1,720})",
        r"(?P<kind>l)((?P<layer>\d{1,4})(\.(?P<head>\d{1,4}))?)?"
        r":(?P<query>\d{1,6})-(?P<key>\d{1,6})",
    )
)
CODES = (
    "write h3.0 (remove a head), l3.0:6-2 (cut the link from query 6 to key 2 in it; l:6-2 in all "
    "heads), t2 (hide token 2 from all), m2 (mask it), d2 (delete its word), r2:word (replace its "
    "word), p (switch positions off) or c (make attention causal)"
)


@dataclass(frozen=True)
class Change:
    """One head removed, link cut, token or word hidden, masked, deleted or replaced, or a switch.

    kind: "h", "l", "t", "m", "d" or "r", as its code begins; "p" for positions off and "c" for
        causal attention, of the whole model and not how it was trained.
    layer, head: of "h", and of "l" where it is cut in one layer or head only.
    query, key: tokens, counted from 0; a token that is changed by itself is the key.
    word: the new word, for "r".
    """

    kind: str
    layer: int | None = None
    head: int | None = None
    query: int | None = None
    key: int | None = None
    word: str = ""

    @classmethod
    def parsed(cls, code: Any) -> "Change":
        """The change of a code, of whatever run it fits."""
        forms = (form.fullmatch(code) for form in FORMS if isinstance(code, str))
        found = next(filter(None, forms), None)
        if found is None:
            raise SelectionError(f"{shown(code)} is not a change; {CODES}.")
        parts = found.groupdict()
        word = unquote(parts.pop("word", None) or "").strip()
        if parts["kind"] == "r" and not 0 < len(word) <= MAX_WORD:
            raise SelectionError(f"The new word has {len(word)} characters; give 1 to {MAX_WORD}.")
        if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in word):
            raise SelectionError(f"The new word {shown(word)} holds characters that no text has.")
        numbers = {name: int(text) for name, text in parts.items() if name != "kind" and text}
        return cls(parts["kind"], word=word, **numbers)

    @property
    def code(self) -> str:
        """Such as "h3.0"."""
        if self.kind in SWITCHES:
            return self.kind
        place = "" if self.layer is None else f"{self.layer}"
        place += "" if self.head is None else f".{self.head}"
        if self.kind == "h":
            return f"h{place}"
        if self.kind == "l":
            return f"l{place}:{self.query}-{self.key}"
        return (
            f"{self.kind}{self.key}{f':{quote(self.word, UNQUOTED)}' if self.kind == 'r' else ''}"
        )

    @property
    def of_text(self) -> bool:
        """Whether it makes another text, with other tokens."""
        return self.kind in ("d", "r")

    def words(self, tokens: Sequence[str]) -> str:
        """The change in the past tense, such as "head 3.0 removed"."""
        if self.kind in SWITCHES:
            return SWITCHES[self.kind][0]
        what, after = self._what(tokens)
        return f"{what} {_DONE[self.kind]}{after}"

    def command(self, tokens: Sequence[str]) -> str:
        """The change in the imperative, such as "remove head 3.0"."""
        if self.kind in SWITCHES:
            return SWITCHES[self.kind][1]
        return f"{_DO[self.kind]} {''.join(self._what(tokens))}"

    def _what(self, tokens: Sequence[str]) -> tuple[str, str]:
        """What is changed, and what comes after the verb."""
        if self.kind == "h":
            return f"head {self.layer}.{self.head}", ""
        name = quoted(tokens[self.key or 0])
        if self.kind != "l":
            return name, {"t": " from all", "r": f" with {quoted(self.word)}"}.get(self.kind, "")
        where = "all heads" if self.layer is None else f"layer {self.layer}"
        if self.head is not None:
            where = f"{self.layer}.{self.head}"
        return f"{quoted(tokens[self.query or 0])} → {name}", f" in {where}"


def changes_of(codes: Iterable[Any], sample: Sample, n_layers: int, n_heads: int) -> list[Change]:
    """The changes of these codes, in order, none twice.

    Raises:
        SelectionError: a code that is invalid, names something that does not exist, or cannot
            apply to that token.
    """
    made = list(dict.fromkeys(map(Change.parsed, codes)))
    check_changes(made, sample, n_layers, n_heads)
    return made


def check_changes(changes: Sequence[Change], sample: Sample, n_layers: int, n_heads: int) -> None:
    """Refuse changes that cannot be made to this run."""
    if len(changes) > MOST:
        raise SelectionError(
            f"There are {len(changes)} changes; at most {MOST} can be made at once."
        )
    counts = {"layer": n_layers, "head": n_heads}
    counts |= dict.fromkeys(("query", "key"), len(sample.tokens))
    for change in changes:
        for what, count in counts.items():
            number = getattr(change, what)
            if number is not None:
                read_index(what if what in ("layer", "head") else "token", number, count)
        if change.kind in ("m", "d", "r"):
            _require_word(change, sample)
    _require_one_each(changes, sample)


def _require_one_each(changes: Iterable[Change], sample: Sample) -> None:
    """Refuse two edits of one word, of which only one would be made."""
    edited: dict[tuple[int, int | None], Change] = {}
    for change in changes:
        if change.kind not in ("m", "d", "r") or change.key is None:
            continue
        word = sample.words[change.key] if change.of_text and sample.words else None
        place = (-1 - change.key, None) if word is None else (sample.segment_of(change.key), word)
        if place in edited:
            names = " and ".join(each.code for each in (edited[place], change))
            raise SelectionError(f"{names} change the same word; choose one of them.")
        edited[place] = change


def _require_word(change: Change, sample: Sample) -> None:
    """Refuse what is not a word of a text: special tokens, patches, padding."""
    assert change.key is not None
    name, verb = sample.tokens[change.key], {"m": "masked", "d": "deleted", "r": "replaced"}
    done = verb[change.kind]
    if sample.grid is not None:
        raise SelectionError(f"A picture's patches cannot be {done}; hide one from all instead.")
    if sample.special[change.key] and name.strip("▁Ġ ").lower() not in MASKS:
        raise SelectionError(
            f"Token {change.key} {quoted(name)} is not a word of the text and cannot be {done}; "
            "hide it from all instead."
        )


_DO = {"h": "remove", "l": "cut", "t": "hide", "m": "mask", "d": "delete", "r": "replace"}
_DONE = {"h": "removed", "l": "cut", "t": "hidden", "m": "masked", "d": "deleted", "r": "replaced"}
