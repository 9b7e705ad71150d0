"""What is said of a view: small numbers, the link, lost heads, a reference, readable colors."""

import re
from decimal import Decimal

import numpy as np
import pytest

import viz_encoder as vz
from tests.ui.conftest import run_beside
from tests.ui.texts import SENTENCES

TEXT = "The animal did not cross the street because it was too tired"
OTHER = TEXT.replace("animal", "child").replace("street", "river")


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


@pytest.mark.slow
def test_the_link_keeps_the_atlas_and_is_written_once_a_frame(visit):
    page = visit(stat="previous", order="lowest", kind="text", a=TEXT).painted()
    assert page.input_value("#viz-statistic") == "previous"
    assert page.input_value("#viz-order") == "lowest"
    assert "The first query has none and is left out." in page.inner_text(".viz-order")
    shown = page.eval_on_selector_all(".viz-atlas-cell", "all => all.map(c => c.dataset.head)")
    assert shown != sorted(shown, key=lambda name: [int(part) for part in name.split(".")])
    page.select_option("#viz-statistic", "next")
    page.select_option("#viz-order", "highest")
    page.wait_for_url(re.compile("stat=next&order=highest"))
    assert "The last query has none and is left out." in page.inner_text(".viz-order")
    page.select_option("#viz-statistic", "entropy")
    page.select_option("#viz-order", "layer")
    page.wait_for_url(lambda url: "stat=" not in url and "order=" not in url)
    counts = page.evaluate(
        """async () => {
          const { selection } = window.vizTab;
          let written = 0;
          for (const name of ["replaceState", "pushState"]) {
            const plain = history[name];
            history[name] = (...all) => { written++; plain.apply(history, all); };
          }
          for (const query of [1, 2, 3, 4]) selection.set({ query });
          const found = [written];
          await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)));
          found.push(written);
          selection.set({ query: 5 });
          selection.flush();
          found.push(written, location.search.includes("query=5"));
          return found;
        }"""
    )
    assert counts == [0, 1, 2, True]


@pytest.mark.slow
def test_the_reference_names_the_first_difference(shared, minilm):
    opened = shared(kind="text", a=TEXT)
    opened.page.wait_for_selector(".viz-atlas[data-painted]", timeout=60_000)
    page = opened.page
    for text in (OTHER, SENTENCES[1]):
        key = page.evaluate("vizTab.run.key")
        run_beside(page, text)
        page.wait_for_selector(
            f".viz-atlas[data-painted]:not([data-painted='{key}'])", timeout=60_000
        )
        assert page.get_by_role("button", name="Show the change", exact=True).is_visible()
        if text == OTHER:
            n = vz.capture(minilm, OTHER).n_tokens
            said = page.inner_text(".viz-reference-said")
            assert f"2 of {n} tokens differ: first “animal” → “child”." in said
    said = page.inner_text(".viz-reference-said")
    assert "maps are compared on the tokens that both have" in said and "subtracted" not in said


@pytest.mark.slow
def test_two_texts_are_named_and_their_border_is_drawn(visit, minilm):
    pair = ("The cat sat on the mat", "It was tired")
    page = visit(kind="pair", a=pair[0], b=pair[1]).painted()
    assert page.locator("#viz-text-a label, #viz-text-a span").first.inner_text() == "Text A"
    page.click(".viz-lines summary")
    page.wait_for_selector(".viz-lines[data-painted]")
    segments = vz.capture(minilm, pair).sample.segments
    assert page.evaluate("vizTab.lines.plan.starts") == [0, segments.index(1)]
    inked = page.evaluate(
        """(row) => {
          const { plan, canvas } = vizTab.lines, ratio = canvas.width / plan.width;
          const copy = new OffscreenCanvas(canvas.width, canvas.height);
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(canvas, 0, 0);
          const wide = Math.floor(plan.left * ratio) - 2;
          const dark = (y) => context.getImageData(0, Math.round(y * ratio), wide, 1)
            .data.filter((alpha, at) => at % 4 === 3 && alpha > 60).length;
          return [dark(row * 20), dark((row - 1) * 20)];
        }""",
        segments.index(1),
    )
    assert inked[0] > 40 > inked[1]
    page.get_by_text("Text", exact=True).first.click()
    page.wait_for_function(
        "!document.querySelector('#viz-text-a').textContent.includes('Text A')", timeout=10_000
    )
