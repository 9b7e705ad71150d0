"""The offline page: opened from a disk without a network, it says what the trace says."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.export.runs import HOSTILE, facts_of, random_trace
from tests.slow import slow_but
from viz_encoder.analyses.predictions import predictions
from viz_encoder.effects.change import changes_of
from viz_encoder.effects.changed_capture import capture_changed
from viz_encoder.effects.outcome import outcome
from viz_encoder.errors import TraceError
from viz_encoder.export import MapView, draw_cell, draw_page
from viz_encoder.export.page import MAX_BYTES
from viz_encoder.figures.theme import WEIGHTS


@pytest.fixture
def opened(from_disk, tmp_path):
    """Opens a page that is written, as it is."""

    def open_page(content, scheme="light", width=1300, **more):
        file = tmp_path / "page.html"
        file.write_bytes(content)
        return from_disk(file, scheme=scheme, width=width, **more)

    return open_page


def read_cell(page, row: float, col: float) -> str:
    """Point at the middle of a cell with the mouse; what the page says of it."""
    box = page.evaluate(
        """([row, col]) => { const map = document.getElementById("map");
        map.scrollIntoView({ block: "start" }); const b = map.getBoundingClientRect();
        const { left, top, cell } = vizRun.drawn;
        const middle = (start, at) => start + (at + 0.5) * cell;
        return [middle(b.left + left, col), middle(b.top + top, row)]; }""",
        [row, col],
    )
    page.mouse.move(*box)
    return page.inner_text("#readout")


def weight(text: str) -> tuple[float, float]:
    """A weight and how far it may be off."""
    found = re.search(r"weight ([\d.e-]+)(?: ± ([\d.e-]+))?", text)
    return float(found[1]), float(found[2] or 0)


def test_how_a_score_got_there_is_drawn_and_leads_to_its_head(opened, minilm):
    trace = vz.capture(minilm, "The animal didn't cross the street because it was too tired")
    found = vz.attribute(minilm, trace, of="state", token=10)
    page = opened(draw_page(trace, MapView(0, 0), query=0, key=2, explained=found))
    assert page.inner_text("#heading") == page.title() and "how the answer" in page.title()
    assert "query 0 “[CLS]” → key 2 “animal”" in page.inner_text("#readout")
    page.click(".viz-route-node[data-column='3']")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#looks") == "Where ' looks"  # the score stays that of “it”
    assert page.locator(".viz-route-chosen > title").text_content() == "it"
    assert page.inner_text("#how .answer") == found.sentence
    nodes = ".viz-route-node"
    read = "all => all.map(one => [one.dataset.state, one.dataset.column, one.textContent])"
    drawn = {(int(s), int(c)): text for s, c, text in page.eval_on_selector_all(nodes, read)}
    for place, share in np.ndenumerate(found.states):
        percent = f"{share / found.score:.0%}".replace("-", "−")
        assert drawn[place] == ("" if percent in ("0%", "−0%") else percent)
    strongest = max((e for e in found.routes().edges if e.query != e.key), key=lambda e: e.share)
    page.locator(".viz-route").last.click(force=True)
    said = page.inner_text("#readout")
    where = f"query 10 “it” → key {strongest.key} “{trace.tokens[strongest.key]}”"
    expected = float(trace.attention(strongest.layer, strongest.head)[10, strongest.key])
    value, off = weight(said)
    assert where in said and abs(value - expected) <= off + 1e-4
    page.locator("#viz-route-least").press("End")
    assert page.locator(".viz-route").count() == 1


def test_a_changed_run_says_what_was_removed_and_what_became_of_the_answer(opened, grammar):
    text, codes = "the keys to the cabinet [MASK] old", ["h3.0", "t2"]
    inputs = grammar.read(text)
    made = changes_of(codes, inputs.samples[0], 4, 4)
    run, entered = capture_changed(grammar, inputs, made)
    told = outcome(grammar, inputs, (run, entered), made)
    words = [change.words(inputs.samples[0].tokens) for change in made]
    page = opened(draw_page(run, MapView(3, 0), changed=(words, told)), width=390)
    assert (
        page.locator("#made li").all_inner_texts()
        == words
        == [
            "head 3.0 removed",
            "“keys” hidden from all",
        ]
    )
    assert page.inner_text("#outcome") == told.sentence
    rows = page.eval_on_selector_all(
        "#answers tbody tr", "all => all.map(row => [...row.cells].map(cell => cell.innerText))"
    )
    cut = dict.fromkeys(range(4), torch.ones(9, 9, dtype=torch.bool))
    for mask in cut.values():
        mask[:, 2] = False
    with vz.ablate(grammar.model, {(3, 0): "zero"}):
        after = vz.capture(grammar, text, mask=cut)
    for run_shares, column in ((vz.capture(grammar, text), 1), (after, 2)):
        guess = predictions(grammar, run_shares)[0]
        shares = dict(zip(guess.labels, guess.shares, strict=True))
        for row in rows:
            if row[0] in shares and "<" not in row[column]:
                assert float(row[column]) == pytest.approx(float(shares[row[0]]), abs=6e-4)
    assert {row[0] for row in rows} >= {"are", "is"}
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_chosen_map_is_exact_and_other_heads_are_within_what_is_stated(opened, trace):
    page = opened(draw_page(trace, MapView(3, 5)))
    assert page.inner_text("#name") == "Layer 3, head 5"
    assert page.inner_text("#kept") == "Exact, float32." and page.is_hidden("#changed")
    for row, col in ((0, 0), (2, 7), (13, 13)):
        near_its_corners = {read_cell(page, row - at, col + at) for at in (-0.4, 0.4)}
        text = read_cell(page, row, col)
        assert near_its_corners == {text}
        assert f"query {row} “{trace.tokens[row]}” → key {col} “{trace.tokens[col]}”" in text
        expected = float(trace.attention(3, 5)[row, col])
        assert weight(text) == (pytest.approx(expected, rel=1e-7), 0)
    assert page.inner_text("#proof p >> nth=0") == trace.proof.sentence
    assert "all-MiniLM-L6-v2" in page.inner_text("#title")
    page.click('[data-name="1.7"]')
    assert page.inner_text("#name") == "Layer 1, head 7"
    every = trace.attention(1, 7).double().numpy()
    for row in range(0, trace.n_tokens, 3):
        value, off = weight(read_cell(page, row, (row * 5) % trace.n_tokens))
        assert abs(value - every[row, (row * 5) % trace.n_tokens]) <= off * 1.01
        assert off == pytest.approx(every.max() / 508, rel=0.05)
    page.click("#back")
    assert page.inner_text("#name") == "Layer 3, head 5"


SCALES = ("head", "row", "layer", "all", "shared", "percentile", "sqrt", "log")


@pytest.mark.parametrize("scale", slow_but(("row", "layer", "percentile", "sqrt"), SCALES))
def test_colors_are_those_of_the_scale(opened, trace, scale):
    page = opened(draw_page(trace, MapView(3, 5, scale=scale)))
    every = trace.attention(3, 5).double().numpy()
    low, high = np.quantile(every, (0.01, 0.99))
    share = {
        "head": every / every.max(),
        "row": every / every.max(axis=1, keepdims=True),
        "layer": every / float(trace.attention(3).max()),
        "all": every / max(float(layer.max()) for layer in map(trace.attention, range(6))),
        "shared": every,
        "percentile": (every - low) / (high - low),
        "sqrt": np.sqrt(every / every.max()),
        "log": 1 + np.log(np.maximum(every, 1e-4)) / np.log(1e4),
    }[scale]
    painted = page.evaluate(
        """() => {
          const { width, height } = vizRun.drawn.picture;
          const { data } = vizRun.drawn.picture.getContext("2d").getImageData(0, 0, width, height);
          return [...data].filter((_, at) => at % 4 < 3);
        }"""
    )
    stops = np.array([list(bytes.fromhex(color[1:])) for color in WEIGHTS])
    place = np.rint(255 * share.clip(0, 1)) / 255 * (len(stops) - 1)
    wanted = np.stack([np.interp(place, range(len(stops)), part) for part in stops.T], axis=-1)
    # One step of the ramp, for the chosen map is float32 and the other heads' tops are 8 bits.
    assert np.abs(np.array(painted).reshape(wanted.shape) - wanted).max() <= 4
    said = page.inner_text("#up-to")
    assert said.startswith({"log": "logarithmic", "sqrt": "square"}.get(scale, "linear"))
    ticks = page.inner_text("#ticks")
    if scale == "percentile":
        assert ticks == f"{low:.4g} and below … {high:.4g} and above"
    if scale == "sqrt":
        assert ticks == f"0 … {every.max() / 4:.4g} … {every.max():.4g}"


def test_a_note_is_told_once(trace):
    note = "[MASK] is read as the mask token."
    noted = replace(trace, sample=replace(trace.sample, notes=(note,)), notes=(note, "Another."))
    assert facts_of(draw_page(noted, MapView()))["notes"] == [note, "Another."]


def test_a_fused_map_can_be_chosen(opened, trace):
    page = opened(draw_page(trace, MapView(2, (1, 7)), query=4))
    fused = trace.attention(2)[[1, 7]].mean(dim=0)
    assert weight(read_cell(page, 4, 1))[0] == pytest.approx(float(fused[4, 1]), rel=1e-6)
    assert page.locator('#atlas [aria-pressed="true"]').count() == 0
    page.select_option("#head", "7")
    assert page.inner_text("#name") == "Layer 2, head 7"


def test_masked_cells_say_so(opened, padded):
    page = opened(draw_page(padded, MapView()))
    assert "masked" in read_cell(page, 1, padded.n_tokens - 1)
    assert page.is_visible("#blank")
    page.click('[data-name="0.1"]')
    assert "masked" in read_cell(page, 1, padded.n_tokens - 1)
    assert weight(read_cell(page, 1, 1))[1] > 0


def test_hostile_tokens_stay_text(opened, hostile):
    hostile = replace(hostile, notes=HOSTILE, origin=replace(hostile.origin, model=HOSTILE[0]))
    content = draw_page(hostile, MapView(), snippet=HOSTILE[0])
    page = opened(content)
    assert page.title() == "Attention of each layer and head"
    assert page.locator("script").count() == 4 and page.locator("img").count() == 0
    for number, token in enumerate(HOSTILE):
        text = read_cell(page, number, 0)
        if token.isprintable():
            assert f"query {number} “{token}” → key 0 “{HOSTILE[0]}”" in text
    assert "⟨U+202E⟩ab" in read_cell(page, 9, 0)
    assert facts_of(content)["tokens"] == list(HOSTILE)


def test_the_policy_lets_nothing_out_and_nothing_else_run(opened, trace):
    content = draw_page(trace, MapView())
    policy = re.search(rb'Content-Security-Policy" content="([^"]*)"', content)[1].decode()
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    page = opened(content, refused="Content Security Policy")
    asked = page.evaluate("fetch('data:text/plain,hello').then(() => 'out', () => 'refused')")
    assert asked == "refused"
    page.evaluate(
        "const s = document.createElement('script'); s.text = 'window.ran = 1';"
        "document.body.append(s)"
    )
    assert page.evaluate("window.ran") is None


@pytest.mark.slow
@pytest.mark.parametrize("spread", [1.0, 0.2])
def test_bert_base_at_256_tokens_is_within_5_mb(opened, spread):
    trace = random_trace(256, 12, 12, spread)
    content = draw_page(trace, MapView(11, 3))
    assert len(content) <= MAX_BYTES == 5_000_000
    page = opened(content)
    assert weight(read_cell(page, 100, 60)) == (
        pytest.approx(float(trace.attention(11, 3)[100, 60]), rel=1e-7),
        0,
    )
    page.click('[data-name="7.9"]')
    every = trace.attention(7, 9)
    for row, col in ((0, 0), (90, 41), (200, 130)):
        value, off = weight(read_cell(page, row, col))
        assert abs(value - float(every[row, col])) <= off * 1.01 <= float(every.max()) / 50
    assert f"{facts_of(content)['levels']} steps" in page.inner_text("#kept")


def test_longer_runs_are_pooled_and_say_so(opened):
    trace = random_trace(700, 2, 2)
    page = opened(draw_page(trace, MapView(1, 0)))
    every = trace.attention(1, 0).numpy()
    text = read_cell(page, 3, 5)
    assert "queries" not in text and "query 6–7 → key 10–11" in text and "largest" in text
    assert weight(text)[0] == pytest.approx(every[6:8, 10:12].max(), rel=1e-6)
    page.click('[data-name="0.1"]')
    value, off = weight(read_cell(page, 2, 3))
    block = trace.attention(0, 1).numpy()[22:33, 33:44]
    assert abs(value - block.max()) <= off * 1.01
    assert "11 × 11" in page.inner_text("#kept")


def test_what_does_not_fit_gets_coarser_not_larger(monkeypatch):
    monkeypatch.setattr("viz_encoder.export.page.MAX_BYTES", 400_000)
    trace = random_trace(128, 6, 8)
    content = draw_page(trace, MapView())
    assert len(content) <= 400_000 and facts_of(content)["maps"][0]["shape"] == [64, 64]


@pytest.mark.parametrize("draw", [lambda trace: draw_page(trace, MapView()), draw_cell])
def test_maps_whose_check_failed_are_not_shown(trace, draw):
    wrong = replace(trace.layers[0], signature=trace.layers[0].signature + 1)
    with pytest.raises(TraceError, match="not shown"):
        draw(replace(trace, layers=(wrong, *trace.layers[1:])))


@pytest.mark.parametrize(("scheme", "width"), [("light", 1300), ("dark", 390)])
def test_the_words_are_there_with_one_tokens_row(opened, trace, scheme, width):
    """Shaded by the chosen token's row, said as a sentence and a list; a click chooses another."""
    page = opened(draw_page(trace, MapView(3, 5), query=2), scheme=scheme, width=width)
    words = page.locator("#strip .viz-word")
    assert words.all_inner_texts() == list(trace.tokens)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    weights = trace.attention(3, 5).double().numpy()
    for query in (2, 4):
        if query == 4:
            words.nth(4).click()
            page.mouse.move(2, 2)
            page.wait_for_function("vizRun.reading.row === 4")
        pressed = page.locator('#strip .viz-word[aria-pressed="true"]')
        assert pressed.all_inner_texts() == [trace.tokens[query]]
        order = np.argsort(-weights[query], kind="stable")
        listed = [text.split("\n") for text in page.locator("#list li").all_inner_texts()]
        assert [name for name, _ in listed] == [trace.tokens[at] for at in order[:6]]
        for (_, said), at in zip(listed, order[:6], strict=True):
            assert float(said) == pytest.approx(weights[query, at], abs=0.005)
        assert page.inner_text("#said").startswith(
            f"Head 3.5: {trace.tokens[query]} looks most at "
        )
        shown = page.evaluate("[vizRun.drawn.chosen[0], vizRun.reading.row]")
        assert shown == [query, query]
    if scheme == "dark":  # the smallest weight is near the ground: the ramp turns with the scheme
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        ramp = page.evaluate("getComputedStyle(document.getElementById('scale')).backgroundImage")
        assert ground == "rgb(15, 17, 21)" and sum(map(int, re.findall(r"\d+", ramp)[:3])) < 100
    drawn = """canvas => canvas.getContext("2d")
      .getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value)"""
    assert page.eval_on_selector("#strip .arcs", drawn)  # the lines of this token
    page.locator("#atlas button").nth(0).click()
    assert page.inner_text("#said").startswith(f"Head 0.0: {trace.tokens[4]} looks most at ")


def test_a_hidden_tokens_row_gives_way_to_its_neighbor(opened, trace):
    """The chosen map has no special tokens; the other maps have, and show the same token's row."""
    page = opened(draw_page(trace, MapView(3, 5, hide_special=True), query=3))
    kept = [at for at, special in enumerate(trace.sample.special) if not special]
    assert page.locator("#strip .viz-word").all_inner_texts() == [trace.tokens[at] for at in kept]
    assert page.evaluate("vizRun.reading.row") == kept.index(3)
    page.locator("#atlas button").nth(0).click()
    assert page.evaluate("vizRun.reading.row") == 3
    assert page.locator("#strip .viz-word").all_inner_texts() == list(trace.tokens)
    page.locator("#strip .viz-word").nth(0).click()
    page.click("#back")
    assert page.evaluate("vizRun.reading.row") == 0  # [CLS] is left out there
