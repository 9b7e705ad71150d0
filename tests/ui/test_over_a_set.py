"""The atlas over a set: heads ordered and colored by a table of many texts of the same model."""

import numpy as np
import pytest

import viz_encoder as vz
from tests.ui.conftest import until_said
from tests.ui.test_corpus import TEXTS, painted
from viz_encoder.bundled import asset
from viz_encoder.corpora import HeadTable
from viz_encoder.ui.tabs.corpus import sources

KNOWN = ".viz-atlas[data-painted]"


@pytest.fixture(scope="module")
def shipped() -> HeadTable:
    return HeadTable.load(asset(sources.TABLE))


def over(page, name: str) -> None:
    """Wait until the statistics are over that, by the sentence below the title."""
    until_said(page, ".viz-order > .viz-caption", name)


def ranked(page) -> list[str]:
    return page.eval_on_selector_all(".viz-atlas-cell", "all => all.map(c => c.dataset.head)")


def in_order(values: np.ndarray) -> list[str]:
    order = np.argsort(-values, axis=None, kind="stable")
    return [f"{at // 12}.{at % 12}" for at in order]


@pytest.mark.slow
def test_the_atlas_stands_in_the_order_of_the_table(shared, shipped):
    page = shared().page
    page.select_option("#viz-order", "highest")
    page.select_option("#viz-over", "example")
    over(page, "Averaged over 240 texts: the example sentences.")
    page.select_option("#viz-statistic", "punctuation")  # which no single run's atlas has
    values = shipped["punctuation"].mean
    page.wait_for_function(
        "name => document.querySelector('.viz-atlas-cell').dataset.head === name",
        arg=in_order(values)[0],
    )
    assert ranked(page) == in_order(values)
    (layer, head), spread = shipped.ranked("punctuation", 1)[0], shipped["punctuation"]
    page.focus(f".viz-atlas-cell[data-head='{layer}.{head}']")
    said = page.inner_text(".viz-atlas-caption")
    assert (
        f"Head {layer}.{head}: {spread.mean[layer, head]:.2f} ± {spread.sd[layer, head]:.2f}"
        in said
    )
    assert "over 240 texts; from" in said and said.endswith("number 1 of 72")
    page.select_option("#viz-over", "")
    over(page, "In this run at most")  # of entropy, which every run has
    assert page.input_value("#viz-statistic") == "entropy"


@pytest.mark.slow
def test_the_link_holds_the_choice(visit, shipped):
    page = visit(stat="punctuation", order="highest", **{"atlas.over": "example"}).page
    over(page, "Averaged over 240 texts")
    assert page.input_value("#viz-statistic") == "punctuation"
    assert ranked(page) == in_order(shipped["punctuation"].mean)
    page.select_option("#viz-over", "")
    page.wait_for_function("!location.search.includes('atlas.over')")
    page.select_option("#viz-over", "example")
    page.wait_for_function("location.search.includes('atlas.over=example')")


@pytest.mark.slow
def test_the_table_that_is_open_in_the_corpus_tab_is_offered(visit, minilm):
    opened = visit(tab="corpus", order="highest", stat="previous")
    page = opened.page
    page.wait_for_selector(".viz-corpus[data-painted]", timeout=60_000)
    page.fill("#viz-corpus-texts", "\n".join(TEXTS))
    page.click("#viz-corpus-measure")
    painted(page, sources.PASTED)
    page.click("#viz-tab-explore-button")
    page.wait_for_selector(KNOWN, timeout=60_000)
    page.select_option("#viz-over", label="pasted texts (3 texts, all-MiniLM-L6-v2)")
    over(page, "Averaged over 3 texts: pasted texts.")
    assert ranked(page) == in_order(vz.corpus(minilm, TEXTS)["previous"].mean)


@pytest.mark.slow
def test_a_link_to_a_table_that_is_not_open_says_so(visit):
    page = visit(**{"atlas.over": "table"}).page
    page.wait_for_selector(KNOWN, timeout=60_000)
    assert "No table is open in the Corpus tab." in page.inner_text(".viz-order-said")
    assert "Averaged over" not in page.inner_text(".viz-order")
