"""Every pooling of a set beside the others: pictures, mean cosines and nearest neighbors."""

import csv
import io
import re

import httpx
import numpy as np
import pytest

from tests.ui.test_pooling_set import MIXED

TEXTS = """The cat sat on the mat.
A kitten rests on a rug.
Stocks fell sharply on Monday.
The market dropped at the start of the week.
She plays the violin every evening.
Why?
It rained all day in Paris."""
REFERENCE = "declared"
TIE = 1e-6  # nearer than this, two items are as near as each other
CARDS = """() => {
  const cards = Array.from(document.querySelectorAll(".viz-side-card"));
  const said = (card) => card.querySelectorAll(":scope > span");
  return Object.fromEntries(
    cards.map((card) => [card.dataset.method, Array.from(said(card), (span) => span.textContent)]));
}"""


def cosines(site, key, method, layer):
    """Of every two items, from the vectors that a person can export."""
    address = f"{site}viz/set/{key}/take/csv?method={method}&layer={layer}"
    rows = list(csv.DictReader(io.StringIO(httpx.get(address, timeout=60).text)))
    width = sum(name.isdecimal() for name in rows[0])
    vectors = np.array([[float(row[str(at)]) for at in range(width)] for row in rows])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors @ vectors.T


def expected(site, key, methods, layer):
    """What each card has to say."""
    found = {method: cosines(site, key, method, layer) for method in methods}
    n = len(found[REFERENCE])
    others = ~np.eye(n, dtype=bool)
    nearest = np.where(others, found[REFERENCE], -2).argmax(1)
    cards = {}
    for method, cosine in found.items():
        best = np.where(others, cosine, -2).max(1)
        stays = cosine[np.arange(n), nearest] >= best - TIE
        equals = (np.where(others, cosine, -2) >= best[:, None] - TIE).sum(axis=1) > 1
        same, tied = int((stays & ~equals).sum()), int((stays & equals).sum())
        told = f"{same} of {n} nearest neighbors the same"
        told += f", {tied} equally near" if tied else ""
        told = "the others are compared with it" if method == REFERENCE else told
        mean = f"mean cosine {cosine[others].mean():.2f}".replace("-", "−")
        cards[method] = [mean, told]
    return cards


def compared(opened, texts):
    """The page with that set compared, and the key of the set."""
    page = opened.page
    page.wait_for_selector("#viz-tab-vectors textarea")
    page.fill("#viz-tab-vectors textarea", texts)
    page.get_by_role("button", name="Compare").last.click()
    page.wait_for_selector(".viz-side[data-painted]", timeout=60_000)
    return page, page.get_attribute(".viz-side", "data-painted").split(":")[0]


@pytest.mark.slow
def test_every_method_is_beside_the_others_and_one_click_from_its_own_view(visit, site):
    page, key = compared(visit(tab="vectors"), TEXTS)
    for layer in (6, 1):
        page.select_option("#viz-set-layer", str(layer))
        page.wait_for_selector(f".viz-side[data-painted='{key}:{layer}']")
        cards = page.evaluate(CARDS)
        assert len(cards) == 9
        tops = page.eval_on_selector_all(".viz-side-card", "all => all.map((one) => one.offsetTop)")
        assert len(set(tops)) <= 3
        assert cards == expected(site, key, cards, layer)
        counts = {m: re.findall(r"\d+", said) for m, (_, said) in cards.items() if m != REFERENCE}
        changed = {m: int(same) + sum(map(int, tied)) for m, (same, _, *tied) in counts.items()}
        said = page.inner_text("#viz-set .viz-pool-answer")
        least = min(changed.values())
        if least == 7:
            assert said.startswith("Every pooling gives every item the same nearest neighbor")
        else:
            method = next(m for m, same in changed.items() if same == least)
            assert said.startswith(f"The pooling matters here: {method} gives {7 - least} of 7")
        assert f"after {layer} block" in said
    page.click(".viz-side-card[data-method=max]")
    page.wait_for_selector(f".viz-pool[data-painted='{key}:max:1']")
    assert page.get_attribute(".viz-side-card[aria-pressed=true]", "data-method") == "max"
    assert page.input_value("#viz-set-method") == "max"


@pytest.mark.slow
def test_where_there_are_labels_their_answer_stays(visit):
    page, _ = compared(visit(tab="vectors"), MIXED)
    assert "silhouette" in page.inner_text("#viz-set .viz-pool-answer")
    assert page.locator(".viz-side-card").count() == 9
