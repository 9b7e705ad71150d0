"""The built-in model of plain sentences: what it fills, what it names, and its printed numbers."""

import json

import pytest

import viz_encoder as vz
from scripts import train_everyday as script
from viz_encoder.bundled import asset

FOLDER = asset("models/everyday")


@pytest.fixture(scope="module")
def everyday():
    return vz.load("everyday", device="cpu")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[CLS] The cat sat [MASK] the mat [SEP]", "on"),
        ("the cat sat [MASK] the mat", "on"),
        ("the dog slept [MASK] the table", "under"),
        ("a girl walked [MASK] the street", "across"),
        ("the boy waited [MASK] the bus", "for"),
        ("the teacher looked [MASK] the moon", "at"),
    ],
)
def test_it_fills_a_word_sensibly(everyday, text, word):
    trace = vz.capture(everyday, text)
    assert trace.tokens[0] == "[CLS]" and trace.tokens.count("[CLS]") == 1
    frame = vz.analyses.predictions(everyday, trace, task="masked").to_frame()
    best = frame.sort_values("probability", ascending=False).iloc[0]
    assert best["label"] == word and best["probability"] > 0.9


def test_it_names_the_parts_of_a_sentence(everyday):
    """“girl” is the subject of one and the object of the other."""
    text = "the girl looked at the old cat"
    expected = ["determiner", "subject", "verb", "preposition", "determiner", "adjective", "object"]
    for words in (text, text.replace("girl", "cat", 1).replace("old cat", "old girl")):
        trace = vz.capture(everyday, words)
        frame = vz.analyses.predictions(everyday, trace, task="tokens").to_frame()
        said = frame[frame["rank"] == 0]["label"].tolist()
        assert said == ["other", *expected, "other"]


def test_its_numbers_are_those_of_sentences_it_was_not_trained_on(everyday):
    printed = json.loads((FOLDER / "config.json").read_text())["metrics"]
    assert script.evaluate(everyday.model) == pytest.approx(printed, abs=2e-3)
    assert min(printed.values()) >= 0.95
    rng = script.random.Random(7)
    kept, out = ({(s.words[1], *s.rule) for s in _drawn(rng, held)} for held in (False, True))
    assert kept and out and not kept & out


def _drawn(rng, held):
    """Sentences without an adjective before the subject, which is then the second word."""
    drawn = (script.draw(rng, held) for _ in range(500))
    return [one for one in drawn if one.labels[1] == "subject"]


def test_it_is_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1_000_000
