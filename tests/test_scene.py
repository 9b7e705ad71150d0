"""The scene and sentence models as shipped: their numbers, measured again."""

import json
import math

import pytest
import torch

import viz_encoder as vz
from scripts import scenes
from scripts import train_everyday as script
from viz_encoder.bundled import asset

N_HELD_OUT = 360


def measured(scene, size: tuple[int, int]) -> tuple[float, float]:
    """Accuracy, and mean correlation of rollout with ink, over one scene a held-out digit."""
    digits = scenes.split()[1].choose(torch.arange(N_HELD_OUT))
    batch = scenes.make(digits, size, torch.Generator().manual_seed(2024))
    mean, std = scene.reader.mean[0], scene.reader.std[0]
    with torch.inference_mode():
        run = scene.model((batch.pixels - mean) / std, capture=True)
        guesses = scene.model.heads["classify"](run.output).argmax(dim=1)
    seen, ink = standardized(rollout(run.records)), standardized(scenes.patch_ink(batch.ink, 4))
    return float((guesses == batch.labels).float().mean()), float((seen * ink).mean())


def standardized(x: torch.Tensor) -> torch.Tensor:
    """Each row with mean 0 and variance 1, so that the mean of a product is Pearson's r."""
    return (x - x.mean(dim=1, keepdim=True)) / x.std(dim=1, keepdim=True, correction=0)


def rollout(records) -> torch.Tensor:
    """From [CLS] to each patch, written out (Abnar & Zuidema, 2020)."""
    total = torch.eye(records[0].q.shape[2])
    for record in records:
        scores = record.q @ record.k.transpose(-2, -1) / math.sqrt(record.q.shape[-1])
        layer = 0.5 * torch.softmax(scores, dim=-1).mean(dim=1) + 0.5 * torch.eye(scores.shape[-1])
        total = layer / layer.sum(dim=-1, keepdim=True) @ total
    return total[:, 0, 1:]


def test_it_names_digits_it_has_never_seen_as_its_card_says_and_looks_at_their_ink(scene):
    metrics = json.loads(asset("models/scene/config.json").read_text(encoding="utf-8"))["metrics"]
    accuracy, correlation = measured(scene, (40, 40))
    assert accuracy >= 0.92 and correlation >= 0.8
    assert metrics["held_out_digits"] == N_HELD_OUT
    assert metrics["accuracy_40x40"] == pytest.approx(accuracy, abs=0.03)
    assert metrics["rollout_ink_correlation_40x40"] == pytest.approx(correlation, abs=0.03)


def test_no_digit_is_both_trained_on_and_held_out():
    trained, held_out = scenes.split()
    assert len(trained.labels) + len(held_out.labels) == 1797
    counts = [int((held_out.labels == digit).sum()) for digit in range(10)]
    assert min(counts) >= 34 and max(counts) <= 37
    assert torch.equal(scenes.split()[1].ink, held_out.ink)


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
