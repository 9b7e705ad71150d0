"""Back and Forward: each run and each tab that was open, with its place; what the form folds."""

from tests.ui.conftest import open_tab

CAT = "The cat sat on the mat."
PLACE = """() => {
  const { run, selection: { layer, head, query, key } } = window.vizTab;
  const tabs = [...document.querySelectorAll("#viz-tabs [role=tab][aria-selected=true]")];
  const tab = tabs.filter((each) => each.checkVisibility()).at(-1);
  const text = document.querySelector("#viz-text-a textarea").value;
  const place = [layer, head, query, key];
  return { text: run.link.a, tab: tab.textContent.trim(), place, text_a: text };
}"""
IS_THERE = f"expected => JSON.stringify(({PLACE})()) === JSON.stringify(expected)"


def select(page, layer, head, query, key):
    """Choose a place, and wait until the address says so."""
    page.evaluate(
        "place => (vizTab.selection.set(place), vizTab.selection.flush())",
        {"layer": layer, "head": head, "query": query, "key": key},
    )


def run_cat(page):
    """Run another text, and wait until the address has it."""
    page.fill("#viz-text-a textarea", CAT)
    page.click("#viz-run")
    page.wait_for_function("text => vizTab.run.link.a === text", arg=CAT)
    page.wait_for_function("location.search.includes('mat')")


def is_there(page, text, tab, place):
    """Wait until the page shows that text in that tab, with that place selected in it."""
    expected = {"text": text, "tab": tab, "place": place, "text_a": text}
    page.wait_for_function(IS_THERE, arg=expected)


def test_back_and_forward_go_through_runs_and_tabs(visit):
    opened = visit()
    page = opened.painted()
    first = page.evaluate("vizTab.run.link.a")
    select(page, 2, 5, 4, 3)
    page.select_option("#viz-explain-task", "pooled")
    page.wait_for_function("location.search.includes('flow.answer')")
    open_tab(page, "Vectors")
    page.wait_for_function("location.search.includes('tab=vectors')")
    run_cat(page)
    select(page, 4, 1, 2, 5)
    page.click("#viz-tab-explore-button")
    page.wait_for_function("!location.search.includes('tab=')")
    is_there(page, CAT, "Explore", [4, 1, 2, 5])
    for text, tab, place in (
        (CAT, "Vectors", [4, 1, 2, 5]),
        (first, "Vectors", [2, 5, 4, 3]),
        (first, "Explore", [2, 5, 4, 3]),
    ):
        page.go_back()
        is_there(page, text, tab, place)
    opened.map_painted("2.5")
    page.go_back()  # to what was asked before
    page.wait_for_function("document.querySelector('#viz-explain-task').value === 'state'")
    page.evaluate("history.go(4)")
    is_there(page, CAT, "Explore", [4, 1, 2, 5])
    opened.map_painted("4.1")


def test_what_is_folded_away_opens_below_its_title(shared):
    page = shared().page
    titles = page.locator("#viz-more .label-wrap")

    def places():
        return titles.evaluate_all(
            """all => all.map((one) => {
              const from = document.querySelector("#viz-run").getBoundingClientRect();
              const { x, y } = one.getBoundingClientRect();
              return [Math.round(x - from.x), Math.round(y - from.y)];
            })"""
        )

    before = places()
    for at in range(titles.count()):
        titles.nth(at).click()
        page.wait_for_function(
            "at => document.querySelectorAll('#viz-more .label-wrap + div')[at].offsetHeight > 40",
            arg=at,
        )
        assert places() == before
        titles.nth(at).click()
        page.wait_for_selector("#viz-more .label-wrap.open", state="detached")
