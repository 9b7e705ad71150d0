"""Reads a corpus from a client: lines, a file of texts, or a saved table."""

from itertools import islice
from pathlib import Path
from typing import Any

from viz_encoder.bundled import asset
from viz_encoder.corpora import HeadTable, TreeSentence, read_treebank
from viz_encoder.corpora.corpus_items import (
    CSV_KINDS,
    JSON_KINDS,
    TREES,
    CorpusItems,
    TextColumns,
    Unreadable,
    column_names,
)
from viz_encoder.corpora.table_files import KEY, from_data
from viz_encoder.errors import InputError, TooLong, VizEncoderError
from viz_encoder.ui.state.limits import Limits
from viz_encoder.ui.state.readable import shortened
from viz_encoder.ui.state.source import MAX_CHARACTERS
from viz_encoder.ui.tabs.corpus.pictures import ZIP
from viz_encoder.ui.wire.bytes import plain_name

SENTENCES = "examples/corpus/sentences.txt"
TABLE = "examples/corpus/all-MiniLM-L6-v2.npz"  # for these sentences
EXAMPLE = "the example sentences"
PASTED = "pasted texts"
TREEBANK = "the example treebank"  # the sentences of `grammar`, and the rules they follow
TEXTS = (".txt", *CSV_KINDS, *JSON_KINDS)
# Their packed columns may unfold to any size, which strangers are not to try.
PACKED = (".parquet", ".npz", ZIP)
NO_TABLE = (KeyError, ValueError, TypeError, IndexError, AttributeError, EOFError, StopIteration)


def texts_of(path: Path, columns: TextColumns, limits: Limits) -> list[Any]:
    """The texts or pairs of a file, in order; a line that holds none is an `Unreadable`."""
    kind = path.suffix.lower()
    if kind not in (*TEXTS, ".parquet"):
        known = ", ".join((*TEXTS, ".parquet", TREES))
        raise InputError(f"{path.name!r} is not a file of texts; choose one of {known}.")
    if columns.second is not None and kind == ".txt":
        raise InputError(
            "A .txt file has no columns, so it holds no pairs; save them as .csv, or leave the "
            "field for text B empty."
        )
    _check_header(path, columns)
    try:
        items = CorpusItems(path, columns)
    except InputError as fault:
        raise InputError(_on_the_page(str(fault))) from fault
    found: list[Any] = []
    for text in items:
        if len(found) == limits.corpus_texts:
            more = "" if items.total is None else f" The file has {items.total:,}."
            raise TooLong(
                f"The page takes up to {limits.corpus_texts:,} texts.{more} Use fewer, or run "
                "viz-encoder corpus in a terminal and upload the table it saves."
            )
        found.append(_of_fair_length(text))
    return found


def sentences_of(path: Path, limits: Limits) -> list[TreeSentence]:
    """The sentences of a file in CoNLL-U.

    Raises:
        InputError: it is something else.
        TooLong: more sentences than this page takes.
    """
    found = list(islice(read_treebank(path), limits.corpus_texts + 1))
    if len(found) > limits.corpus_texts:
        raise TooLong(
            f"The page takes up to {limits.corpus_texts:,} sentences. Use fewer, or run "
            "viz-encoder corpus in a terminal and upload the table it saves."
        )
    return found


def example_texts() -> list[str]:
    """The sentences that ship, written for this project and under its license."""
    return asset(SENTENCES).read_text("utf-8").splitlines()


def is_table(path: Path) -> bool:
    """Whether a file is a table that `HeadTable.save` wrote, and no texts."""
    if path.suffix.lower() != ".parquet":
        return path.suffix.lower() in (".npz", ".json")
    from pyarrow import ArrowException, parquet

    try:
        return KEY in (parquet.read_schema(path).metadata or {})
    except (ArrowException, OSError):
        return False  # its error is reported when the texts are read


def opened_table(path: Path) -> HeadTable:
    """A saved table."""
    try:
        return sound(HeadTable.load(path))
    except VizEncoderError as fault:
        raise InputError(str(fault).replace(str(path), path.name)) from fault
    except (*NO_TABLE, RecursionError) as fault:
        raise InputError(f"{path.name} holds no head table.") from fault


def sent_table(data: dict[str, Any]) -> HeadTable:
    """Table from plain data, as the page holds it."""
    try:
        return sound(from_data(data))
    except (*NO_TABLE, VizEncoderError) as fault:
        raise InputError("What was sent is not a head table.") from fault


def sound(table: HeadTable) -> HeadTable:
    """The table, if it is as it says."""
    if not table.statistics or any(spread.mean.ndim != 2 for spread in table.statistics.values()):
        raise InputError("The table has no statistic of heads.")
    for one in table.examples:
        inside = 0 <= one.layer < table.n_layers and 0 <= one.head < table.n_heads
        if not inside or not all(isinstance(text, str) for text in one.texts):
            raise InputError("The table has an example of a head that is not in it.")
    return table


def named_file(folder: str, name: str, content: bytes, limits: Limits) -> Path:
    """The upload as a file of its own name."""
    ending = Path(shortened(name)).suffix.lower()
    if ending in PACKED and not limits.packed_tables:
        raise InputError(
            f"This server opens no {ending} files, whose size is not known before they are read; "
            "save the texts as .csv or the table as .json, choose pictures one by one, or run "
            "viz-encoder on your own machine."
        )
    path = Path(folder, plain_name(Path(name).stem) + plain_name(ending or ".txt"))
    path.write_bytes(content)
    return path


def _check_header(path: Path, columns: TextColumns) -> None:
    """Refuse a CSV without these columns, in the page's own words."""
    if path.suffix.lower() not in CSV_KINDS:
        return
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        header = file.readline(MAX_CHARACTERS)
    names, _ = column_names(header)
    missing = [name for name in columns if name is not None and name not in names]
    if missing:
        said = ", ".join(repr(shortened(name, 60)) for name in names[:20]) or "nothing"
        raise InputError(
            f"The first line of {path.name} names {said}, and no column {missing[0]!r}. Type the "
            "name of your column beside the upload, or save the file as .txt with one text per "
            "line."
        )


def _on_the_page(sentence: str) -> str:
    return sentence.replace("with column=, or --column", "beside the upload")


def _of_fair_length(text: Any) -> Any:
    texts = (text,) if isinstance(text, str) else text
    n = max((len(each) for each in texts if isinstance(each, str)), default=0)
    if n > MAX_CHARACTERS:
        return Unreadable(f"It has {n:,} characters; {MAX_CHARACTERS:,} are allowed.")
    return text
