"""Every text of a dark page stands out from its ground: at least 4.5 : 1 (WCAG 2.2, 1.4.3)."""

from tests.ui.axe import SETTLED

# Each text's color and every background behind it, red, green, blue and opacity, nearest first.
COLORS = """() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const isText = (node) => node.nodeType === 3 && node.textContent.trim();
  const above = (node) => (node ? [node, ...above(node.parentElement)] : []);
  const named = "button, summary, label, p, span, select, h3, h4, a, li, output";
  return [...document.querySelectorAll(named)]
    .filter((node) => node.offsetParent && [...node.childNodes].some(isText))
    .filter((node) => !node.closest(":disabled") && !node.querySelector(":disabled"))
    .map((node) => {
      const styles = above(node).map((one) => getComputedStyle(one));
      return {
        text: node.textContent.trim().slice(0, 40),
        ink: numbers(styles[0].color),
        grounds: styles.map((style) => numbers(style.backgroundColor)),
        opacity: styles.reduce((whole, style) => whole * Number(style.opacity), 1),
      };
    });
}"""


def over(front: list[float], back: list[float], opacity: float = 1) -> list[float]:
    """A color laid over an opaque one."""
    share = opacity * (front[3] if len(front) == 4 else 1)
    return [share * f + (1 - share) * b for f, b in zip(front[:3], back, strict=True)]


def luminance(color: list[float]) -> float:
    parts = [part / 255 for part in color]
    light = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]


def contrast(one: dict) -> float:
    ground = [255.0, 255.0, 255.0]
    for layer in reversed(one["grounds"]):
        ground = over(layer, ground)
    bright, dark = sorted(
        map(luminance, (ground, over(one["ink"], ground, one["opacity"]))), reverse=True
    )
    return (bright + 0.05) / (dark + 0.05)


def test_text_stands_out(shared):
    opened = shared(head="1,4")
    opened.page.evaluate("document.body.classList.add('dark')")
    opened.page.wait_for_function(SETTLED)
    opened.page.click("text=Several heads …")
    opened.page.wait_for_selector(".viz-head-chip[aria-pressed=true]")
    found = opened.page.evaluate(COLORS)
    assert {"Run", "Explore", "1", "where it looks"} <= {one["text"] for one in found}
    faint = {one["text"]: round(contrast(one), 2) for one in found if contrast(one) < 4.5}
    assert faint == {}
