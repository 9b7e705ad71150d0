"""The measures of Explore: attention, contribution and effect, each against the library."""

import json

import httpx
import numpy as np
import pytest

import viz_encoder as vz
from tests.ui.texts import MASKED, SENTENCES
from viz_encoder import effects
from viz_encoder.attribution import weight_routes

QUESTION = {"of": "state", "token": 10}


@pytest.fixture(scope="module")
def found(minilm):
    return vz.attribute(minilm, SENTENCES[0], **QUESTION)


@pytest.fixture(scope="module")
def ask(site, key):
    def get(path, **query):
        answer = httpx.get(f"{site}viz/run/{key}/{path}", params={**QUESTION, **query}, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer

    return get


def numbers(answer):
    values = np.frombuffer(answer.content, "<f4")
    return values.reshape([int(n) for n in answer.headers["x-shape"].split(",")])


def result(answer):
    return json.loads(answer.text.strip().splitlines()[-1])["result"]


def test_attention_is_rollout_in_the_same_form(ask, found):
    routes = weight_routes(found.trace, 10)
    told = ask("attribution", measure="attention").json()
    np.testing.assert_allclose(told["nodes"], routes.nodes, atol=1e-6)
    np.testing.assert_allclose(told["tokens"], routes.nodes[0], atol=1e-6)
    strongest = max((e for e in routes.edges if e.query != e.key), key=lambda e: e.share)
    assert (told["score"], told["unit"]) == (1.0, "weight")
    assert told["edges"][0] == pytest.approx(strongest._asdict(), abs=1e-6)


def test_effects_are_of_the_score_that_is_split(ask, minilm, found):
    told = result(ask("attribution/effect"))
    text = SENTENCES[0]
    heads = vz.effect(minilm, text, measure=found).values[0]
    np.testing.assert_allclose(told["heads"], heads, atol=1e-4)
    hidden = effects.tokens(minilm, text, measure=found).values
    np.testing.assert_allclose(told["tokens"], hidden, atol=1e-4)
    np.testing.assert_allclose(told["nodes"][0], hidden, atol=1e-4)
    assert not np.any(told["nodes"][1:])
    cut = [(edge["layer"], None, edge["query"], edge["key"]) for edge in told["edges"]]
    values = effects.links(minilm, text, cut, measure=found).values
    np.testing.assert_allclose([edge["share"] for edge in told["edges"]], values, atol=1e-4)
    assert np.all(np.diff(abs(values)) <= 1e-4)  # the strongest first


def test_a_map_of_shares_and_one_row_of_effects(ask, minilm, found):
    place = {"layer": 5, "head": "11", "query": 10}
    shares = numbers(ask("attribution/map", **place))
    np.testing.assert_allclose(shares, found.links(5, 11), atol=1e-5)
    part = numbers(ask("attribution/map", **place, rows="8:12", keys="1:3"))
    np.testing.assert_allclose(part, found.links(5, 11)[8:12, 1:3], atol=1e-5)
    few = numbers(ask("attribution/effect/map", **place, most=4))
    strongest = np.argsort(-found.trace.attention(5, 11)[10].numpy())[:4]
    assert set(np.flatnonzero(~np.isnan(few[10]))) == {*strongest}
    row = numbers(ask("attribution/effect/map", **place))
    assert np.isnan(np.delete(row, 10, axis=0)).all()
    cut = [(5, 11, 10, key) for key in range(len(row))]
    values = effects.links(minilm, SENTENCES[0], cut, measure=found).values
    np.testing.assert_allclose(row[10], values, atol=1e-4)


def test_a_question_without_an_answer_is_refused_or_told(client, site, key):
    other = client.predict("The animal slept", api_name="/run_text")["key"]
    place = {"layer": 5, "head": "11", "query": 10, "token": 6, "against": f"run:{other}"}
    for path in ("attribution", "attribution/map"):
        given = QUESTION | place
        refused = httpx.get(f"{site}viz/run/{key}/{path}", params=given)
        told = httpx.get(f"{site}viz/run/{key}/{path}", params=given | {"told": 1})
        assert (refused.status_code, told.status_code, told.headers["x-fault"]) == (422, 200, "1")
        assert refused.json() == told.json()


def test_a_twin_of_another_length_and_heads_that_are_none_are_refused_in_a_sentence(ask, site, key):
    told = ask("attribution/effect", how="patch", twin="too short").text.splitlines()[-1]
    assert "one word with one that has as many tokens" in json.loads(told)["message"]
    answer = httpx.get(f"{site}viz/run/{key}/attribution/joint", params={**QUESTION, "heads": "3"})
    assert "write them as 3.0,3.4" in answer.json()["message"]


@pytest.mark.parametrize(
    ("path", "query", "says"),
    [
        ("attribution", {"measure": "guess"}, "no measure"),
        ("attribution/effect/map", {"head": "mean"}, "one head"),
        ("attribution/effect/map", {"words": True}, "sub-words"),
        ("attribution/effect/map", {"most": -1}, "1 or more"),
    ],
)
def test_what_a_measure_cannot_tell(site, key, path, query, says):
    given = {**QUESTION, "layer": 0, "head": "0", "query": 1, **query}
    answer = httpx.get(f"{site}viz/run/{key}/{path}", params=given)
    assert says in answer.text and answer.status_code in (404, 422)


def test_effects_of_a_changed_run_say_what_to_do(client, site, key):
    changed = client.predict(key, ["h0.1"], api_name="/what_if")["run"]["key"]
    answer = httpx.get(f"{site}viz/run/{changed}/attribution/effect", params=QUESTION, timeout=60)
    assert "take the changes back" in json.loads(answer.text.strip().splitlines()[-1])["message"]


ENTERED = """() => new Promise((done) => {
  vizTab.explained.enter(vizTab.run);
  setTimeout(() => done(vizTab.selection.measure), 100);
})"""  # as another run is, while an effect is measured


def measured(page, measure):
    page.wait_for_selector(f".viz-how[data-painted*=':{measure}:']", timeout=60_000)


def test_one_switch_turns_picture_heads_and_map(visit, minilm):
    page = visit(opening=True).page
    measured(page, "contribution")
    query = page.evaluate("window.vizTab.selection.query")
    found = vz.attribute(minilm, page.input_value("#viz-text-a textarea"), of="state", token=query)
    assert page.inner_text(".viz-map h3").startswith("Share of each link: layer 5, head 11")
    cell = "(() => { const t = window.vizTab; return t.map.parts.at(...t.map.chosen).value; })()"
    place = page.evaluate(
        "(({layer, head, query, key}) => [layer, head, query, key])(vizTab.selection)"
    )
    layer, head, _, key = place
    assert page.evaluate(cell) == pytest.approx(found.links(layer, head)[query, key], abs=1e-5)
    held = []
    page.route("**/attribution/effect?**", lambda route: held.append(route))
    with page.expect_request("**/attribution/effect?**"):
        page.click("[data-measure=effect]")
    page.click(".viz-to-head")  # what is on its way comes nevertheless
    held[0].continue_()
    measured(page, "effect")
    heads = vz.effect(minilm, found.trace.sample.texts[0], measure=found).values[0]
    most = np.unravel_index(abs(heads).argmax(), heads.shape)
    share = f"{heads[most] / found.score:.0%}".replace("-", "−")
    said = page.inner_text(".viz-answer")
    assert f"removing {most[0]}.{most[1]} changes" in said and f"({share})" in said
    shown = page.locator(f".viz-share-cell[data-head='{most[0]}.{most[1]}']")
    assert shown.inner_text().endswith(share.rstrip("%"))
    page.wait_for_selector(".viz-map[data-painted*=':effect:']")
    cut = effects.links(minilm, found.trace.sample.texts[0], [tuple(place)], measure=found)
    assert page.evaluate(cell) == pytest.approx(cut.values[0], abs=1e-4)
    assert "measure=effect" in page.evaluate("location.search")
    page.click("[data-measure=attention]")
    measured(page, "attention")
    weight = float(found.trace.attention(layer, head)[query, key])
    page.wait_for_function(f"Math.abs(({cell}) - {weight}) < 1e-5")
    assert "of the attention of" in shown.get_attribute("aria-description")
    assert "measure=" not in page.evaluate("location.search")


@pytest.mark.slow
def test_effects_are_canceled_and_asked_for_again(shared):
    page = shared(kind="text", a=MASKED[0], model=MASKED[1], measure="contribution").page
    measured(page, "contribution")
    page.route("**/attribution/effect**", lambda route: None)  # never answered
    page.click("[data-measure=effect]")
    page.click(".viz-how .viz-work button")
    page.unroute("**/attribution/effect**")
    page.wait_for_selector("[data-measure=contribution][aria-pressed=true]")
    measured(page, "contribution")
    page.click("[data-measure=effect]")
    measured(page, "effect")


def test_effects_are_not_offered_of_a_changed_run(shared):
    page = shared(kind="text", a=MASKED[0], model=MASKED[1], layer=3, measure="effect").page
    measured(page, "effect")
    page.click("[data-cut=remove]")
    page.wait_for_function("vizTab.run.changed?.changes.length === 1", timeout=60_000)
    measured(page, "contribution")
    page.wait_for_selector(".viz-map[data-painted*=':share:']")
    assert page.is_disabled("[data-measure=effect]")
    assert page.inner_text("[data-measure=effect]") == "Effect\npress Restore first"
    page.click("#viz-restore")
    page.wait_for_selector("[data-measure=effect]:not([disabled])")
    page.route("**/attribution/effect?**", lambda route: None)
    with page.expect_request("**/attribution/effect?**"):
        page.click("[data-measure=effect]")
    assert page.evaluate(ENTERED) == "effect"  # which the next run is asked for, too


def test_several_heads_have_the_sum_of_their_shares_and_no_effects(shared, minilm, found):
    page = shared(layer=5, head="3,11", query=10, key=2, measure="contribution").page
    page.wait_for_selector(".viz-map[data-painted*=':share:']", timeout=60_000)
    assert "sum of heads 3, 11" in page.inner_text(".viz-map h3")
    cell = "vizTab.map.parts.at(10, 2).value"
    wanted = found.links(5, 3)[10, 2] + found.links(5, 11)[10, 2]
    assert page.evaluate(cell) == pytest.approx(wanted, abs=1e-5)
    page.click("[data-measure=effect]")
    measured(page, "effect")
    page.wait_for_selector(".viz-map[data-painted$=':5.3,11:all']")
    weights = found.trace.attention(5)[[3, 11], 10, 2].mean()
    page.wait_for_function(f"Math.abs({cell} - {float(weights)}) < 1e-5")


def test_attention_of_a_classifier_starts_where_its_head_reads(site, digit):
    asked = {"of": "classify", "measure": "attention"}
    told = httpx.get(f"{site}viz/run/{digit}/attribution", params=asked).json()
    assert told["start"] == 0 and told["nodes"][-1][0] == 1.0
