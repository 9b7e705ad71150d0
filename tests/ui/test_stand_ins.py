"""Effects on Explore: what stands in for a head, several heads, many texts."""

import csv
import io
import re

import numpy as np
import pytest

import viz_encoder as vz
from tests.ui.conftest import saved
from tests.ui.texts import MASKED
from viz_encoder import effects
from viz_encoder.ui.tabs.explore.stand_ins import GRAMMAR

TEXT = MASKED[0]
TWIN = TEXT.replace("keys", "key")
CELLS = ".viz-shares .viz-share-cell"


@pytest.fixture
def under_effect(shared):
    """The page of the sentence with its effects: more of its link, and what it is painted of."""

    def enter(painted=":effect:", **more):
        query = {"measure": "effect", **more}
        page = shared(kind="text", a=TEXT, model=MASKED[1], **query).page
        measured(page, painted)
        return page

    return enter


@pytest.fixture(scope="module")
def found(grammar):
    return vz.attribute(grammar, TEXT, against=TWIN)


def measured(page, painted=":effect:"):
    page.wait_for_selector(
        f".viz-how[data-painted*=':effect:'][data-painted*='{painted}']", timeout=60_000
    )


def cells(page, selector=CELLS):
    """The numbers of a grid, by head."""
    said = page.eval_on_selector_all(selector, "all => all.map((one) => one.ariaDescription)")
    return [float(re.search(r"by (\S+)", each)[1].replace("−", "-")) for each in said]


def test_zeros_a_mean_and_the_twin_s_output_stand_in_for_a_head(under_effect, grammar, found):
    page = under_effect()
    expected = vz.effect(grammar, TEXT, measure=found).values[0]
    assert cells(page) == pytest.approx(expected.ravel(), abs=6e-5)
    page.select_option("#viz-stand-in", "mean")
    measured(page, "how=mean")
    expected = vz.effect(grammar, TEXT, how="mean", reference=GRAMMAR, measure=found).values[0]
    assert cells(page) == pytest.approx(expected.ravel(), abs=6e-5)
    page.select_option("#viz-explain-against", "other")
    page.fill("#viz-explain-rival", "is")
    page.press("#viz-explain-rival", "Enter")
    page.select_option("#viz-stand-in", "patch")
    measured(page, "against=is&how=patch")
    patched = vz.patch(grammar, TEXT, TWIN)  # also by the logit of "are" minus that of "is"
    assert cells(page) == pytest.approx((patched.values[0] - patched.clean[0]).ravel(), abs=6e-5)
    assert "effect of patching each" in page.inner_text(".viz-shares h3")
    assert "Of all heads, patching 3.0" in page.inner_text(".viz-answer")


def test_what_stands_in_is_offered_under_effect_alone_and_is_in_the_link(under_effect):
    page = under_effect()
    page.select_option("#viz-stand-in", "mean")
    measured(page, "how=mean")
    page.reload()
    measured(page, "how=mean")
    assert page.input_value("#viz-stand-in") == "mean"
    page.click("[data-measure=contribution]")
    page.wait_for_selector(".viz-how[data-painted*=':contribution:']")
    assert page.is_hidden("#viz-stand-in")


def test_several_heads_are_removed_together(under_effect, grammar, found):
    page = under_effect()
    page.evaluate("vizTab.selection.set({ layer: 3, head: '0,2' })")
    page.wait_for_selector(".viz-shares [data-painted='3.0,3.2']", timeout=30_000)
    value, _ = effects.joint(grammar, TEXT, [(3, 0), (3, 2)], measure=found)
    alone = vz.effect(grammar, TEXT, measure=found).values[0][3, [0, 2]].sum()
    assert page.inner_text(".viz-shares [role=status]") == (
        "Heads 3.0 and 3.2 removed together change the result by "
        f"{value:.2f}; alone, their effects add up to {alone:.2f}.".replace("-", "−")
    )


def test_effects_over_many_texts_have_a_mean_and_a_spread(under_effect, grammar):
    page = under_effect()
    texts = [TEXT, "the key to the cabinets [MASK] old", "the cats near the bird [MASK] small"]
    page.fill("#viz-over-texts", "\n\n".join(texts))
    page.get_by_role("button", name="Measure over 3 texts").click()
    page.wait_for_selector(".viz-over-texts[data-painted='3']", timeout=60_000)
    expected = vz.effect(grammar, texts)
    shown = cells(page, ".viz-over-texts .viz-share-cell")
    assert shown == pytest.approx(expected.mean.ravel(), rel=6e-3)
    _, content = saved(page, ".viz-over-texts", "CSV")
    _, *lines = csv.reader(io.StringIO(content.decode()))
    table = np.array(lines)[:, 2:4].astype(float).reshape(*expected.mean.shape, 2)
    np.testing.assert_allclose(table[..., 0], expected.mean, rtol=2e-5, atol=1e-5)
    np.testing.assert_allclose(table[..., 1], expected.spread, rtol=2e-5, atol=1e-5)
    left = """() => {
      const progress = document.querySelector(".viz-over-texts progress");
      document.querySelector(".viz-over-texts .viz-controls button").click();
      const before = progress.hidden;
      vizTab.texts.show(vizTab.run);
      return [before, progress.hidden];
    }"""
    assert page.evaluate(left) == [False, True]  # another run has no use for it


def test_heads_are_points_by_their_share_and_their_effect(under_effect, grammar, found):
    page = under_effect()
    page.wait_for_function("vizTab.measures.complete('entropy')")
    plane = page.locator(".viz-placed")
    plane.get_by_label("Across", exact=True).select_option("share")
    plane.get_by_label("Up", exact=True).select_option("effect")
    heads = "vizTab.plane.plane"
    points = page.evaluate(f"{heads}.known.map((_, at) => {heads}.plane.scale.place(at))")
    across, up = np.array(points).T
    values = vz.effect(grammar, TEXT, measure=found).values[0].ravel()
    assert np.corrcoef(across, found.heads.ravel())[0, 1] == pytest.approx(1, abs=1e-6)
    assert np.corrcoef(up, values)[0, 1] == pytest.approx(-1, abs=1e-6)
    at = dict(zip("xy", points[found.heads.shape[1] + 2], strict=True))
    plane.locator("canvas").click(position=at)
    assert page.evaluate("vizTab.selection.name") == "1.2"
