"""Items: a set of texts or pictures, with labels where a person gives them."""

import csv
import io
import json
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from viz_encoder.arguments import public
from viz_encoder.errors import InputError, TooLong
from viz_encoder.shown import OneLine
from viz_encoder.whole_file import shortened

COLUMNS = ("text", "label", "word")
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif")
JSON_LINES = (".jsonl", ".ndjson")
FILES = (".txt", ".csv", ".tsv", *JSON_LINES)
# Their bytes may be text, but their lines are not texts.
NOT_READ = (".json", ".parquet", ".arrow", ".conllu", ".xlsx", ".xls", ".ods", ".html", ".xml")
MAX_ITEMS = 2_000
MAX_CHARACTERS = 10_000  # per text
MAX_BYTES = 20_000_000  # per file


@dataclass(frozen=True, repr=False)
class Item(OneLine):
    """One text or picture; label "" = none; word = the one whose tokens are pooled by "word"."""

    source: str | Path
    label: str = ""
    word: str = ""

    @property
    def name(self) -> str:
        """The text, or the picture's file name."""
        return self.source.name if isinstance(self.source, Path) else self.source


@public(fault=InputError)
def read_set(source: str | Path | Sequence[str]) -> tuple[Item, ...]:
    """Items from a file, a folder or the text itself.

    Args:
        source: a path of a text file (one text a line), of a CSV (a header that names the column
            text, and label and word if they are there, in any order; comma, semicolon or tab), of a
            .jsonl (a line is a text in quotes, or an object with these names), or of a folder of
            pictures (its subfolders are the labels). A str is read as the content of a text file,
            and as a CSV if its first line is such a header. A list holds one text an entry.

    Raises:
        InputError: no item, a row without text, or labels for some items only.
        TooLong: more than 2,000 items, or a text of more than 10,000 characters.
    """
    if isinstance(source, Path):
        items = (
            pictures_of(source)
            if _is_folder(source)
            else _rows(_content(source), source.suffix.lower())
        )
    elif isinstance(source, str):
        if source.lower().endswith(FILES) and len(source.split()) == 1:
            raise InputError(
                f"{shortened(source)} is the name of a file, and a str is read as the text itself; "
                "give pathlib.Path(…)."
            )
        items = _rows(source.removeprefix("\ufeff"), "")
    else:
        items = [Item(text.strip()) for text in source if text.strip()]
    if not items:
        raise InputError("The set is empty; give at least one item.")
    if len(items) > MAX_ITEMS:
        raise TooLong(f"The set has {len(items):,} items; at most {MAX_ITEMS:,} are read.")
    for number, item in enumerate(items, 1):
        if len(str(item.source)) > MAX_CHARACTERS:
            raise TooLong(
                f"Item {number} has {len(str(item.source)):,} characters; at most "
                f"{MAX_CHARACTERS:,} are read."
            )
    for column, values in (("label", [i.label for i in items]), ("word", [i.word for i in items])):
        if any(values) and not all(values):
            raise InputError(
                f"Item {values.index('') + 1} has no {column}, but others have one; give every "
                f"item a {column}, or none of them."
            )
    return tuple(items)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name too long: `_content` says so
        return False


def _content(path: Path) -> str:
    if path.suffix.lower() in NOT_READ:
        raise InputError(
            f"{shortened(path)} is not a set of texts that can be read here; give a .txt with one "
            "text a line, a .csv with a column text, or a .jsonl."
        )
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a device never ends, and a pipe may never begin
            raise InputError(f"{shortened(path)} is not a regular file; give one, or a folder.")
        if found.st_size > MAX_BYTES:
            raise TooLong(
                f"{path.name} is over {MAX_BYTES // 10**6} MB, which is the limit; split it."
            )
        return path.read_bytes().decode("utf-8-sig")
    except OSError as fault:
        raise InputError(f"{shortened(path)} cannot be read: {fault.strerror}.") from fault
    except UnicodeDecodeError as fault:
        raise InputError(f"{path.name} is not UTF-8; save it as UTF-8 first.") from fault


def _rows(content: str, ending: str) -> list[Item]:
    if ending in JSON_LINES:
        lines = enumerate(content.split("\n"), 1)  # a text may hold other ends of lines
        return [_from_json(line, number) for number, line in lines if line.strip()]
    start = content.lstrip().partition("\n")[0]
    delimiter = max(",;\t", key=start.count)
    header = [cell.strip().strip('"').lower() for cell in start.split(delimiter)]
    named = "text" in header and set(header) <= set(COLUMNS)
    if ending not in (".csv", ".tsv") and not named:
        return [Item(line.strip()) for line in content.splitlines() if line.strip()]
    if "text" not in header:
        raise InputError(
            f"The first line of the CSV is {start[:80]!r}; it must name the columns, one of them "
            "text (and label and word, if you have them)."
        )
    return _table(content.lstrip(), delimiter, header)


def _from_json(line: str, number: int) -> Item:
    try:
        row = json.loads(line)
    except ValueError as fault:
        raise InputError(f"Line {number} is not JSON: {fault}.") from fault
    row = {"text": row} if isinstance(row, str) else row
    cells = {} if not isinstance(row, dict) else {name: row.get(name) for name in COLUMNS}
    text = cells.get("text")
    if not isinstance(text, str) or not text.strip():
        raise InputError(
            f"Line {number} has no text; each line is a text in quotes or an object such as "
            '{"text": "…", "label": "…"}.'
        )
    label, word = ("" if cells[name] is None else str(cells[name]) for name in COLUMNS[1:])
    return Item(text.strip(), label.strip(), word.strip())


def _table(content: str, delimiter: str, header: list[str]) -> list[Item]:
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter)
    items: list[Item] = []
    try:
        next(reader)
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) > len(header):
                raise InputError(
                    f"Line {reader.line_num} of the CSV has {len(row)} cells and its header names "
                    f'{len(header)}; put quotes around a text that holds "{delimiter}".'
                )
            cells = dict(zip(header, (cell.strip() for cell in row), strict=False))
            if not cells.get("text"):
                raise InputError(f"Line {reader.line_num} of the CSV has no text.")
            items.append(Item(cells["text"], cells.get("label", ""), cells.get("word", "")))
    except csv.Error as fault:
        raise InputError(f"Line {reader.line_num} of the CSV cannot be read: {fault}.") from fault
    return items


def pictures_of(folder: Path) -> list[Item]:
    """The pictures of a folder, and those of its subfolders under the subfolder's name."""
    found = sorted(folder.glob("*")) + sorted(folder.glob("*/*"))
    paths = [path for path in found if path.suffix.lower() in PICTURES and path.is_file()]
    return [Item(path, "" if path.parent == folder else path.parent.name) for path in paths]
