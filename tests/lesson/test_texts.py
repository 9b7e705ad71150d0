"""The lesson's files: each language says all that the others say, and the numbers are numpy's."""

import json
import re

import pytest

import viz_encoder as vz
from tests.lesson import web_numbers
from viz_encoder.bundled import asset
from viz_encoder.errors import ConfigError, SelectionError
from viz_encoder.lesson.asked import asked_of
from viz_encoder.lesson.posed import questions, worded
from viz_encoder.lesson.steps import STEPS
from viz_encoder.lesson.texts import Shown, Token, languages, texts_of
from viz_encoder.ui.state.built import Built

TEXT = "the keys to the cabinet [MASK] old"
# Where German puts what is filled in into another order than English.
TURNED = {
    ".exercises.table.question",
    ".exercises.table.question_picture",
    ".exercises.other-word.question",
    ".exercises.smallest-window.right",
    ".exercises.smallest-window.mistakes.reach",
}
# What is English where it comes from: what the server sends, and what all tabs share.
SENT = (".page.server.", ".page.build.parts.")
TRANSLATED = (*SENT, ".page.axes.", ".page.choice.", ".page.screen.")


def flat(content, name=""):
    if isinstance(content, dict):
        for key, value in content.items():
            yield from flat(value, f"{name}.{key}")
    elif isinstance(content, list):
        yield from ((f"{name}.{at}", value) for at, value in enumerate(content))
    else:
        yield name, content


def read(language):
    file = asset(f"lessons/{language}.json").read_text("utf-8")
    return dict(flat(json.loads(file)))


def places(text):
    return re.findall(r"\{(\w+)", text)


def test_every_text_and_every_placeholder_is_in_both():
    assert languages() == ("en", "de")
    first, other = read("en"), read("de")
    assert first.keys() == {name for name in other if not name.startswith(TRANSLATED)}
    for name, text in first.items():
        if given := re.search(r"\((.*)\)$", name):
            assert set(given[1].split(", ")) == set(places(text)), name
        here, there = places(text), places(other[name])
        assert set(here) == set(there), name
        # Numbers that changed places read as well as ever.
        assert (here == there) is (name not in TURNED), name
        assert other[name].strip(), name


def test_every_exercise_has_its_texts_and_nothing_is_left_unfilled_or_unquoted(
    grammar, scene, minilm
):
    sources = (grammar, TEXT), (scene, asset("examples/digit.png")), (minilm, "dog bit man")
    found = []
    for encoder, source in sources:
        asked = asked_of(encoder, encoder.read(source), vz.capture(encoder, source))
        found += questions(asked)
        assert encoder is not grammar or len(found) == 39
    known = {ask.__name__.replace("_", "-") for step in STEPS for ask in step}
    for language in languages():
        texts = texts_of(language)
        assert set(texts.exercises) == known
        for each in (worded(question, texts) for question in found):
            said = [each[name] for name in ("question", "right", "wrong", "hint")]
            for text in (
                *said,
                *(one["says"] for one in each["mistakes"]),
                *(each["choices"] or ()),
            ):
                assert text and "{" not in text.replace("“{”", "").replace("„{“", ""), each["id"]


def test_numbers_are_written_as_the_language_writes_them():
    english, german = texts_of("en"), texts_of("de")
    assert english.write(24_034_304) == "24,034,304" and german.write(24_034_304) == "24.034.304"
    assert english.write(Shown(-1234.567, 2)) == "−1,234.57"
    assert german.write(Shown(-1234.567, 2)) == "−1.234,57"
    assert english.write(Shown(-0.0001, 2)) == "0.00"
    assert german.write((Token("keys"), Shown(0.5, 1))) == "„keys“; 0,5"
    assert german.write((Token("keys"), Token("to"))) == "„keys“, „to“"
    assert english.write(((Token("a"), Shown(1, 1)), (Token("b"), 2))) == "“a” 1.0, “b” 2"
    with pytest.raises(SelectionError, match="'fr'; choose one of en, de"):
        texts_of("fr")


def test_the_file_is_up_to_date():
    kept = json.loads(web_numbers.FILE.read_text(encoding="utf-8"))
    found = web_numbers.plain(web_numbers.numbers())
    assert kept.keys() == found.keys()
    for name, value in found.items():
        same(kept[name], value, name)
    for sizes in web_numbers.REFUSED:
        with pytest.raises(ConfigError):
            Built.of(sizes).config  # noqa: B018


def same(kept, found, where):
    if isinstance(found, dict):
        assert kept.keys() == found.keys(), where
        for name, value in found.items():
            same(kept[name], value, f"{where}.{name}")
    elif isinstance(found, list):
        assert len(kept) == len(found), where
        for at, (one, other) in enumerate(zip(kept, found, strict=True)):
            same(one, other, f"{where}[{at}]")
    elif isinstance(found, float):
        assert kept == pytest.approx(found, rel=1e-7, abs=1e-9), where
    else:
        assert kept == found, where
