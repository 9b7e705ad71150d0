"""The command `lesson`: the answers of each seat of a class, and what its result codes say."""

import argparse
import re
from pathlib import Path

from viz_encoder.checkpoints import load
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.lesson.answer_list import answer_lines, code_lines, read_codes
from viz_encoder.lesson.seats import LAST_SEAT
from viz_encoder.lesson.texts import FIRST

SEATS = re.compile(r"(\d{1,3})(?:-(\d{1,3}))?$", re.ASCII)
MODEL = "grammar"  # whose language the seats' sentences are of
MOST_BYTES = 2**20


def add_lesson(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of viz-encoder."""
    lesson = commands.add_parser(
        "lesson", help="for teachers: answers by seat, and results by code"
    )
    lesson.add_argument("--answers", action="store_true", help="print each seat's text and answers")
    lesson.add_argument("--seeds", default="1-30", help="which seats: 17, or 1-30 (%(default)s)")
    lesson.add_argument("--codes", help="a file of result codes, one per line: print what they say")
    lesson.add_argument("--language", default=FIRST, help="of the texts: en or de (%(default)s)")
    lesson.set_defaults(run=_lesson)


def _lesson(given: argparse.Namespace) -> None:
    if not given.answers and not given.codes:
        raise InputError("Say what to print: --answers, --codes FILE, or both.")
    seats = _seats(given.seeds)
    codes = None if not given.codes else read_codes(_text(Path(given.codes)))
    encoder = load(MODEL, device="cpu")
    if given.answers:
        for line in answer_lines(encoder, seats, given.language):
            print(line)
    for line in [] if codes is None else code_lines(encoder, codes, given.language):
        print(line)


def _seats(text: str) -> range:
    found = SEATS.match(text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last <= LAST_SEAT:
        raise SelectionError(
            f"--seeds is {text[:40]!r}; give a seat or a range of them from 1 to {LAST_SEAT}, such "
            "as 1-30."
        )
    return range(first, last + 1)


def _text(path: Path) -> str:
    content = path.read_bytes() if path.is_file() and path.stat().st_size <= MOST_BYTES else None
    if content is None:
        raise InputError(f"{path} is not a file of codes, which has at most 1 MiB.")
    return content.decode("utf-8", "replace")
