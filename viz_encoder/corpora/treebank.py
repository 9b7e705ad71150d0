"""Treebank: sentences with a head and a relation for each word, from files in CoNLL-U."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from viz_encoder.bundled import asset
from viz_encoder.errors import InputError
from viz_encoder.shown import OneLine
from viz_encoder.whole_file import shortened

BUILT_IN = {"grammar": "examples/grammar.conllu"}
N_COLUMNS = 10
ID, FORM, HEAD, RELATION, MISC = 0, 1, 6, 7, 9


@dataclass(frozen=True, repr=False)
class TreeSentence(OneLine):
    """One sentence: its text, the position of each word, and each word's head.

    heads: the number of the word that each depends on, from 0; None for the root, and where no
        head is annotated.
    relations: the name of the relation, without its subtype: "nsubj" for "nsubj:pass".
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    heads: tuple[int | None, ...]
    relations: tuple[str, ...]

    @property
    def arcs(self) -> tuple[tuple[int, int, str], ...]:
        """(word, the word it depends on, relation) of each word that depends on one."""
        found = zip(self.heads, self.relations, strict=True)
        return tuple((at, head, name) for at, (head, name) in enumerate(found) if head is not None)


def read_treebank(source: str | Path) -> Iterator[TreeSentence]:
    """The sentences of a CoNLL-U file (Nivre et al., 2020), or of a built-in one: "grammar".

    Words of a multiword token ("du" = "de" + "le") are read as words; empty nodes are left out.

    Raises:
        InputError: no such file, or a line that is not CoNLL-U.
    """
    name = str(source)
    path = Path(asset(BUILT_IN[name])) if name in BUILT_IN else Path(source)
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from _sentences(file, path.name)
    except OSError as fault:
        raise InputError(f"{shortened(path)} cannot be read: {fault.strerror}.") from fault
    except UnicodeDecodeError as fault:
        raise InputError(f"{path.name} is not UTF-8; save it as UTF-8 first.") from fault


def _sentences(lines: Iterable[str], name: str) -> Iterator[TreeSentence]:
    rows: list[list[str]] = []
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        if not line.strip():
            if rows:
                yield _sentence(rows, f"{name}, before line {number}")
            rows = []
        elif not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) != N_COLUMNS:
                raise InputError(
                    f"Line {number} of {name} has {len(cells)} columns; CoNLL-U has {N_COLUMNS}, "
                    "divided by tabs."
                )
            if cells[ID].isdigit():  # not 3-4, a multiword token, nor 5.1, an empty node
                rows.append(cells)
    if rows:
        yield _sentence(rows, f"the end of {name}")


def _sentence(rows: list[list[str]], where: str) -> TreeSentence:
    text, spans = "", []
    for row in rows:
        spans.append((len(text), len(text) + len(row[FORM])))
        text += row[FORM] if "SpaceAfter=No" in row[MISC].split("|") else f"{row[FORM]} "
    heads = tuple(_head(row[HEAD], len(rows), where) for row in rows)
    relations = tuple(row[RELATION].partition(":")[0] for row in rows)
    return TreeSentence(text.rstrip(), tuple(spans), heads, relations)


def _head(cell: str, n_words: int, where: str) -> int | None:
    if cell in ("0", "_"):
        return None
    if not cell.isdigit() or int(cell) > n_words:
        raise InputError(
            f"A head at {where} is {cell[:20]!r}; it must be the number of a word, up to {n_words}."
        )
    return int(cell) - 1
