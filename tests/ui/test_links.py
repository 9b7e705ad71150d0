"""Links as a person uses them: copied, and opened in another browser against a fresh server."""

from urllib.parse import parse_qs

import pytest

import viz_encoder as vz
from tests.ui.conftest import PAINTED, UNFOLD, lasting, listen_for_errors, open_tab, serving
from viz_encoder.ui.serve import ServerSettings, make_app

TEXT = "The animal didn't cross the street because it was too tired"
IT, ANIMAL = 10, 2


@pytest.fixture(scope="module")
def fresh_site():
    """A server that has never seen any of the runs."""
    with serving(make_app(ServerSettings())) as address:
        yield address


@pytest.fixture(scope="module")
def elsewhere(chromium, fresh_site):
    """Another person's browser."""
    with lasting(chromium, fresh_site) as context:
        yield context


@pytest.fixture
def reopened(elsewhere, fresh_site):
    """Open a page's link in the other browser, on the fresh server."""
    pages = []

    def open_link(page):
        query = page.evaluate("(window.vizTab.selection.flush(), location.search)")
        other = elsewhere.new_page()
        pages.append((other, found := []))
        other.add_init_script(UNFOLD)
        other.set_viewport_size({"width": 1440, "height": 1000})
        listen_for_errors(other, found.append)
        other.goto(f"{fresh_site}{query}")
        return other

    yield open_link
    for other, found in pages:
        other.close()
        assert found == []


def chosen(page):
    """What the address chooses, without keys of runs, which are those of one server."""
    search = page.evaluate("(window.vizTab.selection.flush(), location.search)")
    found = parse_qs(search.removeprefix("?"))
    return {name: value for name, value in found.items() if name not in ("run", "ref.run")}


def test_a_comparison_is_restored_on_another_server(shared, reopened, minilm):
    opened = shared(layer=3, head=1, query=IT, key=ANIMAL)
    page = opened.page
    before = page.evaluate("vizTab.run.key")
    page.locator(".viz-swap").click()
    page.wait_for_selector(f"{PAINTED}:not([data-painted='{before}'])")
    page.get_by_role("button", name="Show the change", exact=True).click()
    page.select_option("#viz-statistic", "change")
    page.select_option("#viz-order", "highest")
    page.wait_for_function("vizTab.changes.most > 0 && vizTab.measures.complete('change')")
    page.wait_for_selector(".viz-map[data-painted*=':change:']")
    other = reopened(page)
    other.wait_for_selector(".viz-map[data-painted*=':change:']", timeout=60_000)
    other.wait_for_function("vizTab.changes.most > 0 && vizTab.measures.complete('change')")
    shown = "[...vizTab.map.tiles[0].values].map((value) => Number.isNaN(value) ? null : value)"
    assert other.evaluate(shown) == pytest.approx(page.evaluate(shown), abs=1e-6)
    now, was = (vz.capture(minilm, text) for text in (TEXT.replace("tired", "wide"), TEXT))
    change = (now.attention(3, 1) - was.attention(3, 1))[IT, ANIMAL]
    assert other.evaluate("vizTab.map.parts.at(10, 2).value") == pytest.approx(
        float(change), abs=2e-6
    )
    for part in (".viz-readout", ".viz-reference-said", ".viz-finding", ".viz-map h3"):
        assert other.inner_text(part) == page.inner_text(part)
    order = "[...document.querySelectorAll('.viz-atlas-cell')].map((cell) => cell.dataset.head)"
    assert other.evaluate(order) == page.evaluate(order)
    assert chosen(other) == chosen(page)


@pytest.mark.slow
def test_what_single_tabs_chose_is_restored(visit, reopened):
    page = visit(kind="image", model="scene", example="a wide scene").painted()
    page.locator("#viz-opacity").fill("35")
    page.get_by_role("button", name="who looks at it").click()
    open_tab(page, "Masks", "bugs")
    page.locator("[data-specimen]").nth(4).click()
    bug = page.inner_text(".viz-zoo-title")
    open_tab(page, "Vectors")
    page.wait_for_function("window.vizHidden?.shown")
    page.evaluate("vizHidden.depth.set({ layer: 1 })")
    other = reopened(page)
    other.wait_for_selector("#viz-tab-vectors-button[aria-selected=true]", timeout=60_000)
    other.wait_for_function("window.vizHidden?.shown")
    assert other.evaluate("vizHidden.depth.layer") == 1
    open_tab(other, "Masks", "bugs")
    assert other.inner_text(".viz-zoo-title") == bug
    open_tab(other, "Explore")
    assert other.input_value("#viz-opacity") == "35"
    assert other.get_attribute("[data-direction=who]", "aria-pressed") == "true"
    assert other.evaluate("vizTab.source.picture.opacity.node.innerText").endswith("35%")
    open_tab(other, "Masks", "bugs")
    open_tab(other, "Masks", "quiz")
    other.wait_for_function("!location.search.includes('zoo.bug')")  # its name is to be guessed


@pytest.mark.slow
def test_how_each_tab_measures_is_restored(visit, reopened):
    """Explore's question, what stands in for a head there, Pooling's choices, shown at once."""
    text = "the keys to the cabinet [MASK] old"
    opened = visit(kind="text", a=text, model="grammar", measure="effect")
    page = opened.page
    page.wait_for_selector(".viz-how[data-painted*=':effect:']", timeout=60_000)
    page.select_option("#viz-stand-in", "mean")
    open_tab(page, "Vectors")
    page.wait_for_selector(".viz-pool-chosen[data-painted]")
    page.locator(".viz-hidden .viz-slider").fill("1")
    page.wait_for_selector(".viz-pool-chosen[data-painted*=':1:']")
    page.click("[data-method=max] button")
    page.locator("#viz-pool-padding").fill("9")
    page.fill("#viz-pairs-text", "the key is old")
    page.click(".viz-pairs-form button")
    open_tab(page, "Explore")
    page.wait_for_selector(".viz-how[data-painted]")
    labels = page.locator("#viz-explain-label option").evaluate_all("all => all.map(o => o.value)")
    page.select_option("#viz-explain-label", labels[2])
    page.select_option("#viz-explain-against", "runner-up")
    page.wait_for_selector(f".viz-how[data-painted*='label={labels[2]}'][data-painted*='runner']")
    drawn = page.get_attribute(".viz-how", "data-painted").split(":")[1]
    other = reopened(page)
    other.wait_for_selector(".viz-how[data-painted*='runner']", timeout=60_000)
    assert other.get_attribute(".viz-how", "data-painted").split(":")[1] == drawn
    fields = {"label": labels[2], "against": "runner-up", "task": "masked"}
    assert {each: other.input_value(f"#viz-explain-{each}") for each in fields} == fields
    open_tab(other, "Vectors")
    other.wait_for_selector(".viz-pool-chosen[data-painted*=':1:']")
    assert other.get_attribute("[data-method=max] button", "aria-pressed") == "true"
    assert other.input_value(".viz-hidden .viz-slider") == "1"
    assert other.input_value("#viz-pool-padding") == "9"
    assert other.input_value("#viz-pairs-text") == "the key is old"
    open_tab(other, "Explore")
    assert other.input_value("#viz-stand-in") == "mean"
    assert chosen(other) | {"tab": 0} == chosen(page) | {"tab": 0}
    open_tab(other, "Explore")  # another run begins as usual
    key = other.evaluate("vizTab.run.key")
    other.fill("#viz-text-a textarea", "the key to the cabinets [MASK] old")
    other.click("#viz-run")
    other.wait_for_function("key => vizTab.run.key !== key", arg=key, timeout=30_000)
    left = set(chosen(other))
    assert not left & {"flow.answer", "hidden.layer", "pool.text"}
