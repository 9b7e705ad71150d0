"""The lesson as one HTML file that computes in the browser: the Learn tab without a server."""

import json
from collections.abc import Iterable
from typing import Any

from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder, load
from viz_encoder.errors import SelectionError
from viz_encoder.export.document import INLINE, OF_TABS, as_text, document
from viz_encoder.lesson.answer_list import asked_at
from viz_encoder.lesson.grammar import WORDS, other_word
from viz_encoder.lesson.posed import questions, worded
from viz_encoder.lesson.seats import OWN_SENTENCE, seat
from viz_encoder.lesson.texts import FIRST, languages, texts_of
from viz_encoder.trace import capture
from viz_encoder.version import __version__

MODEL = "grammar"  # whose forward pass assets/web/learn/offline computes
MAX_BYTES = 3_000_000
MOST_SEATS = 80  # for which there is room
INSTEAD = {  # replaces the modules that call a server
    "core/server.js": "learn/offline/server.js",
    "learn/texts.js": "learn/offline/texts.js",
}


def draw_lesson(seats: Iterable[int], language: str = FIRST) -> bytes:
    """The whole file: the lesson's steps, the model's own files, and the exercises of the seats.

    It opens from a disk, and its policy forbids it any network. The numbers come from the browser's
    own forward pass, in doubles; it compares its outputs for the lesson's sentence with those of
    PyTorch, which the file holds, and shows nothing if they differ.

    Args:
        seats: whose sentences it has; the lesson's own sentence is always there.
        language: the one it opens in; the others can be chosen in it.
    """
    numbers = sorted(set(seats))
    if len(numbers) > MOST_SEATS:
        raise SelectionError(
            f"The file has room for {MOST_SEATS} seats, not {len(numbers)}; write several "
            "files, such as one with seats 1 to 30 and one with 31 to 60."
        )
    code, folder = texts_of(language).code, asset(f"models/{MODEL}")
    encoder = load(MODEL, device="cpu")
    parts = {
        "language": code,
        "title": "One token’s way through an encoder",
        "facts": _json(_facts(encoder, code)),
        "questions": _json(_questions(encoder, numbers)),
        "weights": as_text((folder / "model.safetensors").read_bytes()),
    }
    styles = (*OF_TABS, "learn/tab.css")
    page = document("learn/offline/page", parts, INLINE, styles=styles, instead=INSTEAD)
    return page.encode()


def _facts(encoder: LoadedEncoder, language: str) -> dict[str, Any]:
    config, folder = encoder.config, asset(f"models/{MODEL}")
    sizes = ("n_layers", "n_heads", "d_head", "d_model", "d_ff", "vocab_size", "max_positions")
    return {
        "model": MODEL,
        "config": {name: getattr(config, name) for name in (*sizes, "norm_eps")},
        "tokenizer": json.loads((folder / "tokenizer.json").read_text(encoding="utf-8")),
        "language": language,
        "twins": {word: other for word in WORDS if (other := other_word(word))},
        "version": __version__,
        "reference": capture(encoder, OWN_SENTENCE).output.tolist(),
    }


def _questions(encoder: LoadedEncoder, seats: Iterable[int]) -> dict[str, Any]:
    """The exercises of each seat in each language; a text that several share is there once."""
    texts: dict[str, int] = {}
    kept = {}
    for number in (0, *seats):
        asked = asked_at(encoder, number)
        posed = questions(asked)
        kept[str(number)] = {
            "text": seat(number).text if number else OWN_SENTENCE,
            "place": {name: getattr(asked, name) for name in ("layer", "head", "query", "key")},
            "exercises": {
                code: [_line(worded(each, texts_of(code)), texts) for each in posed]
                for code in languages()
            },
        }
    return {"texts": list(texts), "seats": kept}


def _line(exercise: dict[str, Any], texts: dict[str, int]) -> list[Any]:
    """The values of an exercise, each text by its number; offline/questions.js reads them."""

    def short(value: Any) -> Any:
        if isinstance(value, str):
            return texts.setdefault(value, len(texts))
        if isinstance(value, list):
            return [short(each) for each in value]
        return [short(each) for each in value.values()] if isinstance(value, dict) else value

    line = [short(value) for value in exercise.values()]
    line[list(exercise).index("kind")] = exercise["kind"]
    return line


def _json(content: Any) -> str:
    """Without a character that could open or close a tag."""
    told = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return told.replace("<", "\\u003c")
