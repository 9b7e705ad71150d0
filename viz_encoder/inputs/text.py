"""TextReader: texts or pairs of texts → token ids, with every change told in a plain sentence."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from reprlib import repr as shown  # cut short: it may be a stranger's, of any length

import torch
from tokenizers import AddedToken, Encoding, Tokenizer

from viz_encoder.errors import InputError, TooLong
from viz_encoder.inputs.sample import Inputs, Sample
from viz_encoder.inputs.typed_ends import without_typed_ends

Text = str | tuple[str, str]
CHARACTERS_A_TOKEN = 40  # no ordinary text needs more; tokenizing is capped before it starts
PREVIEW = 24
UNSEEN = ("Cc", "Cf")  # Unicode's categories of control and format characters
JOINERS = "\u200c\u200d"  # ordinary in emoji and in many scripts
NAMED = 8  # of them, in a note


@dataclass(frozen=True, eq=False)
class TextReader:
    """Turns texts into Inputs with the tokenizer that belongs to a model."""

    tokenizer: Tokenizer
    max_tokens: int
    pad_id: int = 0
    refuses_padding: bool = False  # a typed padding token would stand at no position
    padded_to: int = 0  # padding up to this length is read like any token, as in SigLIP

    def __post_init__(self) -> None:
        """Switch off whatever padding and truncation the tokenizer file carries."""
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def read(
        self, source: Text | list[Text], *, prompt: str = "", max_tokens: int | None = None
    ) -> Inputs:
        """One text, one (text A, text B) pair, or a list of them padded to the longest.

        Args:
            source: what is read.
            prompt: put before each text, before text A of a pair.
            max_tokens: longer texts are cut there; the model's own limit if not given.

        Raises:
            InputError: a text that is empty, or no text at all.
        """
        most = min(self.max_tokens, max_tokens or self.max_tokens)
        if not isinstance(source, list):
            return self._batch([self._row(source, prompt, most)])
        if not source:
            raise InputError("The list of texts is empty; give at least one text.")
        rows = [
            self._row(each, prompt, most, f" of input {number}")
            for number, each in enumerate(source, 1)
        ]
        return self._batch(rows)

    def _batch(self, rows: list["_Row"]) -> Inputs:
        return _batch(rows, self.pad_id, self._pad_token, self.padded_to)

    @property
    def _pad_token(self) -> str:
        return self.tokenizer.id_to_token(self.pad_id) or "[PAD]"

    def _row(self, source: Text, prompt: str, most: int, where: str = "") -> "_Row":
        notes: list[str] = []
        texts = tuple(
            self._clean(text, name + where, notes)
            for text, name in zip(*_named(source), strict=True)
        )
        texts = self._without_typed_ends(texts, notes)
        if prompt:
            texts = (prompt + texts[0], *texts[1:])
            notes.append(f"The model's prompt {shown(prompt)} was put before the text.")
        full = _encode(self.tokenizer, texts)
        if not len(full):
            raise InputError("The tokenizer finds no tokens in this text; type another text.")
        if self.refuses_padding and self.pad_id in full.ids:
            raise InputError(
                f"{self._pad_token} in the text is this model's padding, which has no "
                "position; leave it out."
            )
        self._tell_dropped(full, texts, notes)
        encoding = self._cut(full, texts, most, notes)
        self._tell_specials(encoding, texts, notes)
        return _Row(encoding, texts, tuple(notes), self._n_prompt(prompt, most) if prompt else 0)

    def _clean(self, text: object, name: str, notes: list[str]) -> str:
        if not isinstance(text, str):
            raise InputError(f"{name} is {type(text).__name__}, not text; type some text.")
        if not text.strip():
            raise InputError(f"{name} is empty; type some text first.")
        clean = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
        if clean != text:
            notes.append(
                f"{name} held broken characters (lone surrogates); each is read as \ufffd."
            )
        limit = CHARACTERS_A_TOKEN * self.max_tokens
        if len(clean) > limit:
            notes.append(
                f"{name} has {len(clean):,} characters; only the first {limit:,} were read."
            )
        return clean[:limit]

    def _without_typed_ends(self, texts: tuple[str, ...], notes: list[str]) -> tuple[str, ...]:
        """The texts without the special tokens that the tokenizer puts at their ends anyway."""
        if not any(token.content in text for token in _specials(self.tokenizer) for text in texts):
            return texts
        kept, typed = without_typed_ends(_encode(self.tokenizer, texts), texts)
        if typed:
            notes.append(
                f"This model puts {' and '.join(typed)} around the text itself, so what was typed "
                "there is not added twice."
            )
        return kept

    def _tell_dropped(self, full: Encoding, texts: tuple[str, ...], notes: list[str]) -> None:
        """Name the unseen characters without which the tokens are the same."""
        unseen = sorted({char for text in texts for char in text if _is_unseen(char)})
        if not unseen or not self._drops(unseen, full, texts):
            unseen = [char for char in unseen[:NAMED] if self._drops([char], full, texts)]
        if unseen:
            names = ", ".join(map(_code_point, unseen[:NAMED]))
            more = f" and {len(unseen) - NAMED} others" if len(unseen) > NAMED else ""
            notes.append(
                f"The text has invisible characters that this tokenizer drops: {names}{more}."
            )

    def _drops(self, chars: list[str], full: Encoding, texts: tuple[str, ...]) -> bool:
        """Whether the tokens are the same without these characters."""
        without = str.maketrans(dict.fromkeys(chars))
        left = tuple(text.translate(without) for text in texts)
        try:
            return _encode(self.tokenizer, left).ids == full.ids
        except InputError:
            return False

    def _cut(self, full: Encoding, texts: tuple[str, ...], most: int, notes: list[str]) -> Encoding:
        if len(full) <= most:
            return full
        n_special = self.tokenizer.num_special_tokens_to_add(len(texts) > 1)
        if n_special >= most:
            raise TooLong(
                f"This model reads {most} tokens, and its own special tokens take {n_special}; no "
                "room is left for the text."
            )
        cut = _encode(self._cutter(most), texts)
        reads = "this model reads" if most == self.max_tokens else "the model's own vectors use"
        notes.append(
            f"The text has {len(full):,} tokens and {reads} {most:,}: "
            f"the last {len(full) - len(cut):,} were cut, from “{_lost(cut, texts)}” on."
        )
        return cut

    def _cutter(self, most: int) -> Tokenizer:
        """A second tokenizer that cuts: the first is shared by threads, so it never changes."""
        if most not in self._cutters:
            cutter = Tokenizer.from_str(self.tokenizer.to_str())
            cutter.enable_truncation(most)
            self._cutters[most] = cutter
        return self._cutters[most]

    @cached_property
    def _cutters(self) -> dict[int, Tokenizer]:
        return {}

    def _n_prompt(self, prompt: str, most: int) -> int:
        """How many tokens the prompt takes, [CLS] counted and a closing [SEP] not."""
        ids = _encode(self.tokenizer, (prompt,)).ids
        if len(ids) > most:
            ids = _encode(self._cutter(most), (prompt,)).ids
        special = {i for i, t in self.tokenizer.get_added_tokens_decoder().items() if t.special}
        return len(ids) - bool(ids and ids[-1] in special)

    def _tell_specials(self, encoding: Encoding, texts: tuple[str, ...], notes: list[str]) -> None:
        typed = _typed_specials(encoding, texts, self.tokenizer)
        for token in sorted(typed):
            notes.append(
                f"{token} in the text was read as the model's own special token, as its "
                "tokenizer does."
            )
        unknown = self.tokenizer.token_to_id("[UNK]")
        own = [i for i, span in zip(encoding.ids, encoding.offsets, strict=True) if span != (0, 0)]
        lost = sum(i == unknown for i in own) if unknown is not None else 0
        if own and lost == len(own):
            notes.append("Every token is [UNK]: this model's vocabulary knows none of this text.")
        elif lost:
            notes.append(
                f"{lost} of {len(own)} tokens {'is' if lost == 1 else 'are'} [UNK]: not in "
                "this model's vocabulary."
            )


def _is_unseen(char: str) -> bool:
    """NUL and other controls, bidi controls, zero-width characters; not spaces or new lines."""
    if char.isprintable() or char.isspace() or char in JOINERS:
        return False
    return unicodedata.category(char) in UNSEEN


def _code_point(char: str) -> str:
    """Such as U+202E (right-to-left override)."""
    name = unicodedata.name(char, "").lower() or ("NUL" if char == "\0" else "a control character")
    return f"U+{ord(char):04X} ({name})"


@dataclass(frozen=True)
class _Row:
    encoding: Encoding
    texts: tuple[str, ...]
    notes: tuple[str, ...]
    n_prompt: int = 0


def _named(source: object) -> tuple[tuple[object, ...], tuple[str, ...]]:
    if isinstance(source, tuple):
        if len(source) != 2:
            raise InputError(f"A pair is (text A, text B); this one has {len(source)} entries.")
        return source, ("Text A", "Text B")
    return (source,), ("The text",)


def _encode(tokenizer: Tokenizer, texts: tuple[str, ...]) -> Encoding:
    try:
        return tokenizer.encode(texts[0], texts[1] if len(texts) > 1 else None)
    except Exception as fault:  # the tokenizers library raises bare Exception
        raise InputError(f"The tokenizer cannot read this text: {fault}.") from fault


def _lost(cut: Encoding, texts: tuple[str, ...]) -> str:
    """The first characters that did not fit, from the text that lost most."""
    ends = [0] * len(texts)
    for sequence, (_, end) in zip(cut.sequence_ids, cut.offsets, strict=True):
        if sequence is not None:
            ends[sequence] = max(ends[sequence], end)
    text, end = max(zip(texts, ends, strict=True), key=lambda pair: len(pair[0]) - pair[1])
    return " ".join(text[end : end + PREVIEW].split())


def _typed_specials(encoding: Encoding, texts: tuple[str, ...], tokenizer: Tokenizer) -> set[str]:
    """Special tokens that stand in the text letter by letter ([UNK] also stands for others)."""
    special = {token.content for token in _specials(tokenizer)}
    found = set()
    rows = zip(encoding.tokens, encoding.offsets, encoding.sequence_ids, strict=True)
    for token, (start, stop), sequence in rows:
        if sequence is not None and token in special and texts[sequence][start:stop] == token:
            found.add(token)
    return found


def _specials(tokenizer: Tokenizer) -> Iterable[AddedToken]:
    return (t for t in tokenizer.get_added_tokens_decoder().values() if t.special)


def _batch(rows: list[_Row], pad_id: int, pad_token: str, padded_to: int) -> Inputs:
    longest = max(padded_to, max(len(row.encoding) for row in rows))
    ids = torch.full((len(rows), longest), pad_id)
    segments = torch.zeros(len(rows), longest, dtype=torch.long)
    valid = torch.zeros(len(rows), longest, dtype=torch.bool)
    for index, row in enumerate(rows):
        length = len(row.encoding)
        ids[index, :length] = torch.tensor(row.encoding.ids)
        segments[index, :length] = torch.tensor(row.encoding.type_ids)
        valid[index, : max(length, padded_to)] = True
    samples = tuple(_sample(row, longest, pad_token) for row in rows)
    return Inputs(ids, valid, samples, segments, padded=not bool(valid.all()))


def _sample(row: _Row, longest: int, pad_token: str) -> Sample:
    encoding, n_pad = row.encoding, longest - len(row.encoding)
    return Sample(
        tokens=(*encoding.tokens, *[pad_token] * n_pad),
        special=(*map(bool, encoding.special_tokens_mask), *[True] * n_pad),
        words=(*encoding.word_ids, *[None] * n_pad),
        spans=(*encoding.offsets, *[(0, 0)] * n_pad),
        segments=(*encoding.type_ids, *[0] * n_pad),
        texts=row.texts,
        notes=row.notes,
        n_prompt=row.n_prompt,
    )
