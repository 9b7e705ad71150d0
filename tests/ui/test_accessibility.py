"""axe-core on every tab in both themes: nothing serious or critical (WCAG 2.2 A and AA)."""

from pathlib import Path

import pytest

from tests.slow import slow
from tests.ui.conftest import open_tab

AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
DRAWN = {
    "Explore": ".viz-atlas[data-painted]",
    "Hidden states": "#viz-hidden-change[data-painted]",
    "Pooling": "#viz-pooling .viz-pool[data-painted]",
    "Paint and check": ".viz-masks[data-painted]",
    "Mask zoo": ".viz-zoo-head",
    "Learn": ".viz-learn[data-painted]",
    "Corpus": ".viz-corpus[data-painted]",
}

# No color is on its way from one theme to the other.
SETTLED = "document.getAnimations().every((each) => !(each instanceof CSSTransition))"


@pytest.fixture(scope="module")
def opened(visit_once):
    """The page that both themes share; the page itself runs no script but its own."""
    opened = visit_once()
    opened.painted()
    opened.page.evaluate(AXE.read_text("utf-8"))
    return opened


def findings(page, panels: str = "all") -> list[str]:
    """What axe finds serious or critical, each with the element that it is of.

    It walks hidden elements too, which takes most of its time: only the shown panels stay
    in the document while it looks at those.
    """
    found = page.evaluate(
        """async ([tags, panels]) => {
          const all = panels === "shown" ? document.querySelectorAll("[role=tabpanel]") : [];
          const hidden = [...all].filter((panel) => !panel.checkVisibility());
          const places = hidden.map(() => document.createComment(""));
          hidden.forEach((panel, at) => panel.replaceWith(places[at]));
          const runOnly = { type: "tag", values: tags };
          const { violations } = await axe.run({ runOnly, resultTypes: ["violations"] });
          places.forEach((place, at) => place.replaceWith(hidden[at]));
          const told = (id, { target, html }) => `${id}: ${target} ${html.slice(0, 160)}`;
          return violations
            .filter(({ impact }) => impact === "serious" || impact === "critical")
            .flatMap(({ id, nodes }) => nodes.map((node) => told(id, node)));
        }""",
        [RULES, panels],
    )
    return list(found)


@pytest.mark.parametrize("theme", [slow("light"), "dark"])
def test_axe_finds_nothing_serious_on_any_tab(opened, theme):
    page, found = opened.page, []
    page.evaluate("dark => document.body.classList.toggle('dark', dark)", theme == "dark")
    for tab, drawn in DRAWN.items():
        open_tab(page, tab)
        page.wait_for_selector(drawn, timeout=60_000)
        if tab == "Explore":  # a sentence with heads to click on
            page.fill("#viz-find", "previous token over 0.3")
            page.wait_for_selector(".viz-found-head", timeout=60_000)
        page.wait_for_selector(".viz-busy:visible", state="detached", timeout=60_000)
        page.wait_for_function(SETTLED)
        last = theme == "light" and tab == [*DRAWN][-1]
        panels = "all" if last else "shown"  # once with all that has been drawn
        found += [f"{tab}: {told}" for told in findings(page, panels)]
    assert not found, "\n".join(found)
    assert opened.faults == []
