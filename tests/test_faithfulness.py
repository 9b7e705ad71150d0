"""The benchmarks: each method of attribution on two sentences, digits and texts; and one row."""

import re
from pathlib import Path

import numpy as np
import pytest

import viz_encoder as vz
from benchmarks.__main__ import main
from benchmarks.faithfulness import deletion, grammar, heads, scene
from benchmarks.faithfulness.methods import REFERENCES, methods
from scripts.grammar import RULES

ROOT, N = Path(__file__).parents[1], 2
TWINS, EVERY = methods(*grammar.TWINS), methods(*grammar.SETTINGS)


@pytest.fixture(scope="module")
def sentences(request):
    encoder = request.getfixturevalue("grammar")
    return {rule: grammar.cases(encoder, rule, N) for rule in RULES}


@pytest.mark.parametrize("method", EVERY, ids=lambda method: method.name)
def test_each_method_gives_every_token_a_number(sentences, method):
    for case in (case for cases in sentences.values() for case in cases):
        values = method.measure(case.asked)
        assert values.shape == (case.asked.n_tokens,) and np.isfinite(values).all()
        assert 1 <= grammar.ranks(method, [case])[0] < case.asked.n_tokens


def test_against_a_twin_the_word_that_decides_comes_first(sentences):
    for method in (each for each in TWINS if each.ours):
        for rule, cases in sentences.items():
            assert grammar.ranks(method, cases) == [1] * N, (method.name, rule)


def test_a_rank_counts_what_is_as_large_and_leaves_out_the_masked_place():
    values = np.array([3.0, 1.0, 2.0, 2.0])
    assert grammar.rank(values, 2) == 3 and grammar.rank(values, 2, [0]) == 2


def test_ink_is_found_by_each_method_that_looks_at_the_answer():
    cases = scene.cases(vz.load("scene", device="cpu"), N)
    ink = np.mean([case.inked.mean() for case in cases])
    for method in methods(*scene.SETTINGS):
        share, _ = scene.on_ink(method, cases)
        assert 0 <= share <= 1
        if method.ours:
            assert share > 2 * ink, method.name


@pytest.mark.slow
def test_a_cosine_loses_most_without_the_words_that_carried_it(minilm):
    cases = deletion.cases(minilm, deletion.corpus()[:8], every=4)
    others = {method.name: deletion.mean_drops(method, cases) for method in REFERENCES}
    assert all(drops.shape == (2, len(deletion.TOPS)) for drops in others.values())
    for method in (each for each in methods(deletion.SETTINGS[0]) if each.ours):
        assert (deletion.mean_drops(method, cases) > others["random"]).all()


@pytest.mark.slow
def test_shares_of_heads_are_nearer_to_effects_than_weights_are(minilm):
    found = heads.compared(minilm, heads.EXAMPLES[0])
    near = [heads.pearson(each, found.together) for each in (found.found.heads, found.to_word)]
    assert near[0] > near[1]
    assert len(found.cells()) == len(heads.COLUMNS) - 1


def test_the_figures_that_are_quoted_were_measured():
    measured = (ROOT / "benchmarks" / "FAITHFULNESS.md").read_text(encoding="utf-8")
    text = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
    (said,) = re.findall(r"## Which number.*?FAITHFULNESS", text, re.DOTALL)
    figures = re.findall(r"\b[01]\.\d\d+", said)
    assert len(figures) >= 5
    for figure in figures:
        assert f"| {figure} |" in measured, figure


def test_a_row_is_measured_and_nothing_is_written(capsys, monkeypatch):
    monkeypatch.setattr("pathlib.Path.write_text", None)
    main(["--quick", "--only", "capture ÷ without, MiniLM, T = 128"])
    line = capsys.readouterr().out.strip()
    what, measured, limit, peak = (part.strip() for part in line.strip("|").split("|"))
    assert what.endswith("T = 128") and limit == "≤ 1.03"
    assert 0.5 < float(measured.split()[0]) < 3 and float(peak) > 0
