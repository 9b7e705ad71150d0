"""vocab.txt alone: token for token what transformers makes of it; other folders are refused."""

import json
import re
import shutil
from itertools import pairwise, product
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
def pair_of_tokenizers(tmp_path_factory):
    """all-MiniLM's list of words, read by us and by the reference."""
    folder, source = tmp_path_factory.mktemp("words"), BUILTIN["all-MiniLM-L6-v2"].folder()
    if not (source / "vocab.txt").exists():
        pytest.skip("the built-in model is here without its vocab.txt")
    shutil.copy(source / "vocab.txt", folder)
    theirs = BertTokenizer(vocab=load_vocab(folder / "vocab.txt"))
    return read_tokenizer(folder, wordpiece=True), theirs


@pytest.mark.parity
@given(st.text(max_size=60))
def test_any_text_with_bert_bases_words(pair_of_tokenizers, text):
    compare(*pair_of_tokenizers, text)


def test_lines_end_at_line_feeds_alone(tmp_path):
    """A word that str.splitlines would break keeps its number."""
    words = [*SPECIAL, "a", "\u2028", "b", "\x85", "c"]
    assert read_tokenizer(write(tmp_path, words), wordpiece=True).token_to_id("c") == 9
    for end, last in product(("\n", "\r\n"), (True, False)):
        text = end.join([*SPECIAL, "a", "b"]) + end * last
        (tmp_path / "vocab.txt").write_bytes(text.encode())
        tokenizer = read_tokenizer(tmp_path, wordpiece=True)
        assert tokenizer.get_vocab_size() == 7 and tokenizer.encode("a b").ids == [2, 5, 6, 3]


NO_LISTS = {
    b"": "lacks [UNK]",
    b"a\nb\n": "lacks [UNK]",
    b"[PAD]\n[UNK]\n[CLS]\na\n": "lacks [SEP]",
    b"[UNK]\n[CLS]\n[SEP]\na\na\n": "lists a word twice",
    b"[UNK]\n[CLS]\n[SEP]\n\n\n": "lists a word twice",
    b"\xff\xfe[UNK]": "not UTF-8",
}


def refused(folder: Path, says: str, *, wordpiece: bool = True, kind: type = CheckpointError):
    with pytest.raises(kind, match=says):
        read_tokenizer(folder, wordpiece)


def test_lists_of_words_that_are_none(tmp_path):
    for content, says in NO_LISTS.items():
        (tmp_path / "vocab.txt").write_bytes(content)
        refused(tmp_path, rf"vocab\.txt.*{re.escape(says)}")
    write(tmp_path, WORDS)
    refused(tmp_path, r"has no tokenizer\.json", wordpiece=False)  # of a family without WordPiece
    with (tmp_path / "vocab.txt").open("wb") as file:
        file.truncate(65 * 2**20)
    refused(tmp_path, "over 64 MB", kind=UnsafeFile)


def test_switches_that_are_none(tmp_path):
    for name in ("do_lower_case", "strip_accents", "tokenize_chinese_chars"):
        for value in ("false", 0, 1.5, [], {}):
            write(tmp_path, WORDS, {name: value})
            refused(tmp_path, f"{name} is .* must be true or false")
    refused(write(tmp_path, WORDS, [1]), "not an object")


@pytest.mark.parametrize("wordpiece", [True, False])
def test_sentencepiece_alone_is_refused_with_a_reason(tmp_path, wordpiece):
    for name in ("spiece.model", "tokenizer.model", "source.spm"):
        path = tmp_path / name
        path.write_bytes(b"\n\x0e\n\x05<unk>")
        says = r"sentencepiece model but no tokenizer\.json"
        refused(tmp_path, says, wordpiece=wordpiece)
        path.unlink()


def test_the_padding_that_a_tokenizer_names(tmp_path):
    tokenizer = read_tokenizer(write(tmp_path, WORDS), wordpiece=True)
    for named in ("[MASK]", {"content": "[MASK]", "lstrip": False}):
        assert named_padding(write(tmp_path, WORDS, {"pad_token": named}), tokenizer) == 4
    for named in ("no such", "\ud800", None, 5, [], {}, {"content": 4}):
        assert named_padding(write(tmp_path, WORDS, {"pad_token": named}), tokenizer) is None
