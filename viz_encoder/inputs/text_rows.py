"""Text rows: texts that were read, as one batch; padding never counts as a word."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from tokenizers import AddedToken, Tokenizer

from viz_encoder.inputs.encoded import Encoded
from viz_encoder.inputs.sample import Inputs, Sample

UNSEEN = ("Cc", "Cf")  # Unicode's categories of control and format characters
JOINERS = "\u200c\u200d"  # ordinary in emoji and in many scripts
NAMED = 8  # listed in a note
Drops = Callable[[Sequence[str]], bool]


def dropped_said(texts: Sequence[str], drops: Drops) -> list[str]:
    """A note that names the unseen characters without which the tokens are the same, or none."""
    unseen = sorted({char for text in texts for char in text if _is_unseen(char)})
    if not unseen or not drops(unseen):
        unseen = [char for char in unseen[:NAMED] if drops([char])]
    if not unseen:
        return []
    names = ", ".join(map(_code_point, unseen[:NAMED]))
    more = f" and {len(unseen) - NAMED} others" if len(unseen) > NAMED else ""
    return [f"The text has invisible characters that this tokenizer drops: {names}{more}."]


def _is_unseen(char: str) -> bool:
    """NUL and other controls, bidi controls, zero-width characters; not spaces or new lines."""
    if char.isprintable() or char.isspace() or char in JOINERS:
        return False
    return unicodedata.category(char) in UNSEEN


def _code_point(char: str) -> str:
    """Such as U+202E (right-to-left override)."""
    name = unicodedata.name(char, "").lower() or ("NUL" if char == "\0" else "a control character")
    return f"U+{ord(char):04X} ({name})"


def without_typed_ends(full: Encoded) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts between them, and the special tokens that were typed; each is taken off once.

    At a text's start that is a token which the tokenizer puts before everything ([CLS], <s>), at
    its end one that it puts after everything ([SEP], </s>), of either text of a pair; typed padding
    may stand outside of them. A text of which nothing would be left stays as it is.
    """
    of_text = [place for place, text in enumerate(full.text_of) if text is not None]
    added = [place for place, text in enumerate(full.text_of) if text is None]
    if not of_text:
        return full.texts, ()
    opening = {full.ids[place] for place in added if place < of_text[0]}
    closing = {full.ids[place] for place in added if place > of_text[-1]}
    kept, typed = [], dict[str, None]()
    for at, text in enumerate(full.texts):
        words = [place for place in full.own(at) if place not in full.padding]
        start = _typed_at(full, words[:1], opening, text)
        stop = _typed_at(full, words[-1:], closing, text)
        found = [text[slice(*span)] for span in (start, stop) if span]
        if not found or len(words) <= len(found):
            kept.append(text)
            continue
        first, last = start or (0, 0), stop or (len(text),) * 2
        # Anything outside them is padding or spaces.
        parts = text[: first[0]], text[first[1] : last[0]], text[last[1] :]
        kept.append(" ".join(part.strip() for part in parts if part.strip()))
        typed.update(dict.fromkeys(found))
    return tuple(kept), tuple(typed)


def _typed_at(
    full: Encoded, places: list[int], added: set[int], text: str
) -> tuple[int, int] | None:
    """The characters of a token, if it is one of those added and stands there letter by letter."""
    for place in places:
        start, stop = full.spans[place]
        if full.ids[place] in added and text[start:stop] == full.tokens[place]:
            return start, stop
    return None


PREVIEW = 24
N_LISTED = 8  # tokens that a note names


def specials_of(tokenizer: Tokenizer) -> Iterable[AddedToken]:
    """The tokenizer's special tokens."""
    return (t for t in tokenizer.get_added_tokens_decoder().values() if t.special)


def lost(cut: Encoded) -> str:
    """The first characters that did not fit, from the text that lost most."""
    ends = [0] * len(cut.texts)
    for text_of, (_, end) in zip(cut.text_of, cut.spans, strict=True):
        if text_of is not None:
            ends[text_of] = max(ends[text_of], end)
    text, end = max(zip(cut.texts, ends, strict=True), key=lambda pair: len(pair[0]) - pair[1])
    return " ".join(text[end : end + PREVIEW].split())


def tell_specials(cut: Encoded, tokenizer: Tokenizer, notes: list[str]) -> None:
    """Note special tokens in the text, and the number of unknown tokens."""
    typed = _typed_specials(cut, tokenizer)
    if at := typed.pop(cut.word.name, []):
        are = f"Token {at[0]} is" if len(at) == 1 else f"Tokens {_listed(at)} are"
        notes.append(
            f"{are} {cut.word.name} as an ordinary token (with the model's embedding of "
            f"{cut.word.name}), because you wrote {cut.word.as_word}."
        )
    for token in sorted(typed):
        notes.append(f"{token} in the text was read as the model's own special token.")
    notes += filter(None, [unknown_said(cut.tokens, cut.spans)])


def unknown_said(tokens: Iterable[str], spans: Iterable[tuple[int, int]]) -> str:
    """How many tokens of a text are unknown to the model; "" of none."""
    own = [token for token, span in zip(tokens, spans, strict=False) if span != (0, 0)]
    n_lost = own.count("[UNK]")
    if not n_lost:
        return ""
    if n_lost == len(own):
        return "Every token is [UNK]: this model's vocabulary knows none of this text."
    is_or_are = "is" if n_lost == 1 else "are"
    return f"{n_lost} of {len(own)} tokens {is_or_are} [UNK]: not in this model's vocabulary."


def _listed(places: list[int]) -> str:
    """The first of them, as a person reads them."""
    first = ", ".join(map(str, places[:N_LISTED]))
    return f"{first} …" if len(places) > N_LISTED else first


def _typed_specials(cut: Encoded, tokenizer: Tokenizer) -> dict[str, list[int]]:
    """Positions of special tokens typed literally ([UNK] also stands for other words)."""
    special = {token.content for token in specials_of(tokenizer)}
    rows = enumerate(zip(cut.tokens, cut.spans, cut.text_of, strict=True))
    found: dict[str, list[int]] = {}
    for at, (token, span, text) in rows:
        own = text is not None and at not in cut.padding and token in special
        if own and text is not None and cut.texts[text][slice(*span)] == token:
            found.setdefault(token, []).append(at)
    return found


def tell_padding(cut: Encoded, n_kept: int, n_behind: int, notes: list[str]) -> None:
    """Note which part of the text is padding, and how to escape it."""
    n_padding, n_tokens, name = len(cut.padding) + n_kept, len(cut) + n_kept, cut.word.name
    if n_padding:
        last = cut.tokens[-1] if cut.text_of[-1] is None else "all other tokens"
        behind = f"; at the end of the text it is moved behind {last}" if n_kept else ""
        notes.append(
            f"{n_padding:,} of {n_tokens:,} tokens {'is' if n_padding == 1 else 'are'} padding, "
            f"because {name} was typed{behind}. No token attends to padding; to have it read as a "
            f"word, write {cut.word.as_word}."
        )
    if n_kept < n_behind:
        notes.append(f"{n_behind - n_kept:,} {name} at the end did not fit, and were left out.")


@dataclass(frozen=True)
class TextRow:
    """One text or pair: its tokens, the text read, and notes."""

    encoded: Encoded
    texts: tuple[str, ...]
    notes: tuple[str, ...]
    n_behind: int = 0  # padding that was typed behind the text
    n_prompt: int = 0

    def __len__(self) -> int:
        """Tokens, with the padding behind the text."""
        return len(self.encoded) + self.n_behind


def batch_of(rows: Sequence[TextRow], pad_id: int, pad_token: str, padded_to: int) -> Inputs:
    """The rows filled up to the longest; up to `padded_to`, what fills them counts as real."""
    longest = max(padded_to, max(map(len, rows)))
    ids = torch.full((len(rows), longest), pad_id)
    segments = torch.zeros(len(rows), longest, dtype=torch.long)
    valid = torch.zeros(len(rows), longest, dtype=torch.bool)
    for index, row in enumerate(rows):
        length = len(row.encoded)
        ids[index, :length] = torch.tensor(row.encoded.ids)
        segments[index, :length] = torch.tensor(row.encoded.encoding.type_ids)
        valid[index, : max(length, padded_to)] = True
        valid[index, list(row.encoded.padding)] = False
    samples = tuple(_sample(row, longest, pad_token) for row in rows)
    return Inputs(ids, valid, samples, segments, padded=not bool(valid.all()))


def _sample(row: TextRow, longest: int, pad_token: str) -> Sample:
    """Padding is neither a word nor part of the text, wherever it is."""
    encoded, n_pad = row.encoded, longest - len(row.encoded)
    encoding, padding = encoded.encoding, encoded.padding
    special = (bool(its) or at in padding for at, its in enumerate(encoding.special_tokens_mask))
    words = (None if at in padding else its for at, its in enumerate(encoding.word_ids))
    spans = ((0, 0) if at in padding else its for at, its in enumerate(encoded.spans))
    return Sample(
        tokens=(*encoded.tokens, *[pad_token] * n_pad),
        special=(*special, *[True] * n_pad),
        words=(*words, *[None] * n_pad),
        spans=(*spans, *[(0, 0)] * n_pad),
        segments=(*encoding.type_ids, *[0] * n_pad),
        texts=row.texts,
        notes=row.notes,
        n_prompt=row.n_prompt,
    )
