"""Lines between tokens: how many, of which heads, whose, and between which texts."""

import pytest
import torch

import viz_encoder as vz

PAIR = ("The cat sat on the mat", "It was tired")
FAINT = 0.0004
PAINTED = ".viz-lines[data-painted]"


@pytest.fixture(scope="module")
def pair(minilm):
    return vz.capture(minilm, PAIR)


def open_lines(opened):
    opened.page.click(".viz-lines summary")
    opened.page.wait_for_selector(PAINTED)


@pytest.fixture
def drawn(shared):
    """A page of its query, at its place, with the section of lines open and drawn."""

    def at(**query):
        opened = shared(open_lines, **query)
        kept = "hide" if query.get("hide") else "all"
        head = f":{query.get('layer', 0)}:{query.get('head', 0)}:{kept}:"
        opened.page.wait_for_selector(f".viz-lines[data-painted*='{head}']")
        return opened

    return at


def kept(weights: torch.Tensor, share: float) -> torch.Tensor:
    """The cells whose key is needed, strongest first, to reach the share of its query's weight."""
    rows = weights.double()
    stronger = (rows[:, None, :] > rows[:, :, None]).double()  # row, key, every other key
    before = (stronger * rows[:, None, :]).sum(dim=-1)
    needed = (before < share * rows.sum(dim=-1, keepdim=True)) & (weights > 0)
    return needed & (weights >= FAINT)


def wait_for_count(opened, lines: int, cells: int) -> None:
    """Wait for the sentence that says so many lines of so many are drawn."""
    wanted = f"{lines:,} lines drawn of {cells:,}."
    opened.page.wait_for_function(
        "text => document.getElementById('viz-lines-count').textContent.startsWith(text)",
        arg=wanted,
        timeout=60_000,
    )


def slide(opened, percent: int) -> None:
    opened.page.locator("#viz-share").fill(str(percent))


def point(opened, side: str, at: int) -> str:
    """Point at a token of one column; gives what the section says of it."""
    opened.page.locator(".viz-lines-canvas").scroll_into_view_if_needed()
    left, right, width, scroll, x, y = opened.page.evaluate(
        """() => {
          const { plan, canvas } = window.vizTab.lines, page = canvas.getBoundingClientRect();
          return [plan.left, plan.right, plan.width, plan.scroll, page.left, page.top];
        }"""
    )
    middle = left / 2 if side == "query" else (right + width) / 2
    opened.page.mouse.move(x + middle, y + 20 * (at + 0.5) - scroll)  # a line of text each
    return opened.page.inner_text(".viz-lines-told")


def ink(opened) -> tuple[int, list[int]]:
    """How much is drawn midway between the columns, and right of the left column, by row."""
    return opened.page.evaluate(
        """async () => {
          await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          const { plan, canvas } = window.vizTab.lines;
          const copy = new OffscreenCanvas(canvas.width, canvas.height);
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(canvas, 0, 0);
          const ratio = canvas.width / plan.width;
          const column = (x) => context.getImageData(Math.round(x * ratio), 0, 1, canvas.height)
            .data.filter((_, i) => i % 4 === 3);
          const rows = new Set();
          column(plan.left + 2).forEach((a, y) => a && rows.add(Math.floor(y / ratio / 20)));
          const middle = column((plan.left + plan.right) / 2).filter((a) => a).length;
          return [middle, [...rows].sort((a, b) => a - b)];
        }"""
    )


def test_says_how_many_lines_the_share_leaves(drawn, trace):
    opened = drawn(layer=3, head=5)
    weights = trace.attention(3, 5)
    for percent in (90, 50, 1, 100):
        slide(opened, percent)
        wait_for_count(opened, int(kept(weights, percent / 100).sum()), weights.numel())


def test_any_set_of_heads(drawn, trace):
    opened = drawn(layer=2, head=0)
    opened.page.click("text=Several heads …")
    opened.page.click("[data-several='7']")
    chosen = [trace.attention(2, head) for head in (0, 7)]
    lines = sum(int(kept(weights, 0.9).sum()) for weights in chosen)
    wait_for_count(opened, lines, 2 * chosen[0].numel())
    opened.page.click("[data-several=all]")
    every = sum(int(kept(weights, 0.9).sum()) for weights in trace.attention(2))
    wait_for_count(opened, every, trace.n_heads * chosen[0].numel())


def test_a_token_pointed_at_keeps_its_lines_alone(drawn, trace):
    opened = drawn(layer=3, head=5)
    weights = trace.attention(3, 5)
    cells, it = kept(weights, 0.9), trace.tokens.index("it")
    whole, starts = ink(opened)
    assert len(starts) > 1
    said = point(opened, "query", it)
    strongest = int(weights[it].argmax())
    assert f"“it”: {int(cells[it].sum())} line" in said
    assert f"key {strongest} “{trace.tokens[strongest]}”" in said
    middle, starts = ink(opened)
    assert 0 < middle < whole
    assert starts == [it]
    said = point(opened, "key", it)
    ends = cells[:, it]
    assert f"“it”: {int(ends.sum())} line" in said
    assert ink(opened)[1] == torch.nonzero(ends).flatten().tolist()
    opened.page.mouse.move(5, 5)
    assert ink(opened)[0] == whole


def test_click_and_arrows_choose_the_query(drawn, trace):
    opened = drawn(layer=3, head=5)
    point(opened, "query", 4)
    opened.page.mouse.down()
    opened.page.mouse.up()
    assert opened.page.evaluate("window.vizTab.selection.query") == 4
    opened.page.focus(".viz-lines-canvas")
    opened.page.keyboard.press("ArrowDown")
    assert opened.page.evaluate("window.vizTab.selection.query") == 5
    assert ink(opened)[1] == [5]
    label = opened.page.get_attribute(".viz-lines-canvas", "aria-label")
    strongest = int(trace.attention(3, 5)[5].argmax())
    assert f"to key {strongest} “{trace.tokens[strongest]}”" in label
