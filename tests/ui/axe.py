"""axe-core on a page: what it finds serious or critical (WCAG 2.2 A and AA)."""

from pathlib import Path

AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# No color is on its way from one theme to the other.
SETTLED = "document.getAnimations().every((each) => !(each instanceof CSSTransition))"


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
