"""What is said of a view: small numbers, the link, lost heads, a reference, readable colors."""

import re
from decimal import Decimal

import numpy as np
import pytest

import viz_encoder as vz

TEXT = "The animal did not cross the street because it was too tired"


@pytest.fixture(scope="module")
def trace(minilm):
    return vz.capture(minilm, TEXT)


def luminance(color):
    """Relative luminance by the definition of WCAG 2.2."""
    share = np.array(color) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_small_numbers_are_told_apart(shared, trace):
    opened = shared(layer=3, head=5, kind="text", a=TEXT)
    opened.painted()
    given = [0.21338, 0.0010004, 0.000213449, 0.000099, 2.13449e-7, 0]
    said = opened.imported("core/dom.js", f"{given}.map(m.number)")
    assert said == ["0.2134", "0.0010", "0.000213", "9.90e-5", "2.13e-7", "0"]
    said = opened.imported("core/dom.js", "[0.0004, 0.0123, 0.2, 0].map((v) => m.amount(v, 2))")
    assert said == ["0.000400", "0.01", "0.20", "0.00"]
    # As drawn: every cell in sight, large enough for two digits.
    opened.page.evaluate(
        """() => {
          const { map } = window.vizTab, plain = map.context.fillText;
          window.drawn = [];
          map.context.fillText = function (text, ...at) {
            window.drawn.push(text);
            plain.call(this, text, ...at);
          };
          Object.assign(map.view, { row: 0, col: 0, span: 6 });
          map.draw();
        }"""
    )
    cells = trace.attention(3, 5)[:6, :6].flatten().tolist()
    drawn = opened.page.evaluate("(delete vizTab.map.context.fillText, window.drawn.slice(0, 36))")
    assert min(cells) < 0.005
    for text, weight in zip(drawn, cells, strict=True):
        assert abs(Decimal(text) - Decimal(weight)) <= Decimal(
            f"0.51e{Decimal(text).as_tuple()[2]}"
        )
        assert len(Decimal(text).as_tuple().digits) <= 2
        assert len(Decimal(text).as_tuple().digits) == 2 or Decimal(text) == 0


def test_ink_stands_out_on_chips_and_no_choice_is_cut(shared):
    page = shared(kind="text", a=TEXT).painted()
    page.click("text=Several heads …")
    page.click("[data-several='all']")
    chips = page.eval_on_selector_all(
        "[data-several][aria-pressed=true]",
        "all => all.map(getComputedStyle).map((s) => [s.color, s.backgroundColor])",
    )
    assert len(chips) == 12
    for pair in chips:
        ink, ground = ([int(n) for n in re.findall(r"\d+", text)[:3]] for text in pair)
        assert contrast(ink, ground) >= 4.5
    for name in ("viz-statistic", "viz-order"):
        page.select_option(f"#{name}", index=1)
        cut = page.eval_on_selector(
            f"#{name}",
            """(select) => {
              const ruler = document.createElement("canvas").getContext("2d");
              const style = getComputedStyle(select);
              ruler.font = style.font;
              const widths = [...select.options].map((o) => ruler.measureText(o.text).width);
              const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
              return Math.max(...widths) + padding - select.clientWidth;
            }""",
        )
        assert cut <= 0
