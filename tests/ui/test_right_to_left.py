"""Pieces of words read from right to left: their ## stands at the right, where the word goes on."""

import pytest

import viz_encoder as vz
from tests.ui.conftest import open_tab

TEXT = "the שלום of العربية here"
# Places where the mark is at the left of the letter that follows it, in sight or not.
WRONG = """() => {
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const box = (node, at) => {
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + 1);
    return range.getBoundingClientRect();
  };
  let seen = 0;
  for (let node = walk.nextNode(); node; node = walk.nextNode())
    for (const { index } of node.textContent.matchAll(/##[\\u0590-\\u08ff]/g)) {
      const [mark, letter] = [box(node, index), box(node, index + 2)];
      if (!mark.width || Math.abs(mark.top - letter.top) > 4) continue;
      seen += 1;
      if (mark.left < letter.left) found.push(node.parentElement.outerHTML.slice(0, 200));
    }
  return { seen, found };
}"""


@pytest.mark.slow
def test_the_mark_of_a_piece_stands_where_its_word_goes_on(visit):
    model = "all-MiniLM-L6-v2"
    page = visit(kind="text", a=TEXT, model=model, query=3, key=4, measure="effect").page
    page.wait_for_selector(".viz-how[data-painted*=':effect:']", timeout=60_000)
    told = page.evaluate(WRONG)
    assert told["seen"] > 8 and told["found"] == []
    open_tab(page, "Learn")
    page.wait_for_selector(".viz-learn[data-painted]")
    page.evaluate("vizLearn.go(4)")
    page.wait_for_function(
        "[...document.querySelectorAll('.viz-learn-aside p')]"
        ".some(each => each.textContent.includes('##'))"
    )
    told = page.evaluate(WRONG)
    assert told["seen"] > 2 and told["found"] == []


def test_figures_isolate_names_and_their_tables_do_not(minilm):
    from viz_encoder.export.figure_tables import figure_csv

    figure = vz.figures.attention_map(vz.capture(minilm, TEXT), layer=0, head=0)
    assert figure.data[0].x[3] == "3 \u2068##ל\u2069" and figure.data[0].x[1] == "1 the"
    table = "".join(figure_csv(figure))
    assert "3 ##ל" in table and "\u2068" not in table
