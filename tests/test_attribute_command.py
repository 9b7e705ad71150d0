"""The attribute command: one sentence, the tokens and links that carried most, and a drawing."""

import json

import pytest

import viz_encoder as vz
from viz_encoder.cli import main

SENTENCE = "the keys to the cabinet [MASK] old"
TWIN = "the key to the cabinet [MASK] old"


def test_an_answer_against_a_twin(tmp_path, capsys):
    out = tmp_path / "routes.json"
    given = ["attribute", SENTENCE, "--model", "grammar", "--against", TWIN, "-o", str(out)]
    assert main(given) == 0
    said = capsys.readouterr().out.splitlines()
    found = vz.attribute(vz.load("grammar"), SENTENCE, against=TWIN)
    assert said[0] == found.sentence
    *name, share = said[3].split()
    top = int(abs(found.tokens).argmax())
    assert name == [str(top), "keys/key"] and float(share) == pytest.approx(found.tokens[top], 1e-3)
    (link, *_) = found.strongest(1)
    row = next(line for line in said if " looks at " in line).split()
    assert row[-2] == f"{link.layer}.{link.head}"
    assert float(row[-1]) == pytest.approx(link.share, rel=1e-3)
    drawn = json.loads(out.read_text())
    assert drawn["layout"]["title"]["text"].startswith("The logit of")


def test_a_words_state(capsys):
    assert main(["attribute", "the animal was tired", "--token", "tired", "--of", "state"]) == 0
    found = vz.attribute(vz.load("all-MiniLM-L6-v2"), "the animal was tired", token=4)
    assert capsys.readouterr().out.startswith(found.sentence)


def test_two_texts(tmp_path, capsys):
    one, two, out = "the cat slept", "a dog rested", tmp_path / "pair.json"
    assert main(["attribute", one, "--pair", two, "-o", str(out)]) == 0
    said = capsys.readouterr().out.splitlines()
    found = vz.attribute_pair(vz.load("all-MiniLM-L6-v2"), one, two)
    assert said[0] == found.sentence
    i, j = found.ranked(1)[0]
    first, second = (trace.tokens for trace in found.traces)
    *pair, share = said[3].split()
    assert pair == [str(i), first[i], str(j), second[j]]
    assert float(share) == pytest.approx(found.shares[i, j], abs=1e-3)
    assert "dog" in str(json.loads(out.read_text())["data"][0]["x"])
