"""The tokenizer of a model folder: tokenizer.json, or BERT's vocab.txt where there is no other."""

from collections.abc import Mapping
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from tokenizers import Tokenizer
from tokenizers.decoders import WordPiece as WordPieceDecoder
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from viz_encoder.checkpoints.files import inside, read_json
from viz_encoder.errors import CheckpointError, UnsafeFile

MAX_BYTES = 64 * 2**20
SWITCHES = ("do_lower_case", "strip_accents", "tokenize_chinese_chars")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def find_tokenizer(folder: Path, wordpiece: bool) -> Tokenizer | None:
    """The folder's tokenizer; None where it has none, and the model then takes token ids."""
    usable = folder / "tokenizer.json", folder / ("vocab.txt" if wordpiece else "tokenizer.json")
    if _has_sentencepiece(folder) or any(path.exists() for path in usable):
        return read_tokenizer(folder, wordpiece)
    return None


def read_tokenizer(folder: Path, wordpiece: bool) -> Tokenizer:
    """The folder's tokenizer; `wordpiece` says whether vocab.txt alone will do.

    Raises:
        CheckpointError: no tokenizer that can be read.
    """
    whole = folder / "tokenizer.json"
    if not whole.exists() and wordpiece and (folder / "vocab.txt").exists():
        return _from_words(folder)
    if not whole.exists() and _has_sentencepiece(folder):
        raise CheckpointError(
            f"{folder.name} has a sentencepiece model but no tokenizer.json; save its fast "
            "tokenizer with transformers (AutoTokenizer …save_pretrained) and load that."
        )
    path = _of_size(inside(folder, "tokenizer.json"))
    try:
        return Tokenizer.from_file(str(path))
    except Exception as fault:  # the tokenizers library raises bare Exception
        raise CheckpointError(f"tokenizer.json cannot be read: {str(fault)[:200]}.") from fault


def _from_words(folder: Path) -> Tokenizer:
    """BERT's WordPiece tokenizer (Wu et al., 2016, arXiv:1609.08144) from a list of its words."""
    try:
        text = _of_size(inside(folder, "vocab.txt")).read_text(encoding="utf-8")
    except ValueError as fault:
        raise CheckpointError(f"vocab.txt is not UTF-8 text: {fault}.") from fault
    # Split at line feeds only: multilingual lists hold other separators (U+2028, U+0085) as words.
    words = text.removesuffix("\n").split("\n")
    vocabulary = {word: number for number, word in enumerate(words)}
    missing = [token for token in SPECIAL[1:4] if token not in vocabulary]
    if missing or len(vocabulary) != len(words):
        raise CheckpointError(
            f"vocab.txt {'lacks ' + missing[0] if missing else 'lists a word twice'}; it must be "
            "BERT's list of words, one per line."
        )
    settings = _settings(folder)
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(
        lowercase=settings.get("do_lower_case", True),
        strip_accents=settings.get("strip_accents"),
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.decoder = WordPieceDecoder()
    tokenizer.add_special_tokens([token for token in SPECIAL if token in vocabulary])
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def named_padding(folder: Path, tokenizer: Tokenizer) -> int | None:
    """The id of the padding that tokenizer_config.json names; it counts, not config.json's.

    SigLIP 2 attends to its padding, and its config.json names none.
    """
    named = _said(folder).get("pad_token")
    named = named.get("content") if isinstance(named, Mapping) else named
    if not isinstance(named, str) or not named.isprintable():  # the library takes no surrogates
        return None
    return tokenizer.token_to_id(named)


def _said(folder: Path) -> dict[str, Any]:
    if not (folder / "tokenizer_config.json").exists():
        return {}
    return read_json(folder, "tokenizer_config.json")


def _settings(folder: Path) -> dict[str, Any]:
    settings = _said(folder)
    switches = {name: settings[name] for name in SWITCHES if settings.get(name) is not None}
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise CheckpointError(
                f"{name} is {shown(value)} in tokenizer_config.json; it must be true or false."
            )
    return switches


def _of_size(path: Path) -> Path:
    if path.stat().st_size > MAX_BYTES:
        raise UnsafeFile(f"{path.name} is over {MAX_BYTES // 2**20} MB; no tokenizer needs that.")
    return path


def _has_sentencepiece(folder: Path) -> bool:
    return folder.is_dir() and any(
        entry.name.endswith((".model", ".spm")) for entry in folder.iterdir()
    )
