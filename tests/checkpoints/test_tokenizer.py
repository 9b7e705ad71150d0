"""vocab.txt alone: token for token what transformers makes of it; other folders are refused."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertTokenizer
from transformers.models.bert.tokenization_bert import load_vocab

from viz_encoder.checkpoints.builtin import BUILTIN
from viz_encoder.checkpoints.tokenizer import named_padding, read_tokenizer
from viz_encoder.errors import CheckpointError, UnsafeFile

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [
    *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    *"éèüñßÅåøœ中文字日本語한국어кирıİσς😀🏳️,.!?;:'\"-_()[]{}<>@#$%^&*~`|\\/+=“”‘’…—¿¡。，、",
    "\u2028", "\x85", "\x0b", "\x1c", "\u0301", "\u200d",  # which str.splitlines would break at
    "the", "cat", "sat", "naive", "naïve", "cafe", "café", "un", "happy", "中文", "[", "]", "MASK",
]  # fmt: skip
WORDS = list(dict.fromkeys([*SPECIAL, *PIECES, *(f"##{piece}" for piece in PIECES)]))
TEXTS = [
    "the cat sat",
    "The CAT Sat!",
    "unhappy naïve café, cafe\u0301 — naive",
    "中文和日本語 한국어 mixed中文text",
    "😀 emoji 🏳️\u200d🌈 and 👩\u200d👩\u200d👧",
    "it's o'clock... \"quoted\" (brackets) [not special] {x}<y>",
    "tabs\tand\nlines\r\n and\u00a0spaces\u3000wide\u2028here\x85there",
    "control\x00\x01\x7f chars \ufffd \ufeff \u200b",
    "[MASK] the [CLS] cat [SEP] [PAD] [UNK] [mask]",
    "İstanbul ıssız ΣΊΣΥΦΟΣ straße STRASSE Ångström œuvre",
    "a" * 100,
    "a" * 101,
    "日" * 120,
    "e\u0301" * 60,
    "кириллица и ещё й",
    "مرحبا بالعالم हिन्दी ไทย",
    "http://example.com/a_b?c=d&e=f#g 1,234.56 $9.99 50%",
    "¿qué? ¡sí! “curly” ‘quotes’ … 。，、",
    "##the ##cat",
    "\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
    "   leading and trailing   ",
]
SETTINGS = [
    {},
    {"do_lower_case": False},
    {"do_lower_case": True, "strip_accents": False},
    {"do_lower_case": False, "strip_accents": True},
    {"tokenize_chinese_chars": False},
    {"do_lower_case": True, "strip_accents": None},
]


def write(folder: Path, words: list[str], said: object = None) -> Path:
    text = "".join(f"{word}\n" for word in words)
    (folder / "vocab.txt").write_bytes(text.encode())
    if said:
        (folder / "tokenizer_config.json").write_text(json.dumps(said))
    return folder


def compare(ours, theirs, *texts: str) -> None:
    got, want = ours.encode(*texts), theirs(*texts, return_offsets_mapping=True)
    assert got.ids == want["input_ids"]
    assert got.type_ids == want["token_type_ids"]
    assert got.offsets == want["offset_mapping"]
    assert got.tokens == want.tokens()


@pytest.mark.parity
@pytest.mark.parametrize("said", SETTINGS)
def test_vocab_txt_equals_the_reference(tmp_path, said):
    ours = read_tokenizer(write(tmp_path, WORDS, said), wordpiece=True)
    theirs = BertTokenizer(vocab=load_vocab(tmp_path / "vocab.txt"), **said)
    for text in TEXTS:
        compare(ours, theirs, text)
    for pair in pairwise(TEXTS):
        compare(ours, theirs, *pair)


@pytest.fixture(scope="module")
def minilms():
    """all-MiniLM's list of words, read by us and by the reference."""
    source = BUILTIN["all-MiniLM-L6-v2"].folder() / "vocab.txt"
    if not source.exists():
        pytest.skip("the built-in model is here without its vocab.txt")
    return source


@pytest.fixture(scope="module")
def pair_of_tokenizers(minilms, tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    (folder / "vocab.txt").write_bytes(minilms.read_bytes())
    theirs = BertTokenizer(vocab=load_vocab(folder / "vocab.txt"))
    return read_tokenizer(folder, wordpiece=True), theirs


@pytest.mark.parity
@given(st.text(max_size=60))
def test_any_text_with_bert_bases_words(pair_of_tokenizers, text):
    compare(*pair_of_tokenizers, text)


def test_a_word_that_str_splitlines_would_break_keeps_its_number(tmp_path):
    words = [*SPECIAL, "a", "\u2028", "b", "\x85", "c"]
    tokenizer = read_tokenizer(write(tmp_path, words), wordpiece=True)
    assert tokenizer.token_to_id("c") == 9


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path, end, last):
    text = end.join([*SPECIAL, "a", "b"]) + end * last
    (tmp_path / "vocab.txt").write_bytes(text.encode())
    tokenizer = read_tokenizer(tmp_path, wordpiece=True)
    assert tokenizer.get_vocab_size() == 7 and tokenizer.encode("a b").ids == [2, 5, 6, 3]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "lacks [UNK]"),
        (b"a\nb\n", "lacks [UNK]"),
        (b"[PAD]\n[UNK]\n[CLS]\na\n", "lacks [SEP]"),
        (b"[UNK]\n[CLS]\n[SEP]\na\na\n", "lists a word twice"),
        (b"[UNK]\n[CLS]\n[SEP]\n\n\n", "lists a word twice"),
        (b"\xff\xfe[UNK]", "not UTF-8"),
    ],
)
def test_lists_of_words_that_are_none(tmp_path, content, says):
    (tmp_path / "vocab.txt").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"vocab\.txt") as fault:
        read_tokenizer(tmp_path, wordpiece=True)
    assert says in str(fault.value)


@pytest.mark.parametrize("name", ["do_lower_case", "strip_accents", "tokenize_chinese_chars"])
@pytest.mark.parametrize("value", ["false", 0, 1.5, [], {}])
def test_switches_that_are_none(tmp_path, name, value):
    with pytest.raises(CheckpointError, match=f"{name} is .* must be true or false"):
        read_tokenizer(write(tmp_path, WORDS, {name: value}), wordpiece=True)


def test_a_tokenizer_config_that_is_no_object(tmp_path):
    with pytest.raises(CheckpointError, match="not an object"):
        read_tokenizer(write(tmp_path, WORDS, [1]), wordpiece=True)


@pytest.mark.parametrize("name", ["spiece.model", "sentencepiece.bpe.model", "tokenizer.model",
                                  "spm.model", "source.spm"])  # fmt: skip
@pytest.mark.parametrize("wordpiece", [True, False])
def test_sentencepiece_alone_is_refused_with_a_reason(tmp_path, name, wordpiece):
    (tmp_path / name).write_bytes(b"\n\x0e\n\x05<unk>")
    with pytest.raises(CheckpointError, match=r"sentencepiece model but no tokenizer\.json"):
        read_tokenizer(tmp_path, wordpiece)


def test_vocab_txt_will_not_do_for_every_family(tmp_path):
    with pytest.raises(CheckpointError, match=r"has no tokenizer\.json"):
        read_tokenizer(write(tmp_path, WORDS), wordpiece=False)


def test_a_list_of_words_over_the_limit(tmp_path):
    with (tmp_path / "vocab.txt").open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(UnsafeFile, match="over 64 MB"):
        read_tokenizer(tmp_path, wordpiece=True)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("[MASK]", 4), ({"content": "[MASK]", "lstrip": False}, 4), ("no such", None),
        ("\ud800", None), (None, None), (5, None), ([], None), ({}, None), ({"content": 4}, None),
    ],
)  # fmt: skip
def test_the_padding_that_a_tokenizer_names(tmp_path, named, expected):
    folder = write(tmp_path, WORDS, {"pad_token": named})
    assert named_padding(folder, read_tokenizer(folder, wordpiece=True)) == expected
