"""python -m benchmarks.browser: our page beside gr.Plot and bertviz, in one run of one Chromium."""

import argparse
import platform
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.first_map import first_maps
from benchmarks.pages import PRESS, REST, bertviz_page, click_to_paint, frames, run_of
from benchmarks.started import GRADIO, OURS, started
from tests.conftest import FLAGS, chromium_path
from viz_encoder.trace import Trace

ROUNDS = 12
WHOLE = 512  # tokens of a map that comes whole and exact
DELAY = 50  # milliseconds of a request to a server that is not near
# A visitor's browser optimizes what runs often; those of the tests live too short for that.
AS_VISITORS = [flag for flag in FLAGS if not flag.startswith("--js-flags")]
GRID = ".viz-shares [data-head='{}.{}']", ".viz-map[data-painted*=':{}.{}:']"
HEADS = ".viz-atlas-grid [data-head='{}.{}']", ".viz-map[data-painted*=':{}.{}:']"
FIRST = GRID[0], ".viz-map[data-begun*=':{}.{}:']"
PLOT = "#head-{}-{}", "text=Attention {}.{}"
WORDS = ["the", "animal", "was", "too", "tired", "to", "cross", "the", "street"]  # a token each
ZOOM = "() => { const { map } = window.vizTab; map.view.zoom(0.05, 2000, 2000); map.moved(); }"


@dataclass(frozen=True)
class Measured:
    """Milliseconds of one row: the median, and the 95th percentile."""

    what: str
    median: float
    most: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.browser", description=__doc__)
    found = chromium_path()
    parser.add_argument("--chromium", default=found, help="its path (%(default)s)")
    parser.add_argument("--cdn", type=Path, help="a folder with d3, jquery and require.js, offline")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="clicks a row (%(default)s)")
    given = parser.parse_args()
    torch.set_num_threads(1)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=given.chromium, args=AS_VISITORS)
        rows = list(_rows(browser, given.rounds, given.cdn))
        version = browser.version
        browser.close()
    table = _table(rows, version)
    print(table)
    (Path(__file__).parent / "BROWSER.md").write_text(table)


def _rows(browser: Browser, rounds: int, cdn: Path | None) -> Iterator[Measured]:
    empty, first = first_maps(browser)
    yield _measured("empty Gradio page: address → its one line painted", empty)
    yield _measured("ours: address → first exact map painted, without any cache", first)
    empty, first = first_maps(browser, delay=DELAY)
    far = f"with {DELAY} ms of delay a request"
    yield _measured(f"empty Gradio page, {far}: address → its one line painted", empty)
    yield _measured(f"ours, {far}: address → first exact map painted", first)
    trace = run_of(512)
    with opened(browser, GRADIO, trace) as page:
        yield _clicks("gr.Plot: click → heatmap of 512² painted", page, PLOT, rounds)
        what = "gr.Plot: mouse released → heatmap of 512² painted"
        yield _clicks(what, page, PLOT, rounds, mouse=True)
    with opened(browser, OURS, trace) as page:
        yield from _both(page, 512, rounds)
        unfold(page, 120_000)
        yield _frames("ours: hover over the map of 512²", page, "map")
        _open_lines(page)
        yield _frames("ours: hover over the token lines, 512 tokens, 12 heads", page, "lines")
    yield _under_effect(browser, rounds)
    with opened(browser, OURS, run_of(4096)) as page:
        unfold(page, 600_000)
        coarse = HEADS[0], ".viz-map[data-coarse*=':{}.{}:']"
        yield _clicks("ours: click → coarse map (64 × 64) of 4,096² painted", page, coarse, rounds)
        page.evaluate(ZOOM)
        page.wait_for_timeout(3000)
        yield _clicks("ours: click → exact part of 4,096² painted, zoomed in", page, HEADS, rounds)
    for n_tokens in (128, 1024):
        with opened(browser, OURS, run_of(n_tokens)) as page:
            yield from _both(page, n_tokens, rounds)
    for n_tokens in (64, 128):
        yield from _beside_bertviz(browser, n_tokens, cdn)


def _both(page: Page, n_tokens: int, rounds: int) -> Iterator[Measured]:
    """A click on a head of the first screen, by a script and by the mouse."""
    kind = "exact map" if n_tokens <= WHOLE else "pooled map"
    for how, mouse in (("click", False), ("mouse released", True)):
        page.wait_for_selector(".viz-how[data-painted]", timeout=120_000)
        page.wait_for_timeout(2000)
        what = f"ours: {how} → {kind} of {n_tokens:,}² painted"
        yield _clicks(what, page, GRID, rounds, mouse=mouse)
        page.reload()  # which forgets the maps that were fetched


def _under_effect(browser: Browser, rounds: int) -> Measured:
    """A head whose links are measured by runs of the model, on a text that is run here."""
    text = "+".join(WORDS[at % len(WORDS)] for at in range(WHOLE - 2))  # beside [CLS] and [SEP]
    asked = f"?kind=text&a={text}&of=state&token=10&query=10&measure=contribution"
    with opened(browser, OURS, None, asked) as page:
        page.wait_for_selector(".viz-how[data-painted]", timeout=120_000)
        page.click("[data-measure=effect]")
        page.wait_for_selector(".viz-how[data-painted*=':effect:']", timeout=600_000)
        page.wait_for_timeout(5000)
        what = "ours, under Effect: mouse released → map of 512² with its first links painted"
        return _clicks(what, page, FIRST, rounds, mouse=True)


def _beside_bertviz(browser: Browser, n_tokens: int, cdn: Path | None) -> Iterator[Measured]:
    """Hovering a token, with the lines of all 12 heads of one layer drawn."""
    trace = run_of(n_tokens)
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    if bertviz_page(page, trace, cdn):
        yield _frames(f"bertviz head_view: hover, {n_tokens} tokens, 12 heads", page, "bertviz")
    page.close()
    with opened(browser, OURS, trace) as page:
        unfold(page, 120_000)
        _open_lines(page)
        yield _frames(f"ours: hover over the lines, {n_tokens} tokens, 12 heads", page, "lines")


def unfold(page: Page, patience: int) -> None:
    """Open what the page folds away, and wait until all heads are there; patience is in ms."""
    page.click(".viz-more > summary", timeout=patience)
    page.wait_for_selector(".viz-atlas[data-painted]", timeout=patience)


@contextmanager
def opened(
    browser: Browser, command: tuple[str, ...], trace: Trace | None, asked: str = ""
) -> Iterator[Page]:
    with started(command, trace) as address:
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(address + asked)
        yield page
        page.close()


def _open_lines(page: Page) -> None:
    page.click(".viz-lines summary")
    page.evaluate("vizTab.selection.set({ head: [...Array(12).keys()].join() })")
    page.wait_for_selector(".viz-lines[data-painted]", timeout=120_000)
    page.wait_for_timeout(2000)  # the lines that are kept for hovering are drawn once


def _clicks(
    what: str, page: Page, names: tuple[str, str], rounds: int, *, mouse: bool = False
) -> Measured:
    page.wait_for_selector(names[0].format(2, 0), timeout=120_000)
    # No head twice: its map is kept.
    each = [(2 + at % 4, (at + at // 12) % 12) for at in range(rounds + 2)]
    return _measured(what, [click_to_paint(page, names, *one, mouse=mouse) for one in each][2:])


def _frames(what: str, page: Page, which: str) -> Measured:
    return _measured(what + ", a frame", frames(page, which))


def _measured(what: str, taken: list[float]) -> Measured:
    return Measured(what, statistics.median(taken), sorted(taken)[int(0.95 * (len(taken) - 1))])


def _table(rows: list[Measured], version: str) -> str:
    told = ("exact map of 512²", "empty Gradio page", "heatmap of 512²")
    known = {
        row.what.split(" →")[0]: row.median for row in rows if any(t in row.what for t in told)
    }
    lines = [
        f"| {row.what} | {row.median:.0f} | {row.most:.0f} | {_against(row, known)} |"
        for row in rows
    ]
    head = "| what | median ms | 95 % within ms | ratio of medians |\n|---|---|---|---|\n"
    return (
        f"# In the browser\n\nChromium {version}, headless, software rendering, {platform.machine()}, a MiniLM shape with "
        "random weights, all rows in one run; under Effect MiniLM itself, on a text of as many tokens. The first rows are of visits in turn, each in a profile of its own. A click counts from its event to the end of the frame that paints the map, sent by "
        f"a script or by a mouse that rested on the head for {REST} ms, in which our page asks for the map, and was held down for {PRESS} ms; a frame, from one to the next while the pointer moves on at each. Written by `python -m benchmarks.browser`.\n\n"
        + head
        + "\n".join(lines)
        + "\n"
    )


def _against(row: Measured, known: dict[str, float]) -> str:
    """What the row is compared with, in the same run."""
    who, _, how = row.what.split(" →")[0].partition(": ")
    if who == "gr.Plot":
        return f"{row.median / known[f'ours: {how}']:.1f} × ours"
    if "first exact map" in row.what:
        empty = row.what.split(" →")[0].replace("ours", "empty Gradio page", 1)
        return f"{row.median / known[empty]:.1f} × the empty page"
    if who == "ours, under Effect":
        return f"gr.Plot {known[f'gr.Plot: {how}'] / row.median:.1f} × as long"
    if "4,096²" in row.what:
        return f"{row.median / known['ours: click']:.1f} × ours at 512²"
    return ""


if __name__ == "__main__":
    main()
