"""axe-core on every tab in both themes: nothing serious or critical (WCAG 2.2 A and AA)."""

from pathlib import Path

import pytest

AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
DRAWN = {
    "Attention": ".viz-atlas[data-painted]",
    "What if": ".viz-whatif-tokens[data-painted]",
    "Flow": ".viz-flow[data-painted]",
    "Hidden states": "#viz-hidden-change[data-painted]",
    "Pooling": "#viz-pooling .viz-pool[data-painted]",
    "Masks": ".viz-masks[data-painted]",
    "Mask zoo": ".viz-zoo-head",
    "Learn": ".viz-learn[data-painted]",
    "Corpus": ".viz-corpus[data-painted]",
}


def findings(page) -> list[str]:
    """What axe finds serious or critical, each with the element that it is of."""
    found = page.evaluate(
        """async (tags) => {
          const runOnly = { type: "tag", values: tags };
          const { violations } = await axe.run({ runOnly, resultTypes: ["violations"] });
          const told = (id, { target, html }) => `${id}: ${target} ${html.slice(0, 160)}`;
          return violations
            .filter(({ impact }) => impact === "serious" || impact === "critical")
            .flatMap(({ id, nodes }) => nodes.map((node) => told(id, node)));
        }""",
        RULES,
    )
    return list(found)


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_tab(visit, theme):
    opened = visit(__theme=theme)
    opened.painted()
    page = opened.page
    page.evaluate(AXE.read_text("utf-8"))  # the page itself runs no script but its own
    found = []
    for tab, drawn in DRAWN.items():
        page.get_by_role("tab", name=tab, exact=True).click()
        page.wait_for_selector(drawn, timeout=60_000)
        page.wait_for_selector(".viz-busy:visible", state="detached", timeout=60_000)
        found += [f"{tab}: {told}" for told in findings(page)]
    assert not found, "\n".join(found)
