"""Explore's question: its answer, routes and heads are those of `vz.attribute`, and lead on."""

import io

import httpx
import numpy as np
import pytest
from PIL import Image

import viz_encoder as vz
from tests.ui.conftest import saved
from tests.ui.texts import MASKED, PICTURES, SENTENCES
from viz_encoder.attribution import weight_routes
from viz_encoder.bundled import asset

NODES = """() => [...document.querySelectorAll('.viz-route-node')].map((node) =>
  [node.dataset.state, node.dataset.column, node.textContent])"""


def asked(page, part=":"):
    page.wait_for_selector(f".viz-how[data-painted*='{part}']", timeout=60_000)


@pytest.fixture
def explore(shared):
    def enter(**query):
        query = {"measure": "contribution", **query}
        page = shared(lambda opened: asked(opened.page), **query).page
        asked(page, f"{page.evaluate('window.vizTab.run.key')}:contribution:")
        return page

    return enter


OVERTAKEN = """() => new Promise((told) => {
  const { explained: { maps }, selection } = vizTab;
  maps.shares = async (...asked) => {
    const found = await Object.getPrototypeOf(maps).shares.apply(maps, asked);
    selection.set({ layer: 3, head: 1 });
    setTimeout(() => told(selection.name));
    return found;
  };
  document.querySelector(".viz-to-head").click();
})"""  # a head is chosen while what stands out in another comes

AT = """place => { const { layer, head, query, key } = window.vizTab.selection;
  return String([layer, head, query, key]) === String(place); }"""


def percent(share):
    said = f"{share:.0%}".replace("-", "−")
    return "" if said.strip("−") == "0%" else said


def answered(page, found):
    """Whether the page tells this score, and the head that brings most to it, or was removed."""
    said = page.inner_text(".viz-answer").replace("−", "-")
    (layer, head), *_ = found.ranked(1)
    what, *other = found.words[1:].split(", in this run minus")  # the page names the other
    score = f"{what} is {abs(found.score) if other else found.score:.2f}"
    gone = f"{layer}.{head}" in page.evaluate("vizTab.run.changed?.changes.map((c) => c.words)+''")
    brings = f"{layer}.{head} had brought" if gone else f"; head {layer}.{head} brings"
    return score in said and brings in said


def drawn(page, shape):
    """The words of the nodes, by state and token."""
    found = np.full(shape, "", dtype=object)
    for state, column, said in page.evaluate(NODES):
        found[int(state), int(column)] = said
    return found


def test_it_opens_on_what_made_the_token_of_the_finding_what_it_is(visit, minilm):
    page = visit(opening=True).page
    asked(page, "of=state")
    text = page.input_value("#viz-text-a textarea")
    query = page.evaluate("window.vizTab.selection.query")
    found = vz.attribute(minilm, text, of="state", token=query)
    shares = found.states / found.score
    expected = [[percent(share) for share in row] for row in shares.tolist()]
    assert drawn(page, shares.shape).tolist() == expected
    (layer, head), *_ = found.ranked(1)
    key = int(np.abs(found.links(layer, head)[query]).argmax())
    place = "(({layer, head, query, key}) => [layer, head, query, key])(window.vizTab.selection)"
    assert page.evaluate(place) == [layer, head, query, key]
    said = page.inner_text(".viz-answer")
    most = sorted(range(len(found.tokens)), key=lambda at: -abs(found.tokens[at]))[:3]
    for at in most:
        name = "itself" if at == query else f"“{found.names[at]}”"
        assert f"{percent(found.tokens[at] / found.score)} {name}" in said
    assert f"head {layer}.{head} brings “{found.names[key]}”" in said
    assert said.endswith("Asked about “it”, a pronoun; click another word to ask about it.")
    cells = page.eval_on_selector_all(
        ".viz-share-cell", "all => all.map((cell) => cell.ariaDescription.split('(')[1])"
    )
    heads = np.array([float(cell.split()[0].replace("−", "-")) for cell in cells])
    np.testing.assert_allclose(heads, found.heads.ravel(), atol=6e-5)


WORDS = {  # that a text opens on, and why
    "The trophy didn't fit in the suitcase because it was too big": ("it", "a pronoun;"),
    "Paris is the capital of France and its largest city": ("its", "a pronoun;"),
    "The bank approved the loan": ("loan", "which head 0.4 links to “bank”;"),
    "Hello": ("hello", "the first word;"),
}


def opened(site, text, model="all-MiniLM-L6-v2"):
    """The run that the page opens of a text."""
    sent = {"kind": "text", "a": text, "model": model}
    return httpx.post(f"{site}viz/open/link", json=sent).json()


@pytest.mark.parametrize("text", WORDS)
def test_a_text_opens_on_its_pronoun_else_on_a_word_that_a_head_links(site, text):
    run, (word, why) = opened(site, text), WORDS[text]
    assert run["tokens"][run["opening"]["query"]] == word
    assert run["opening"]["why"].startswith(f"Asked about “{word}”, {why}")


def test_a_text_of_a_paragraph_opens_on_its_answer_too(site, minilm):
    text = " ".join([SENTENCES[0]] * 8)
    opening = opened(site, text)["opening"]
    found = vz.attribute(minilm, text, of="state", token=opening["query"])
    (layer, head), *_ = found.ranked(1)
    key = int(np.abs(found.links(layer, head)[opening["query"]]).argmax())
    assert len(found.names) > 100
    expected = {"layer": layer, "head": head, "key": key, "measure": "contribution"}
    assert opening == {"query": opening["query"], "why": opening["why"], **expected}


def test_a_text_that_a_word_decides_opens_on_the_head_that_brings_it(site, grammar):
    text, model = MASKED
    found = vz.attribute(grammar, text, against=text.replace("keys", "key"))
    (layer, head), *_ = found.ranked(1)
    links = np.abs(found.links(layer, head))
    query, key = map(int, np.unravel_index(links.argmax(), links.shape))
    place = {"layer": layer, "head": head, "query": query, "key": key}
    assert opened(site, text, model)["opening"] == place | {"measure": "contribution"}


def test_the_chosen_head_follows_the_answer_until_another_is_chosen(visit, minilm):
    page = visit(opening=True).page
    asked(page, "of=state")
    page.click(".viz-swap")
    asked(page, "against=run")
    now, was = SENTENCES[0].replace("tired", "wide"), SENTENCES[0]
    found = vz.attribute(minilm, now, of="state", token=10, against=was)
    (layer, head), *_ = found.ranked(1)
    key = int(np.abs(found.links(layer, head)[10]).argmax())
    page.wait_for_function(AT, arg=[layer, head, 10, key])
    whole = vz.attribute(minilm, now, of="state", token=10).score
    apart = f" differ by {found.score / whole:.0%} of this one’s length:"
    assert apart in page.inner_text(".viz-answer")
    here = vz.attribute(minilm, now, of="state", token=10)
    share = percent(here.tokens[2] / here.score)
    assert f"In this run “it” ends up {share} “animal”" in page.inner_text(".viz-explained-told")
    long = f"{found.score:.2f} (the distance, of a state {whole:.2f} long)"
    assert long in page.inner_text(".viz-explained-told")
    held = []
    page.route("**/attribution?**", lambda route: held.append(route))
    with page.expect_request("**/attribution?**"):
        page.select_option("#viz-explain-against", label="nothing")
    page.evaluate("vizTab.selection.set({ key: 3 })")  # while the answer comes
    held[0].continue_()
    page.unroute("**/attribution?**")
    page.wait_for_selector(".viz-how[data-painted]:not([data-painted*=against])")
    assert page.evaluate(AT, [layer, head, 10, 3])
    page.locator(".viz-share-cell[data-head='3.1']").click()
    page.select_option("#viz-explain-against", index=1)
    asked(page, "against=The")
    assert page.evaluate("vizTab.selection.name") == "3.1"
    page.click(".viz-to-head")
    page.wait_for_function("name => vizTab.selection.name === name", arg=f"{layer}.{head}")
    assert page.evaluate(OVERTAKEN) == "3.1"


def test_a_token_is_asked_of_and_a_curve_leads_to_its_head(explore, minilm):
    page = explore(query=3)
    page.locator(".viz-route-name").nth(6).click()
    asked(page, "token=6")
    assert page.evaluate("window.vizTab.selection.query") == 6
    page.focus(".viz-routes-drawing")
    page.keyboard.press("ArrowRight")
    asked(page, "token=7")
    found = vz.attribute(minilm, SENTENCES[0], of="state", token=7)
    edges = [edge for edge in found.routes().edges if edge.query != edge.key]
    (layer, head), *_ = found.ranked(1)
    key = int(np.abs(found.links(layer, head)[7]).argmax())
    page.wait_for_function(AT, arg=[layer, head, 7, key])
    edge = max(edges, key=lambda edge: abs(edge.share))
    page.locator(".viz-route[data-edge='0']").dispatch_event("click")
    assert page.evaluate("window.vizTab.selection.name") == f"{edge.layer}.{edge.head}"
    assert page.evaluate("window.vizTab.selection.key") == edge.key
    page.locator(".viz-share-cell[data-head='2.3']").click()
    assert page.evaluate("window.vizTab.selection.name") == "2.3"


def test_an_answer_against_another_label_and_another_text(visit):
    grammar = vz.load("grammar", device="cpu")
    page = visit(kind="text", a=MASKED[0], model=MASKED[1], measure="contribution").page
    asked(page, "of=masked")
    other = MASKED[0].replace("keys", "key")
    asked(page, "against=the")  # its twin, which names the word that decides
    assert answered(page, vz.attribute(grammar, MASKED[0], against=other))
    page.select_option("#viz-explain-against", label="nothing")
    page.wait_for_selector(".viz-how[data-painted*='of=masked']:not([data-painted*=against])")
    assert answered(page, vz.attribute(grammar, MASKED[0]))
    labels = page.eval_on_selector_all("#viz-explain-label option", "all => all.map(o => o.text)")
    assert labels[0].startswith("are ") and len(labels) == 11
    page.select_option("#viz-explain-label", "other")
    page.fill("#viz-explain-typed", "is")
    page.press("#viz-explain-typed", "Enter")
    asked(page, "label=is")
    assert answered(page, vz.attribute(grammar, MASKED[0], label="is"))
    page.select_option("#viz-explain-against", "other")
    typed = page.locator("#viz-explain-rival")
    assert typed.get_attribute("placeholder") == "A label, word or text; Enter asks"
    assert typed.bounding_box()["width"] > 300
    page.fill("#viz-explain-rival", other)
    page.press("#viz-explain-rival", "Enter")
    asked(page, "against=the")
    found = vz.attribute(grammar, MASKED[0], label="is", against=other)
    assert answered(page, found)
    assert "keys/key" in page.inner_text(".viz-answer")
    page.select_option("#viz-explain-label", "other")
    page.select_option("#viz-explain-against", label="the same with “key” for “keys”")
    asked(page, f"against={other.split()[0]}")
    assert answered(page, found)
    page.select_option("#viz-explain-against", "")  # and a removal gives that choice back
    page.click("[data-cut=remove]")
    asked(page, "against=run")
    page.click("#viz-restore")
    page.wait_for_selector(".viz-how:not([data-painted*=against])")
    assert page.input_value("#viz-explain-against") == ""
    page = visit(kind="text", a=SENTENCES[0], model=MASKED[1]).page  # of any token: no word decides
    asked(page, "of=masked")
    assert page.input_value("#viz-explain-against") == ""


def test_a_text_against_itself_says_that_nothing_differs_beside_its_weights(explore):
    page = explore(query=3)
    page.select_option("#viz-explain-against", "other")
    page.fill("#viz-explain-rival", SENTENCES[0])
    page.press("#viz-explain-rival", "Enter")
    page.wait_for_selector(".viz-answer:has-text('nothing made them differ')")
    shown = page.inner_text(".viz-measure[aria-pressed=true] b")
    assert shown == "Attention"  # which the map shows
    page.wait_for_selector(".viz-map h3:text-matches('^Layer ')")
    assert page.inner_text(".viz-legend-title").startswith("Attention weight")


def test_weak_links_are_left_out_by_a_slider_that_says_below_which_share(explore, minilm):
    page = explore(query=3)
    found = vz.attribute(minilm, SENTENCES[0], of="state", token=3)
    edges = [abs(e.share) for e in found.routes().edges if e.query != e.key]
    curves, slider = page.locator(".viz-route"), page.locator("#viz-route-least")
    for _ in range(20):
        slider.press("ArrowRight")
    least = min(edges) + 0.2 * (max(edges) - min(edges))
    assert curves.count() == sum(share >= least for share in edges) < len(edges)
    said = f"{least / found.score:.0%}"
    assert slider.get_attribute("aria-valuetext") == said
    assert page.inner_text(".viz-how-head .viz-control").split() == ["links", "above", said]
    slider.press("Home")
    assert curves.count() == len(edges)


def test_a_file_that_is_refused_says_why(explore):
    page = explore(query=3)
    refused = {"headers": {"x-fault": "1"}, "json": {"message": "Another one is being made."}}
    page.route("**/figure/routes.csv**", lambda route: route.fulfill(status=200, **refused))
    page.click(".viz-how .viz-take-open")
    page.click(".viz-how .viz-saves >> text=CSV")
    page.wait_for_selector(".viz-how [role=status]:has-text('Another one is being made.')")
    page.unroute("**/figure/routes.csv**")


def test_a_picture_opens_on_the_head_that_its_answer_names_and_its_strongest_link(visit):
    name = list(PICTURES)[1]
    page = visit(opening=True, kind="image", example=name, model="scene").page
    asked(page)
    found = vz.attribute(vz.load("scene", device="cpu"), asset(PICTURES[name]))
    (layer, head), *_ = found.ranked(1)
    links = found.links(layer, head)
    query, key = map(int, np.unravel_index(np.abs(links).argmax(), links.shape))
    assert f"head {layer}.{head} brings" in page.inner_text(".viz-answer")
    page.wait_for_function(AT, arg=[layer, head, query, key])


def test_a_cell_of_the_map_is_chosen_in_its_head_and_keeps_it(visit):
    page = visit(opening=True).page
    asked(page, "of=state")
    page.click("[data-measure=attention]")
    asked(page, ":attention:")
    page.evaluate("vizTab.map.choose([13.5, 2.5])")
    asked(page, "token=13")
    assert page.evaluate(AT, [5, 11, 13, 2])


@pytest.mark.slow
def test_a_picture_has_an_overlay_a_block(explore):
    page = explore(kind="image", example=next(iter(PICTURES)), model="scene")
    figures = page.locator(".viz-route-pictures figure")
    n_layers = page.evaluate("window.vizTab.run.nLayers")
    assert figures.count() == n_layers + 1
    assert figures.first.inner_text().startswith("input")  # blocks from left to right
    picture = Image.open(io.BytesIO(saved(page, ".viz-how", "PNG")[1]))
    assert len(picture.convert("RGB").getcolors(10**6)) > 1000  # the overlays are in it
    figures.first.locator("canvas").click(position={"x": 70, "y": 70})
    asked(page, "of=state")
    query = page.evaluate("window.vizTab.selection.query")
    assert page.inner_text(".viz-answer").startswith(
        f"“{page.evaluate('window.vizTab.run.tokens')[query]}” ends up"
    )


def test_a_run_without_its_model_says_why(visit, of_file, plain):
    opened = visit(run=of_file)
    opened.page.wait_for_selector(".viz-how[data-painted]", state="attached")
    page = opened.page
    assert "The model of this run is not loaded here" in page.inner_text(".viz-measure-said")
    assert page.inner_text(".viz-answer").startswith("Going by attention alone, ")
    assert page.is_disabled("[data-measure=contribution]")
    asked(page, ":attention:")
    routes = weight_routes(plain, 0)
    expected = [[percent(share) for share in row] for row in routes.nodes.tolist()]
    assert drawn(page, routes.nodes.shape).tolist() == expected
    page.click(".viz-share-grid [data-head='2.3']")
    opened.map_painted("2.3")
