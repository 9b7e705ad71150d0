"""Texts: what a tokenizer would trip over is refused or told in a plain sentence."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tests.refusals import refused
from viz_encoder.errors import InputError, TooLong
from viz_encoder.inputs import TextReader
from viz_encoder.inputs import text as text_module
from viz_encoder.ui.state.readable import printable


def notes(reader, text):
    return " ".join(reader.read(text).samples[0].notes)


@pytest.fixture
def reader(minilm):
    return minilm.reader


EMPTY = [
    *((text, "empty; type some text") for text in ("", "   ", "\n\t\r\n", "\u2003")),
    (("a", " \n"), "Text B is empty"),
    (["one", " ", "three"], "The text of input 2 is empty"),
    ([("one", ""), "three"], "Text B of input 1 is empty"),
    (["one", ["two"]], "text of input 2 is list, not text; this model reads"),
    *((x, r"\.$") for x in (None, 3, b"bytes", {"a": 1}, ("a", None), ("a",), tuple("abc"), [])),
]


def test_what_is_empty_or_no_text_is_named(reader):
    for text, says in EMPTY:
        refused(InputError, says, reader.read, text)


def test_exactly_as_long_as_the_model_reads_and_one_more(reader):
    room = reader.max_tokens - 2
    fits, over = reader.read("word " * room), reader.read("word " * (room + 1))
    assert fits.values.shape == over.values.shape == (1, reader.max_tokens)
    assert fits.samples[0].notes == ()
    said = over.samples[0].notes[0]
    for part in ("513 tokens", "reads 512", "last 1 were cut", "“word” on"):
        assert part in said


def test_too_many_characters_are_cut_before_tokenizing(reader):
    said = notes(reader, "^" * 1_000_000)
    assert "1,000,000 characters; only the first 20,480 were read" in said


def test_one_very_long_word(reader):
    sample = reader.read("a" * 100_000).samples[0]
    assert len(sample.tokens) == 3 and "[UNK]" in sample.tokens
    assert any("Every token is [UNK]" in note for note in sample.notes)


def test_a_lone_surrogate_is_replaced(reader):
    inputs = reader.read("a\ud800b")
    assert inputs.samples[0].texts == ("a\ufffdb",)
    assert "lone surrogates" in inputs.samples[0].notes[0]


def test_odd_characters_are_read(reader):
    for text in (
        *(
            "a\0b",
            "👨‍👩‍👧 family",
            "שלום עולם",
            "مرحبا",
            "\u202eabc",
            "a\u200bb",
            "e" + "\u0301" * 1000,
        ),
        *("{{7*7}} ${x} </script>", "=cmd|'/c'", "$$x$$", "a\r\n\tb"),
    ):
        sample = reader.read(text).samples[0]
        assert len(sample.tokens) == len(sample.special) == len(sample.words) == len(sample.spans)


def test_typed_special_tokens_are_told(reader):
    said = notes(reader, "a [SEP] b [MASK]")
    assert "[SEP] in the text" in said and "[MASK] in the text" in said
    assert notes(reader, "👨‍👩‍👧 and a word").startswith("1 of 4 tokens is [UNK]")
    assert notes(reader, "a plain sentence") == ""


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("[CLS] the cat sat [MASK] the mat [SEP]", "the cat sat [MASK] the mat"),
        ("  [CLS]the cat[SEP] ", "the cat"),
        ("the cat [SEP]", "the cat"),
        ("[CLS] one [SEP] two [SEP]", "one [SEP] two"),
        (("[CLS] the cat [SEP]", "a dog [SEP]"), ("the cat", "a dog")),
        (("[CLS] the cat", "[CLS] a dog"), ("the cat", "a dog")),
    ],
)
def test_special_tokens_typed_at_the_ends_are_not_added_twice(reader, typed, plain):
    found, expected = reader.read(typed), reader.read(plain)
    assert found.values.tolist() == expected.values.tolist()
    assert found.segments.tolist() == expected.segments.tolist()
    one, other = found.samples[0], expected.samples[0]
    assert (one.texts, one.spans, one.special) == (other.texts, other.spans, other.special)
    said = [note for note in one.notes if note not in other.notes]
    assert len(said) == 1 and "is not added twice" in said[0]


def test_other_special_tokens_stay_where_they_were_typed(reader):
    for typed in ("[CLS]", "[CLS] [SEP]", "[SEP] the cat [CLS]", "[MASK] the cat"):
        found = reader.read(typed)
        assert found.values[0].tolist() == reader.tokenizer.encode(typed).ids
        assert not any("added twice" in note for note in found.samples[0].notes)


@pytest.mark.parametrize(
    ("template", "text", "kept"),
    [
        ("<s> $A </s>", "<s> a b </s>", "<s> a b </s>"),  # RoBERTa
        ("$A </s>", "a b </s>", "a b </s>"),  # T5 adds nothing before
        ("$A </s>", "<s> a b", "<s> a b </s>"),
        ("<s> $A", "<s> a b </s>", "<s> a b </s>"),  # and here nothing after
        ("$A", "<s> a b </s>", "<s> a b </s>"),  # what adds none leaves all
    ],
)
def test_the_ends_are_those_of_the_model_s_own_tokenizer(template, text, kept):
    words = {"<s>": 0, "</s>": 1, "a": 2, "b": 3, "[UNK]": 4}
    tokenizer = Tokenizer(models.WordLevel(words, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    used = [(name, words[name]) for name in ("<s>", "</s>") if name in template]
    tokenizer.post_processor = processors.TemplateProcessing(template, None, used)
    found = TextReader(tokenizer, 20).read(text).samples[0]
    assert list(found.tokens) == kept.split()


def test_a_batch_is_padded_to_the_longest(reader):
    inputs = reader.read(["one two three four", "one", ("one", "two")])
    n = inputs.values.shape[1]
    assert inputs.padded and inputs.valid.sum(dim=1).tolist() == [6, 3, 5]
    for sample, valid in zip(inputs.samples, inputs.valid, strict=True):
        for entries in (sample.tokens, sample.special, sample.words, sample.spans, sample.segments):
            assert len(entries) == n
        padding = [token for token, real in zip(sample.tokens, valid, strict=True) if not real]
        assert set(padding) <= {"[PAD]"}
    assert inputs.samples[2].segments[:5] == (0, 0, 0, 1, 1)
    assert not reader.read("alone").padded


def test_ids_equal_transformers(reader, minilm):
    from transformers import AutoTokenizer

    from viz_encoder.checkpoints import BUILTIN

    reference = AutoTokenizer.from_pretrained(BUILTIN["all-MiniLM-L6-v2"].folder())
    for text in [
        "The animal didn't cross.",
        "naïve café — 12,345.67",
        "word " * 600,
        "typed [CLS] within and [SEP] within",
    ]:
        expected = reference(text, truncation=True, max_length=512)["input_ids"]
        assert reader.read(text).values[0].tolist() == expected


def test_what_would_hide_is_written_out():
    for text, shown in (
        *(("plain", "plain"), ("a\u202eb", "a⟨U+202E⟩b"), ("a\u200bb", "a⟨U+200B⟩b")),
        *(("a\0", "a⟨U+0000⟩"), ("👨‍👩‍👧", "👨‍👩‍👧")),
    ):
        assert printable(text) == shown


def tiny(unknown="[UNK]", vocabulary=("[UNK]", "[CLS]", "[SEP]", "a"), max_tokens=6) -> TextReader:
    model = models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unknown)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return TextReader(tokenizer, max_tokens)


def test_a_tokenizer_that_fails_or_leaves_no_room_is_a_sentence():
    unknown, empty = tiny(unknown="no such word"), TextReader(Tokenizer(models.BPE()), 6)
    refused(InputError, r"cannot read this text: .*UNK.*\.$", unknown.read, "zzz")
    refused(InputError, "finds no tokens", empty.read, "abc")
    for max_tokens, text in ((2, "a"), (1, "a"), (3, ("a", "a"))):
        reader = tiny(max_tokens=max_tokens)
        refused(TooLong, "no room is left for the text", reader.read, text)


def test_both_texts_of_a_pair_are_cut(reader):
    sample = reader.read(("word " * 400, "other " * 400)).samples[0]
    assert len(sample.tokens) == reader.max_tokens
    assert "803 tokens" in sample.notes[0] and "last 291 were cut" in sample.notes[0]
    assert {sample.tokens.count("word"), sample.tokens.count("other")} == {254, 255}


def test_cutting_a_long_text_leaves_the_shared_tokenizer_alone(reader, monkeypatch):
    """The page reads on several threads with one reader: no text may be cut by another's limit."""
    seen, encode = [], text_module._encode

    def watched(tokenizer, texts):
        seen.append((tokenizer is reader.tokenizer, reader.tokenizer.truncation))
        return encode(tokenizer, texts)

    monkeypatch.setattr(text_module, "_encode", watched)
    assert len(reader.read("word " * 600).samples[0].tokens) == 512
    assert seen == [(True, None), (False, None)]


@given(st.text(st.characters(), max_size=60))
def test_any_text_is_read_or_refused_in_a_sentence(minilm, text):
    try:
        inputs = minilm.reader.read(text)
    except InputError as fault:
        kinds = {unicodedata.category(char)[0] for char in text}
        assert str(fault).endswith(".") and kinds <= set("CMZ")  # nothing that BERT reads
        return
    sample = inputs.samples[0]
    n = inputs.values.shape[1]
    assert bool(inputs.valid.all()) and len(sample.tokens) == len(sample.spans) == n
    assert all(0 <= start <= stop <= len(text) for start, stop in sample.spans)


DROPPED = {
    "a\0b": "U+0000 (NUL)",
    "a\u202eb": "U+202E (right-to-left override)",
    "a\u200bb\ufeff": "U+200B (zero width space), U+FEFF (zero width no-break space)",
    "\x07 bell": "U+0007 (a control character)",
}


def test_unseen_characters_that_are_dropped_are_named(minilm):
    for text, named in DROPPED.items():
        (sample,) = minilm.read(("plain", text)).samples
        said = [note for note in sample.notes if "drops" in note]
        assert said == [f"The text has invisible characters that this tokenizer drops: {named}."]
        clean = "".join(char for char in text if char.isprintable() or char.isspace())
        assert minilm.read(("plain", clean)).samples[0].tokens == sample.tokens
        assert not minilm.read(("plain", clean + "\r\n\t end")).samples[0].notes


def test_what_a_tokenizer_keeps_is_not_said_to_be_dropped():
    tokenizer = Tokenizer(models.WordLevel({"a\u200bb": 0, "[UNK]": 1}, "[UNK]"))
    reader = TextReader(tokenizer, 8)
    assert reader.read("a\u200bb").samples[0].notes == ()
