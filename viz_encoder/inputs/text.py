"""TextReader: texts or pairs of texts → token ids, with every change told in a plain sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from reprlib import repr as shown  # truncates: untrusted input can be of any length

from tokenizers import Encoding, Tokenizer

from viz_encoder.errors import InputError, TooLong
from viz_encoder.inputs.encoded import NOT_TYPED, Encoded, PaddingWord, without_tail
from viz_encoder.inputs.sample import Inputs
from viz_encoder.inputs.text_rows import (
    TextRow,
    batch_of,
    dropped_said,
    lost,
    specials_of,
    tell_padding,
    tell_specials,
    without_typed_ends,
)

Text = str | tuple[str, str]
CHARACTERS_A_TOKEN = 40  # no ordinary text needs more; tokenizing is capped before it starts


@dataclass(frozen=True, eq=False)
class TextReader:
    """Turns texts into Inputs with the tokenizer that belongs to a model."""

    tokenizer: Tokenizer
    max_tokens: int
    pad_id: int = 0
    refuses_padding: bool = False  # between words, padding would stand at no position
    padded_to: int = 0  # padding up to this length is read like any token, as in SigLIP

    def __post_init__(self) -> None:
        """Switch off whatever padding and truncation the tokenizer file carries."""
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def read(
        self,
        source: Text | list[Text],
        *,
        prompt: str = "",
        max_tokens: int | None = None,
    ) -> Inputs:
        r"""Read one text, one (text A, text B) pair, or a list of them padded to the longest.

        A padding token that was typed, such as [PAD], is padding: no token attends to it, and at
        the end of a text it stands behind [SEP], as in a batch. \[PAD] is read as a word.

        Args:
            source: what is read.
            prompt: put before each text, before text A of a pair.
            max_tokens: longer texts are cut there; the model's own limit if not given.

        Raises:
            InputError: a text that is empty or nothing but padding, or no text at all.
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

    def id_of(self, token: str) -> int | None:
        """The number of a token in the vocabulary; None where there is none of that name."""
        try:
            return self.tokenizer.token_to_id(token)
        except UnicodeEncodeError:  # half of a character
            return None

    @cached_property
    def _padding_word(self) -> PaddingWord:
        """The typed form of padding: a token of its own, which this model does not attend to."""
        name = self.tokenizer.id_to_token(self.pad_id) or ""
        special = name in {token.content for token in specials_of(self.tokenizer)}
        if not special or self.padded_to or self.pad_id in self.tokenizer.encode("a").ids:
            return NOT_TYPED  # read like any token, or in every text
        return PaddingWord(name, self.pad_id)

    def _batch(self, rows: list[TextRow]) -> Inputs:
        return batch_of(rows, self.pad_id, self._pad_token, self.padded_to)

    @property
    def _pad_token(self) -> str:
        return self.tokenizer.id_to_token(self.pad_id) or "[PAD]"

    def _row(self, source: Text, prompt: str, most: int, where: str = "") -> TextRow:
        notes: list[str] = []
        given, whose = _named(source)
        names = [name + where for name in whose]
        texts = tuple(map(partial(self._clean, notes=notes), given, names))
        texts, tail, n_behind = self._without_tail(texts, names)
        texts = self._without_typed_ends(texts, notes)
        if prompt:
            texts = (prompt + texts[0], *texts[1:])
            notes.append(f"The model's prompt {shown(prompt)} was put before the text.")
        full = self._encoded(texts)
        if all(of is None for of in full.text_of):
            raise InputError(
                "The tokenizer finds no tokens in this text: its characters are invisible, or not "
                "read at all; type another text."
            )
        if self.refuses_padding and self.pad_id in full.ids:
            raise InputError(
                f"{self._pad_token} in the text is this model's padding, which has no "
                "position; type it at the end, or leave it out."
            )
        notes += dropped_said(texts, partial(self._drops, full))
        cut = self._cut(full, most, notes)
        n_kept = min(n_behind, most - len(cut))
        tell_specials(cut, self.tokenizer, notes)
        tell_padding(cut, n_kept, n_behind, notes)
        texts = (*texts[:-1], texts[-1] + tail)
        return TextRow(cut, texts, tuple(notes), n_kept, self._n_prompt(prompt, most))

    def _without_tail(
        self, texts: tuple[str, ...], names: Sequence[str]
    ) -> tuple[tuple[str, ...], str, int]:
        """The texts without padding that was typed behind the last, that end, and its tokens."""
        word = self._padding_word
        if not word.is_in(texts):
            return texts, "", 0
        full = self._encoded(texts)
        for number, name in enumerate(names):
            own = full.own(number)
            if own and full.padding.issuperset(own):
                raise InputError(
                    f"{name} is nothing but padding ({word.name}); type some text, or write "
                    f"{word.as_word} to have it read as a word."
                )
        return without_tail(full)

    def _clean(self, text: object, name: str, *, notes: list[str]) -> str:
        if hasattr(text, "sample"):  # duck-typed: a Trace is above this layer
            raise InputError(
                f"{name} is a run that was captured already; give the text that it was captured "
                "from, such as trace.sample.texts[0]."
            )
        if not isinstance(text, str):
            kind = type(text).__name__
            raise InputError(f"{name} is {kind}, not text; this model reads texts: give a str.")
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
        if not any(
            token.content in text for token in specials_of(self.tokenizer) for text in texts
        ):
            return texts
        kept, typed = without_typed_ends(self._encoded(texts))
        if typed:
            notes.append(
                f"This model puts {' and '.join(typed)} around the text itself, so what was typed "
                "there is not added twice."
            )
        return kept

    def _drops(self, full: Encoded, chars: Sequence[str]) -> bool:
        """Whether the tokens are the same without these characters."""
        without = str.maketrans(dict.fromkeys(chars))
        left = tuple(text.translate(without) for text in full.texts)
        try:
            return self._encoded(left).ids == full.ids
        except InputError:
            return False

    def _cut(self, full: Encoded, most: int, notes: list[str]) -> Encoded:
        if len(full) <= most:
            return full
        n_special = self.tokenizer.num_special_tokens_to_add(len(full.texts) > 1)
        if n_special >= most:
            raise TooLong(
                f"This model reads {most} tokens, and its own special tokens take {n_special}; no "
                "room is left for the text."
            )
        cut = self._encoded(full.texts, self._cutter(most))
        reads = "this model reads" if most == self.max_tokens else "the model's own vectors use"
        notes.append(
            f"The text has {len(full):,} tokens and {reads} {most:,}: "
            f"the last {len(full) - len(cut):,} were cut, from “{lost(cut)}” on."
        )
        return cut

    def _encoded(self, texts: tuple[str, ...], tokenizer: Tokenizer | None = None) -> Encoded:
        word = self._padding_word
        bare = tuple(map(word.bare, texts))
        return Encoded(_encode(tokenizer or self.tokenizer, bare), texts, word)

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
        """Number of prompt tokens, including [CLS] but not a final [SEP]."""
        if not prompt:
            return 0
        ids = _encode(self.tokenizer, (prompt,)).ids
        if len(ids) > most:
            ids = _encode(self._cutter(most), (prompt,)).ids
        special = {i for i, t in self.tokenizer.get_added_tokens_decoder().items() if t.special}
        return len(ids) - bool(ids and ids[-1] in special)


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
