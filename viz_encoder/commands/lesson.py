"""The command `lesson`: the lesson as one file, each seat's answers, and what result codes say."""

import argparse
import re
from pathlib import Path

from viz_encoder.checkpoints import load
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.export.lesson_file import MODEL, draw_lesson
from viz_encoder.lesson.answer_list import answer_lines, code_lines, read_codes
from viz_encoder.lesson.seats import LAST_SEAT
from viz_encoder.lesson.texts import FIRST
from viz_encoder.whole_file import kind_of, require_writable, write_whole

SEATS = re.compile(r"(\d{1,3})(?:-(\d{1,3}))?$", re.ASCII)
MOST_BYTES = 2**20


def add_lesson(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of viz-encoder."""
    lesson = commands.add_parser(
        "lesson", help="for teachers: the lesson as one file, answers by seat, results by code"
    )
    lesson.add_argument("-o", "--output", help="write the lesson as one offline page: lesson.html")
    lesson.add_argument("--answers", action="store_true", help="print each seat's text and answers")
    lesson.add_argument(
        "--seeds", default="1-30", help="which seats, also of the page: 17, or 1-30 (%(default)s)"
    )
    lesson.add_argument("--codes", help="a file of result codes, one per line: print what they say")
    lesson.add_argument(
        "--language",
        default=FIRST,
        help="of the texts, and in which the page opens: en or de (%(default)s)",
    )
    lesson.set_defaults(run=_lesson)


def _lesson(given: argparse.Namespace) -> None:
    if not given.answers and not given.codes and given.output is None:
        raise InputError(
            "Say what to make: -o lesson.html, --answers, --codes FILE, or several of these."
        )
    seats = _seats(given.seeds)
    if given.output is not None:
        _write(given.output, seats, given.language)
    if not given.answers and not given.codes:
        return
    codes = None if not given.codes else read_codes(_text(Path(given.codes)))
    encoder = load(MODEL, device="cpu")
    if given.answers:
        for line in answer_lines(encoder, seats, given.language):
            print(line)
    for line in [] if codes is None else code_lines(encoder, codes, given.language):
        print(line)


def _write(path: str, seats: range, language: str) -> None:
    kind_of(path, (".html",))
    require_writable(path)
    size = write_whole([draw_lesson(seats, language)], path)
    print(f"{path}: {size:,} bytes, with seats {seats[0]} to {seats[-1]}.")


def _seats(text: str) -> range:
    found = SEATS.match(text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last <= LAST_SEAT:
        raise SelectionError(
            f"--seeds is {text[:40]!r}; give a seat or a range of seats from 1 to {LAST_SEAT}, "
            "such as 1-30."
        )
    return range(first, last + 1)


def _text(path: Path) -> str:
    content = path.read_bytes() if path.is_file() and path.stat().st_size <= MOST_BYTES else None
    if content is None:
        raise InputError(
            f"{path} is not a file of codes: it must be a regular file of at most 1 MiB."
        )
    return content.decode("utf-8", "replace")
