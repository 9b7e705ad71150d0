"""The effect command: one sentence, a table, and a file with every head."""

import csv

import numpy as np

import viz_encoder as vz
from viz_encoder.cli import main

SENTENCE = "the keys to the cabinet [MASK] old"


def test_a_text_is_answered_in_one_sentence(tmp_path, capsys):
    out = tmp_path / "effect.csv"
    assert main(["effect", SENTENCE, "--model", "grammar", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Removing head 3.0 flips “are” (0.995) to “is” (0.687)")
    assert "a head's output becomes zero" in said
    rows = list(csv.DictReader(out.open(encoding="utf-8", newline="")))
    found = vz.effect(vz.load("grammar"), SENTENCE)
    assert len(rows) == found.values.size
    for row in rows:
        assert float(row["effect"]) == found.values[0, int(row["layer"]), int(row["head"])]
        assert row["model"] == "grammar" and row["stand_in"] == "zero"


def test_a_file_of_texts_is_a_mean_with_its_spread(tmp_path, capsys):
    texts = ["A man eats food.", "The loan was approved by the bank."]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    given = ["effect", str(tmp_path / "texts.txt"), "--heads", "5.3,0.1"]
    assert main([*given, "--measure", "pooled"]) == 0
    said = capsys.readouterr().out.splitlines()
    found = vz.effect(vz.load("all-MiniLM-L6-v2"), texts, [(5, 3), (0, 1)], measure="pooled")
    (layer, head), _ = found.ranked(2)
    assert said[2].split() == ["head", "effect", "spread"]
    name, mean, spread = said[3].split()
    assert name == f"{layer}.{head}"
    assert np.isclose(float(mean), found.mean[layer, head], rtol=1e-3)
    assert np.isclose(float(spread), found.spread[layer, head], rtol=1e-3)


def test_a_reference_is_named(tmp_path, capsys):
    (tmp_path / "set.txt").write_text("the key is old\nthe cats run")
    given = ["effect", SENTENCE, "--model", "grammar", "--reference", str(tmp_path / "set.txt")]
    assert main(given) == 0
    assert "its mean over 2 texts" in capsys.readouterr().out
