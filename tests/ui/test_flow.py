"""The Flow tab: its numbers are the analyses', its query is the page's, and it waits to be seen."""

import base64

import numpy as np
import pytest
import torch
from gradio_client import Client

import viz_encoder as vz
from tests.ui.conftest import described, of_another_model
from tests.ui.texts import MASKED, PICTURES, SENTENCES
from viz_encoder.analyses.rollout import rollout
from viz_encoder.analyses.value_weighted import value_weighted
from viz_encoder.bundled import asset
from viz_encoder.figures.views import placed

ROLLOUT = {"flow.measure": "rollout"}


@pytest.fixture
def flow(shared):
    """The tab in a page of that query, drawn for the place it names."""

    def enter(**query):
        page = shared(open_flow, **ROLLOUT | query).page
        painted(page, f"query={query['query']}&" if "query" in query else ":")
        return page

    return enter


@pytest.fixture
def alone(visit):
    """The same in a page of its own."""

    def enter(**query):
        opened = visit(**ROLLOUT | query)
        opened.painted()
        return open_flow(opened)

    return enter


def open_flow(opened):
    opened.page.get_by_role("tab", name="Flow").click()
    painted(opened.page)
    return opened.page


def painted(page, part=":"):
    page.wait_for_selector(f".viz-flow[data-painted*='{part}']", timeout=60_000)


def table(page):
    """The numbers of the figure as its table says them, by layer."""
    if page.get_attribute(".viz-flow-result >> text=Table", "aria-expanded") == "false":
        page.click(".viz-flow-result >> text=Table")
    rows = page.eval_on_selector_all(
        ".viz-flow-result .viz-figure-table tbody tr",
        "all => all.map(r => [...r.cells].slice(1).map(c => c.innerText))",
    )
    return np.array(rows, dtype=float)


def test_the_figure_is_the_rollout_of_the_query(flow, minilm):
    page = flow(query=3)
    expected = rollout(vz.capture(minilm, SENTENCES[0]), 3).rows
    np.testing.assert_allclose(table(page), expected, rtol=6e-4)  # as printed: four digits
    page.select_option("#viz-flow-fuse", "max")
    painted(page, "fuse=max")
    expected = rollout(vz.capture(minilm, SENTENCES[0]), 3, "max").rows
    np.testing.assert_allclose(table(page), expected, rtol=6e-4)


def test_what_each_key_adds(flow, minilm):
    page = flow(query=2)
    offered = page.eval_on_selector_all(
        ".viz-flow-choice input", "all => all.map((one) => one.value)"
    )
    views = [view for slot in ("query", "answer") for view in placed("flow", slot)]
    assert offered == [view.name for view in sorted(views, key=lambda view: view.place.order)]
    page.check("#viz-flow input[value=value_weighted_depth]")
    painted(page, "head=sum")
    page.select_option("#viz-flow-head", "7")
    painted(page, "head=7")
    trace = vz.capture(minilm, SENTENCES[0])
    expected = [value_weighted(minilm, trace, at, 7).norms[0, 2] for at in range(trace.n_layers)]
    np.testing.assert_allclose(table(page), expected, rtol=6e-4)
    said = page.inner_text(".viz-flow-says")
    assert "It measures" in said and "It does not measure" in said and "2004.10102" in said


def test_the_query_is_that_of_all_tabs_by_mouse_and_keyboard(flow):
    page = flow()
    page.focus(".viz-token-list")
    page.keyboard.press("ArrowDown")
    painted(page, "query=1&")
    assert page.evaluate("window.vizTab.selection.query") == 1
    page.click(".viz-flow .viz-word[data-token='6']")
    painted(page, "query=6&")
    chosen = page.inner_text(".viz-token-list [aria-selected=true]")
    assert chosen.split() == ["6", "cross"]
    page.fill(".viz-token-search", "stre")
    assert page.inner_text(".viz-token-list").split() == ["8", "street"]
    page.click(".viz-token-list li")
    painted(page, "query=8&")
    page.evaluate("window.vizTab.selection.set({query: 11})")
    painted(page, "query=11&")
    assert "“was”" in page.inner_text(".viz-figure-title >> nth=0")


def test_the_words_are_shaded_by_the_chosen_layer(flow, minilm):
    page = flow(query=3)
    rows = rollout(vz.capture(minilm, SENTENCES[0]), 3).rows
    for layer in (0, 5):
        page.fill(".viz-flow-reading input[type=range]", str(layer))
        described(page)
        for at in (0, 3, 14):
            title = page.get_attribute(f".viz-flow [data-token='{at}']", "aria-description")
            assert float(title.split(": ")[-1]) == pytest.approx(rows[layer, at], abs=6e-5)
        assert f"after {layer + 1} block" in page.inner_text(".viz-flow-reading h3")


def test_the_querys_own_share_leaves_the_others_their_colors(flow, minilm):
    page = flow(query=3)
    page.fill(".viz-flow-reading input[type=range]", "0")
    row = rollout(vz.capture(minilm, SENTENCES[0]), 3).rows[0]
    others = np.delete(row, 3)
    assert row[3] > 4 * others.max()
    said = page.inner_text(".viz-flow-source .viz-stat-scale")
    assert f"{others.max():.4f} (the largest on a token other than the query)" in said
    ground = "(word) => getComputedStyle(word).backgroundColor"
    word = ".viz-flow .viz-word[data-token='{}'] > span"
    most = word.format(int(np.argsort(-row)[1]))
    assert page.eval_on_selector(most, ground) == page.eval_on_selector(word.format(3), ground)


def test_it_opens_on_how_the_answer_got_there(visit):
    """With a [MASK], the logit of the likeliest word; a click asks of that token's state."""
    grammar = vz.load("grammar", device="cpu")
    opened = visit(kind="text", a=MASKED[0], model=MASKED[1], tab="flow")
    page = opened.page
    painted(page, ":routes?of=masked")
    assert page.is_checked("#viz-flow input[value=routes]")
    found = vz.attribute(grammar, MASKED[0])
    assert page.inner_text(".viz-figure-title >> nth=0") == found.sentence
    np.testing.assert_allclose(table(page), found.states, rtol=6e-4, atol=6e-5)
    page.select_option("#viz-flow-against", "runner-up")
    painted(page, "against=runner-up")
    page.click(".viz-token-list li >> nth=2")
    page.select_option("#viz-flow-against", "")
    painted(page, "of=state&token=2")
    found = vz.attribute(grammar, MASKED[0], of="state", token=2)
    np.testing.assert_allclose(table(page), found.states, rtol=6e-4, atol=6e-5)


def test_shares_of_labels_against_a_text(alone):
    grammar = vz.load("grammar", device="cpu")
    page = alone(kind="text", a=MASKED[0], model=MASKED[1], **{"flow.measure": "token_shares"})
    painted(page, "token_shares")
    likeliest = page.eval_on_selector_all("#viz-flow-label option", "all => all.map(o => o.text)")
    assert likeliest[0].startswith("are ") and len(likeliest) == 11
    page.select_option("#viz-flow-label", "other")
    page.fill("#viz-flow-typed", "is")
    page.press("#viz-flow-typed", "Enter")
    painted(page, "label=is")
    found = vz.attribute(grammar, MASKED[0], label="is")
    np.testing.assert_allclose(table(page), found.states, rtol=6e-4, atol=6e-5)
    page.select_option("#viz-flow-against", "other")
    other = MASKED[0].replace("keys", "key")
    page.fill("#viz-flow-rival", other)
    page.press("#viz-flow-rival", "Enter")
    painted(page, "against=")
    found = vz.attribute(grammar, MASKED[0], label="is", against=other)
    np.testing.assert_allclose(table(page), found.states, rtol=6e-4, atol=6e-5)


@pytest.mark.slow
def test_a_picture_is_walked_by_arrow_keys(flow):
    scene = vz.load("scene", device="cpu")
    trace = vz.capture(scene, asset(PICTURES["a wide scene"]))
    page = flow(kind="image", example="a wide scene", query=20)
    page.focus("#viz-flow .viz-picture")
    page.keyboard.press("ArrowDown")
    painted(page, f"query={20 + trace.grid.n_cols}&")
    rows = rollout(trace, 20 + trace.grid.n_cols).rows
    prefix = page.get_attribute(".viz-flow-prefix .viz-word", "title")
    assert float(prefix.split(": ")[-1]) == pytest.approx(rows[-1, 0], abs=6e-5)


@pytest.mark.slow
def test_keys_on_a_picture_stay_in_their_row_and_say_what_is_chosen(flow):
    scene = vz.load("scene", device="cpu")
    trace = vz.capture(scene, asset(PICTURES["a wide scene"]))
    last = trace.n_tokens - 1
    page = flow(kind="image", example="a wide scene", query=0)
    canvas = page.locator("#viz-flow .viz-picture")
    canvas.focus()
    for key, to in [
        *(("ArrowRight", 1), ("ArrowLeft", 1), ("End", trace.grid.n_cols), ("ArrowUp", 0)),
        *(("ArrowDown", 1), ("PageDown", last - trace.grid.n_cols + 1), ("ArrowDown", None)),
    ]:
        before = page.evaluate("window.vizTab.selection.query")
        page.keyboard.press(key)
        assert page.evaluate("window.vizTab.selection.query") == (before if to is None else to)
    row = rollout(trace, to := last - trace.grid.n_cols + 1).rows[-1]
    painted(page, f"query={to}&")
    row[to] = 0
    order = np.argsort(-row)[:3]
    most = ", ".join(f"{at} “{trace.tokens[at]}” {row[at]:.4f}" for at in order)
    expected = f"Query {to} “{trace.tokens[to]}”: apart from itself, largest for {most}."
    assert page.inner_text(".viz-flow-told") == expected
    assert f"Chosen: query {to} “{trace.tokens[to]}”" in canvas.get_attribute("aria-label")


@pytest.mark.slow
def test_a_tall_picture_is_whole(flow, tmp_path):
    page = flow(kind="image", example="a wide scene", query=3)
    box, inner = (
        page.evaluate(f"(() => {{ const b = document.querySelector('#viz-flow {name}')"
        ".getBoundingClientRect(); return [b.top, b.bottom]; })()")
        for name in (".viz-source-body", ".viz-picture")
    )  # fmt: skip
    assert box[0] <= inner[0] and inner[1] <= box[1] + 1
    limit = "getComputedStyle(document.querySelector('#viz-flow .viz-source-body')).maxHeight"
    assert page.evaluate(limit) == "none"


@pytest.mark.slow
def test_nothing_is_offered_to_be_sent_away(flow):
    page = flow()
    page.hover("#viz-flow .viz-figure-canvas")
    page.wait_for_selector("#viz-flow .modebar-btn")
    offered = page.locator("#viz-flow .modebar-btn").evaluate_all(
        "all => all.map((button) => button.dataset.title)"
    )
    assert offered and not [one for one in offered if "hare" in one or "loud" in one]


@pytest.mark.slow
def test_a_hidden_tab_asks_for_nothing_and_then_shows_the_new_run(alone):
    page = alone()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("tab", name="Attention").click()
    page.fill("#viz-text-a textarea", "A short one")
    page.click("#viz-run")
    page.wait_for_function("window.vizTab.run.n === 5")
    page.wait_for_selector(".viz-atlas[data-painted]")
    assert not [url for url in asked if "/figure/" in url or url.endswith("/views")]
    page.get_by_role("tab", name="Flow").click()
    page.wait_for_function("document.querySelectorAll('.viz-token-list li').length === 5")
    key = page.evaluate("window.vizTab.run.key")
    painted(page, f"{key}:")


@pytest.mark.slow
def test_a_saved_run_offers_the_rollout_alone(alone, site, minilm, tmp_path):
    of_another_model(vz.capture(minilm, "a run")).save(tmp_path / "run.safetensors")
    sent = base64.b64encode((tmp_path / "run.safetensors").read_bytes()).decode()
    run = Client(site, verbose=False).predict(sent, api_name="/open_saved")
    page = alone(run=run["key"])
    assert page.is_checked("#viz-flow input[value=rollout]")
    assert page.is_disabled("#viz-flow input[value=routes]")
    assert page.is_disabled("#viz-flow input[value=value_weighted_depth]")
    assert "The model of this run is not loaded here" in page.inner_text(".viz-flow")


def test_any_view_has_controls_of_its_own(flow, minilm):
    page = flow()
    page.click("text=Any view as a Plotly figure")
    page.wait_for_selector(".viz-any .viz-figure[data-painted*='attention_map']", timeout=30_000)
    page.select_option(".viz-any [data-control=layer]", "2")
    page.select_option(".viz-any [data-control=head]", "max")
    page.wait_for_selector(".viz-any .viz-figure[data-painted*='layer=2&head=max']")
    page.click(".viz-any >> text=Table")
    cells = page.eval_on_selector_all(
        ".viz-any tbody tr", "all => all.map(r => [...r.cells].slice(1).map(c => c.innerText))"
    )
    expected = vz.capture(minilm, SENTENCES[0]).attention(2).amax(dim=0)
    np.testing.assert_allclose(np.array(cells, dtype=float), expected, rtol=6e-4, atol=1e-7)
    for kind in ("PNG", "SVG", "CSV", "npz"):
        with page.expect_download() as download:
            page.click(f".viz-any .viz-figure-take >> text={kind}")
        name = download.value.suggested_filename
        assert name.startswith("all-MiniLM-L6-v2-attention_map-layer-2-head-max")
        assert name.endswith(f".{kind.lower()}")


@pytest.mark.slow
def test_narrow_and_wide_again_without_overflow(alone):
    page = alone(a="Somebody gets internationalization money")
    for width in (390, 1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(
            "() => { const plot = document.querySelector('.viz-flow .main-svg');"
            " const box = document.querySelector('.viz-flow .viz-figure-canvas');"
            " return plot && Math.abs(plot.clientWidth - box.clientWidth) < 2; }"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def held_back(page, pattern):
    """Requests of that pattern wait until the returned call lets them go."""
    waiting = []
    page.route(pattern, lambda route: waiting.append(route))

    def release():
        for route in waiting:
            route.continue_()
        page.unroute(pattern)

    return waiting, release


def shown_words(page):
    """The numbers of the chips, and the heading over them."""
    described(page)
    titles = page.eval_on_selector_all(
        ".viz-flow .viz-word",
        "all => all.map((chip) => Number(chip.ariaDescription.split(': ').at(-1)))",
    )
    return np.array(titles), page.inner_text(".viz-flow-reading h3")


def opacity(page, selector):
    return float(page.eval_on_selector(selector, "node => getComputedStyle(node).opacity"))


@pytest.mark.slow
def test_until_a_choice_has_come_the_older_one_is_shown_as_that(alone, minilm):
    page = alone(query=3)
    trace = vz.capture(minilm, SENTENCES[0])
    older = rollout(trace, 3).rows
    waiting, release = held_back(page, "**/figure/**")
    with page.expect_request("**/figure/rollout?query=5**"):
        page.click(".viz-flow .viz-word[data-token='5']")
    page.get_by_role("tab", name="Attention").click()
    page.get_by_role("tab", name="Flow").click()
    page.wait_for_selector(".viz-figure.viz-busy >> visible=true")
    page.fill(".viz-flow-reading input[type=range]", "2")
    values, heading = shown_words(page)
    np.testing.assert_allclose(values, older[2], atol=6e-5)
    assert "Attention rollout to 3 “" in heading
    assert opacity(page, ".viz-flow-source") < 0.6
    assert opacity(page, ".viz-flow .viz-figure-title") < 0.6
    page.check("#viz-flow input[value=value_weighted_depth]")  # another measure, of query 5
    page.fill(".viz-flow-reading input[type=range]", "1")
    values, heading = shown_words(page)
    np.testing.assert_allclose(values, older[1], atol=6e-5)
    assert "Attention rollout to 3 “" in heading
    page.check("#viz-flow input[value=rollout]")
    release()
    painted(page, "rollout?query=5&")
    values, heading = shown_words(page)
    np.testing.assert_allclose(values, rollout(trace, 5).rows[1], atol=6e-5)
    assert "Attention rollout to 5 “" in heading and opacity(page, ".viz-flow-source") == 1
    assert waiting


@pytest.mark.slow
def test_shares_name_where_they_are_read_and_their_legend_is_whole(flow):
    page = flow(kind="text", a=MASKED[0], model=MASKED[1])
    page.check("#viz-flow input[value=token_shares]")
    painted(page, "token_shares")
    assert page.inner_text(".viz-token-list [aria-selected=true]").split() == ["6", "[MASK]"]
    heading = page.inner_text(".viz-flow-reading h3")
    assert heading == "Share of the score at each token, in the embeddings"
    assert page.is_hidden("#viz-flow-renorm") and page.is_visible("#viz-flow-hide")
    for width in (1440, 1000, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(
            "() => { const plot = document.querySelector('.viz-flow .main-svg');"
            " const box = document.querySelector('.viz-flow .viz-figure-canvas');"
            " return plot && Math.abs(plot.clientWidth - box.clientWidth) < 2; }"
        )
        outside = page.evaluate(
            """() => {
              const edge = document.querySelector(".viz-flow .viz-figure-canvas");
              const outer = edge.getBoundingClientRect();
              const title = edge.querySelector("[class$='title']:is([class^=cb])");
              const inner = title.getBoundingClientRect();
              return Math.max(outer.left - inner.left, inner.right - outer.right);
            }"""
        )
        assert outside <= 0


@pytest.mark.slow
def test_a_long_text_shows_the_part_of_the_chosen_token(alone, site, tmp_path):
    run, _ = long_run(tmp_path)
    with open(run, "rb") as file:
        sent = base64.b64encode(file.read()).decode()
    key = Client(site, verbose=False).predict(sent, api_name="/open_saved")["key"]
    page = alone(run=key, query=650)
    words = ".viz-flow .viz-source-body"
    assert in_sight(page, f"{words} [data-token='650']", words)
    said = page.inner_text(".viz-flow-source .viz-parts")
    assert said.startswith("Tokens 100 to 699 of 700")


def long_run(folder):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    with torch.no_grad(), vz.record(layer) as recording:
        layer(torch.randn(1, 700, 16))
    trace = recording.trace(tokens=[f"t{i}" for i in range(700)])
    trace.save(folder / "run.safetensors")
    return folder / "run.safetensors", trace


def in_sight(page, selector, box):
    return page.evaluate(
        """([chip, box]) => {
          const rect = (each) => document.querySelector(each).getBoundingClientRect();
          const [inner, outer] = [chip, box].map(rect);
          return inner.top >= outer.top && inner.bottom <= outer.bottom;
        }""",
        [selector, box],
    )  # fmt: skip


@pytest.mark.slow
def test_hidden_tokens_leave_the_figure_and_the_input_and_it_says_so(alone, minilm):
    trace = vz.capture(minilm, SENTENCES[0])
    kept = [at for at in range(trace.n_tokens) if not trace.sample.special[at]]
    whole = rollout(trace, 3).rows.astype(float)
    page = alone(query=3, hide=1, renorm=1)
    painted(page, "renormalize=yes")
    shares = whole[:, kept] / whole[:, kept].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(table(page), shares, rtol=6e-4)
    listed = page.locator(".viz-token-list li .viz-token-number").all_inner_texts()
    assert listed == [str(at) for at in kept]  # a hidden token is not offered as the query
    said = page.inner_text(".viz-flow")
    assert "Special tokens are left out of the keys." in said
    assert "computed over all tokens" in said
    described(page)
    chips = page.eval_on_selector_all(
        ".viz-flow-source .viz-word",
        "all => all.map(chip => [chip.innerText, chip.ariaDescription])",
    )
    assert len(chips) == len(kept)
    for (name, title), at, share in zip(chips, kept, shares[-1], strict=True):
        assert name == trace.tokens[at] and title.startswith(f"{at} ")
        assert float(title.split(": ")[-1]) == pytest.approx(share, abs=6e-5)
    assert page.get_attribute(".viz-figure-link >> text=CSV", "href").endswith(
        "hide_special=yes&renormalize=yes"
    )
    page.uncheck("#viz-flow-renorm")
    page.wait_for_selector(".viz-flow[data-painted$='hide_special=yes']")
    np.testing.assert_allclose(table(page), whole[:, kept], rtol=6e-4)
    page.click(".viz-flow-source .viz-word >> nth=1")
    painted(page, "query=2")
    np.testing.assert_allclose(table(page), rollout(trace, 2).rows[:, kept], rtol=6e-4)
    page.uncheck("#viz-flow-hide")
    page.wait_for_selector(".viz-flow[data-painted]:not([data-painted*='hide'])")
    assert page.locator(".viz-flow-source .viz-word").count() == trace.n_tokens
    assert page.locator(".viz-token-list li").count() == trace.n_tokens
    assert "left out of the keys" not in page.inner_text(".viz-flow")
