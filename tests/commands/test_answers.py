"""The commands `attribute`, `effect` and `pool`: what is printed and written is the library's."""

import csv
import json

import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder.bundled import asset
from viz_encoder.cli import main

SENTENCE = "the keys to the cabinet [MASK] old"
TWIN = "the key to the cabinet [MASK] old"


@pytest.fixture
def printed(capsys):
    """The lines that a command prints, which must end well."""

    def lines(*given):
        assert main([*map(str, given)]) == 0
        return capsys.readouterr().out.splitlines()

    return lines


def test_an_answer_against_a_twin(printed, grammar, tmp_path):
    out = tmp_path / "routes.json"
    said = printed("attribute", SENTENCE, "--model", "grammar", "--against", TWIN, "-o", out)
    found = vz.attribute(grammar, SENTENCE, against=TWIN)
    assert said[0] == found.sentence
    *name, share = said[3].split()
    top = int(abs(found.tokens).argmax())
    assert name == [str(top), "keys/key"] and float(share) == pytest.approx(found.tokens[top], 1e-3)
    (link, *_) = found.strongest(1)
    row = next(line for line in said if " looks at " in line).split()
    assert row[-2] == f"{link.layer}.{link.head}"
    assert float(row[-1]) == pytest.approx(link.share, rel=1e-3)
    assert json.loads(out.read_text())["layout"]["title"]["text"].startswith("The logit of")


def test_a_words_state_and_two_texts(printed, minilm, tmp_path):
    said = printed("attribute", "the animal was tired", "--token", "tired", "--of", "state")
    assert said[0] == vz.attribute(minilm, "the animal was tired", token=4).sentence
    one, two, out = "the cat slept", "a dog rested", tmp_path / "pair.json"
    said = printed("attribute", one, "--pair", two, "-o", out)
    found = vz.attribute_pair(minilm, one, two)
    assert said[0] == found.sentence
    i, j = found.ranked(1)[0]
    first, second = (trace.tokens for trace in found.traces)
    *pair, share = said[3].split()
    assert pair == [str(i), first[i], str(j), second[j]]
    assert float(share) == pytest.approx(found.shares[i, j], abs=1e-3)
    assert "dog" in str(json.loads(out.read_text())["data"][0]["x"])


def test_effects_in_one_sentence_and_a_file(printed, grammar, tmp_path):
    out, texts = tmp_path / "effect.csv", tmp_path / "set.txt"
    said = printed("effect", SENTENCE, "--model", "grammar", "-o", out)
    assert said[0].startswith("Removing head 3.0 flips “are” (0.995) to “is” (0.687)")
    assert "a head's output becomes zero" in said[1]
    rows = list(csv.DictReader(out.open(encoding="utf-8", newline="")))
    found = vz.effect(grammar, SENTENCE)
    assert len(rows) == found.values.size
    for row in rows:
        assert float(row["effect"]) == found.values[0, int(row["layer"]), int(row["head"])]
        assert row["model"] == "grammar" and row["stand_in"] == "zero"
    texts.write_text("the key is old\nthe cats run")
    said = printed("effect", SENTENCE, "--model", "grammar", "--reference", texts)
    assert "its mean over 2 texts" in said[1]


def test_a_file_of_texts_is_a_mean_with_its_spread(printed, minilm, tmp_path):
    texts = ["A man eats food.", "The loan was approved by the bank."]
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    given = (tmp_path / "texts.txt", "--heads", "5.3,0.1", "--measure", "pooled")
    said = printed("effect", *given)
    found = vz.effect(minilm, texts, [(5, 3), (0, 1)], measure="pooled")
    (layer, head), _ = found.ranked(2)
    assert said[2].split() == ["head", "effect", "spread"]
    name, mean, spread = said[3].split()
    assert name == f"{layer}.{head}"
    assert np.isclose(float(mean), found.mean[layer, head], rtol=1e-3)
    assert np.isclose(float(spread), found.spread[layer, head], rtol=1e-3)


@pytest.fixture
def pool(tmp_path, printed):
    """The command on three texts: what it says, and the file."""
    (tmp_path / "texts.txt").write_text("one text\nanother, longer text of more words\n\nthird\n")

    def command(name, *options):
        given = ("pool", tmp_path / "texts.txt", "--device", "cpu", "-o", tmp_path / name)
        return " ".join(printed(*given, *options)), tmp_path / name

    return command


def test_vectors_of_the_readme_s_line(pool, minilm):
    said, path = pool("out.csv", "--methods", "mean,cls", "--states", "-1")
    assert "3 items, by mean, cls, after 6 blocks" in said
    rows = list(csv.reader(path.open(encoding="utf-8", newline="")))[1:]
    trace = vz.capture(minilm, "another, longer text of more words")
    for row in rows:
        assert row[5] == "all-MiniLM-L6-v2"
        if row[2] == "1":
            wanted = vz.pool(trace.output, trace.valid, row[0]).numpy()
            assert np.abs(np.array(row[6:], np.float32) - wanted).max() <= 5e-6
    places = [[method, "6", str(item)] for method in ("mean", "cls") for item in range(3)]
    assert [row[:3] for row in rows] == places


def test_the_models_own_pooling_is_the_default_and_is_named(pool, minilm):
    said, path = pool("out.npz")
    assert "by declared (the model's own: mean, then normalized to length 1), after 6" in said
    mean = vz.capture(minilm, "third").output.mean(dim=0).numpy()
    with np.load(path) as file:
        assert file["methods"].tolist() == ["declared"]
        found = file["vectors_declared"][0, 2]
    assert np.abs(found - mean / np.linalg.norm(mean)).max() <= 1e-6
    said, _ = pool("out.npz", "--model", "grammar")
    assert "by mean (the model declares none), after" in said


@pytest.mark.parametrize(
    ("given", "states"),
    [("--states=-2,-1", [5, 6]), ("--states -2,-1", [5, 6]), ("--states all", [*range(7)])],
)
def test_states_are_counted_from_either_end(given, states, pool):
    _, path = pool("out.npz", *given.split(), "--methods", "all")
    with np.load(path) as file:
        assert file["states"].tolist() == states and "pooler" in file["methods"]


def test_the_table_is_printed_and_written(printed, tmp_path):
    source, table = asset("examples/sets/topics.csv"), tmp_path / "table.csv"
    given = ("-o", tmp_path / "a.parquet", "--methods", "mean,cls", "--device", "cpu")
    lines = printed("pool", source, "--table", table, *given)
    assert lines[0].split() == ["method", "state", "silhouette", "centroid", "recall@1"]
    assert lines[1].split()[:2] == ["mean", "6"] and lines[2].split()[:2] == ["cls", "6"]
    assert len(table.read_text().splitlines()) == 3
