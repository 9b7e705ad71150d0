"""A server that is gone and back, and runs that it holds no more: nothing of a person's is lost."""

from urllib.parse import quote, urlsplit

import pytest
import torch

from tests.slow import slow
from tests.ui.conftest import serving
from tests.ui.texts import MASKED
from viz_encoder.ui.serve import ServerSettings, make_app
from viz_encoder.ui.state.painted_mask import mask_code

LOST, BOX = ".viz-page-note:not([hidden])", "#viz-text-a textarea, #viz-text-a input"
LINK = f"?kind=text&model=grammar&a={quote(MASKED[0])}&layer=3&head=0&query=6&key=2"
CAUSAL = f"&ran={mask_code(torch.ones(9, 9, dtype=torch.bool).tril())}"


def painted(page, head, key=None):
    other = f":not([data-painted*='{key}'])" if key else ""
    page.wait_for_selector(f".viz-map[data-painted*=':{head}:']{other}", timeout=30_000)


@pytest.fixture
def opened(chromium):
    """A page of its own, of whose errors only those of the network are expected."""
    with chromium.new_context() as context:
        page, errors = context.new_page(), []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.set_viewport_size({"width": 1440, "height": 1000})
        yield page
        assert errors == []


@pytest.fixture(scope="module")
def forgetful():
    """A server and its runs, which a test may drop."""
    app = make_app(ServerSettings(device="cpu"))
    with serving(app) as site:
        yield site, app.state.runner.store._entries


@pytest.mark.parametrize("made", [slow("&cut=h3.1"), CAUSAL])
def test_a_server_that_comes_back_finds_the_page_as_it_was(opened, made):
    page = opened
    with serving(make_app(ServerSettings(device="cpu"))) as site:
        page.goto(site + LINK + made)
        painted(page, "3.0")
        page.wait_for_selector("#viz-proof.viz-good")
        page.fill(BOX, "typed and not run")
        before = page.evaluate("({ ...vizTab.run })")
        assert [bool(before["masked"]), bool(before["changed"])] == ["ran" in made, "cut" in made]
    page.click(".viz-share-grid [data-head='2.3']")
    page.wait_for_selector(LOST)
    assert "is not responding" in page.inner_text(LOST)
    with serving(make_app(ServerSettings(device="cpu")), urlsplit(site).port):
        painted(page, "2.3", before["key"])
        page.wait_for_selector(LOST, state="hidden")
        page.wait_for_selector("#viz-proof.viz-good")
        after = page.evaluate("({ ...vizTab.run })")
        chosen = page.evaluate("[vizTab.selection.query, vizTab.selection.key]")
        assert chosen == [6, 2] and page.input_value(BOX) == "typed and not run"
        assert after["tokens"] == before["tokens"] and after["masked"] == before["masked"]
        assert (after["changed"] or {}).get("changes") == (before["changed"] or {}).get("changes")
        page.evaluate("vizTab.selection.flush()")
        assert made in page.url


@pytest.mark.slow
def test_a_run_that_no_link_holds_says_what_to_do(opened, forgetful):
    site, runs = forgetful
    opened.goto(site + LINK)
    painted(opened, "3.0")
    opened.evaluate("vizTab.run.link = { kind: 'text', model: 'grammar', from: 'file' }")
    opened.wait_for_selector("#viz-proof.viz-good")
    runs.clear()
    opened.click(".viz-share-grid [data-head='1.2']")
    opened.wait_for_selector(f"{LOST} >> text=open its file again")


def test_what_was_typed_is_there_after_a_reload_and_in_no_other_window(shared):
    page = shared().page
    page.fill(BOX, "typed and not run")
    page.evaluate("vizTab.selection.flush()")
    page.reload()
    page.wait_for_function(f"document.querySelector('{BOX}')?.value === 'typed and not run'")
    assert "typed" not in page.evaluate("JSON.stringify(localStorage)")
    page.evaluate("sessionStorage.clear()")
