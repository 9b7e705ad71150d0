"""A treebank on the Corpus tab: its relations beside fixed offsets and random weights."""

import numpy as np
import pytest

from tests.ui.test_corpus import measured, opened, painted
from viz_encoder.corpora import relations
from viz_encoder.ui.tabs.corpus import sources

opened = opened  # a fixture


@pytest.fixture(scope="module")
def wanted(grammar):
    return relations(grammar, "grammar")


def test_a_bad_treebank_is_a_plain_sentence(site):
    few = measured(site, b"1\tkeys\n", name="mine.conllu", model="grammar")["message"]
    assert few == "Line 1 of mine.conllu has 2 columns; CoNLL-U has 10, divided by tabs."
    line = b"1\tkeys\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    many = measured(site, line * 2_001, name="mine.conllu", model="grammar")["message"]
    assert many.startswith("The page takes up to 2,000 sentences. Use fewer, or run viz-encoder")


@pytest.mark.slow
def test_the_example_treebank_is_one_click_away(opened, wanted):
    page = opened.page
    assert not page.is_visible(".viz-corpus-relations")
    page.click("text=Example treebank")
    painted(page, sources.TREEBANK)
    lines = page.eval_on_selector_all(
        ".viz-corpus-relations tbody tr",
        "all => all.map((row) => [...row.cells].map((c) => c.innerText))",
    )
    columns = wanted.columns()
    best = np.maximum(columns["offset_accuracy"], columns["random_accuracy"])
    order = np.argsort(-(np.array(columns["accuracy"]) - best), kind="stable")
    assert lines == [
        [
            columns["relation"][at],
            f"{columns['arcs'][at]:,}",
            f"{columns['layer'][at]}.{columns['head'][at]}",
            f"{columns['accuracy'][at]:.0%}",
            f"{columns['offset_accuracy'][at]:.0%} ({columns['offset'][at]:+d})".replace("-", "−"),
            f"{columns['random_accuracy'][at]:.0%}",
        ]
        for at in order
    ]
    layer, head = wanted.best("agreement")
    page.click("[data-relation='agreement'] button")
    painted(page, f":{layer}.{head}:")
    pressed = page.locator(".viz-corpus-cell[aria-pressed='true']")
    assert pressed.get_attribute("data-head") == f"{layer}.{head}"


def test_a_treebank_without_arcs_says_why_there_are_no_relations(opened, tmp_path):
    page = opened.page
    lines = [f"{n}\t{word}\t_\t_\t_\t_\t_\t_\t_\t_\n" for n, word in enumerate(["keys", "are"], 1)]
    (tmp_path / "flat.conllu").write_text("".join(lines) + "\n", encoding="utf-8")
    page.set_input_files("#viz-corpus-file", str(tmp_path / "flat.conllu"))
    painted(page, "flat.conllu")
    said = page.inner_text(".viz-corpus-relations .viz-corpus-said")
    assert said.startswith("In 1 sentence, no word depends on another; give a treebank")
    assert not page.is_visible(".viz-corpus-relations .viz-corpus-scroll")
