"""Runs that something was taken away from: routes, endpoints, links, proofs, files; in numbers."""

import asyncio
import json
import threading

import httpx
import numpy as np
import pytest
import torch
from gradio_client.exceptions import AppError

import viz_encoder as vz
from tests.coroutines import run_apart
from tests.export.runs import facts_of
from tests.ui.reruns import changed_run
from viz_encoder import effects
from viz_encoder.ui.state.restoring import restore
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs.explore.outcomes import proof_plain
from viz_encoder.ui.wire.concurrency import Places, json_lines

SENTENCE = "the keys to the cabinet [MASK] old"
TWIN = "the key to the cabinet [MASK] old"
LINK = {"kind": "text", "model": "grammar", "a": SENTENCE}


@pytest.fixture(scope="module")
def run(site):
    return httpx.post(f"{site}viz/open/link", json=LINK, timeout=60).json()


@pytest.fixture
def ask(site, run):
    def get(path, key=run["key"], **sent):
        send = httpx.post if sent else httpx.get
        return send(f"{site}viz/run/{key}/whatif/{path}", timeout=120, **sent)

    return get


def change(ask, *codes, **more):
    return ask("changed", json={"changes": codes}, **more).json()


def last(answer):
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert answer.headers["content-type"] == "application/x-ndjson"
    shares = [line["done"] for line in lines[:-1]]
    assert shares == sorted(shares) and all(0 <= share <= 1 for share in shares)
    return lines[-1]


def test_how_far_a_change_moved_a_state_is_told_beside_its_effect(site, ask, run, grammar):
    """The distance is of all directions; the effect of the one that the state had."""
    plain = vz.attribute(grammar, SENTENCE, of="state", token=6)
    cut = effects.changed(grammar, SENTENCE, ["h3.0"])
    changed = vz.attribute(grammar, cut, of="state", token=6)
    key = change(ask, "h3.0")["run"]["key"]
    asked = {"of": "state", "token": 6, "against": f"run:{run['key']}"}
    told = httpx.get(f"{site}viz/run/{key}/attribution", params=asked, timeout=60).json()
    assert told["whole"] == pytest.approx(plain.score, rel=1e-5)
    assert told["alone"]["score"] == pytest.approx(changed.score, rel=1e-5)
    np.testing.assert_allclose(told["alone"]["tokens"], changed.tokens, atol=2e-5)
    effect = vz.effect(grammar, SENTENCE, measure=plain).values[0, 3, 0]
    assert told["along"] == pytest.approx(effect / plain.score, abs=2e-5)
    back = asked | {"against": f"run:{key}"}
    told = httpx.get(f"{site}viz/run/{run['key']}/attribution", params=back, timeout=60).json()
    assert "along" not in told


def test_a_changed_run_is_the_one_that_python_makes(site, ask, run, grammar):
    made = change(ask, "h3.0", "t2")
    assert made["plain"]["key"] == run["key"]
    assert made["run"]["changed"]["plain"] == run["key"]
    assert [each["words"] for each in made["run"]["changed"]["changes"]] == [
        "head 3.0 removed",
        "“keys” hidden from all",
    ]
    expected = effects.changed(grammar, SENTENCE, ["h3.0", "t2"]).attention(3, 1).numpy()
    key = made["run"]["key"]
    raw = httpx.get(f"{site}viz/run/{key}/map?layer=3&head=1&rows=0:9&keys=0:9").content
    found = np.frombuffer(raw, np.float32)[:81].reshape(9, 9)
    np.testing.assert_allclose(np.nan_to_num(found), expected, atol=1e-6)
    again = change(ask, "t2", key=key)  # changes are of the plain run, whichever is asked
    assert [each["code"] for each in again["run"]["changed"]["changes"]] == ["t2"]
    assert change(ask, key=key)["run"]["key"] == run["key"]  # none at all: restored


def test_what_a_change_did_is_said_in_numbers(ask, grammar):
    said = ask("said?changes=h3.0").json()
    before, after = vz.capture(grammar, SENTENCE), effects.changed(grammar, SENTENCE, ["h3.0"])
    (plain,), (now,) = (vz.analyses.predictions(grammar, trace) for trace in (before, after))
    assert said["labels"][:2] == ["are", "is"] and said["flips"]
    assert said["before"][0] == pytest.approx(float(plain.shares[0]), rel=2e-5)
    assert said["after"][1] == pytest.approx(float(now.shares[0]), rel=2e-5)
    assert said["sentence"] == (
        "Remove head 3.0 and the answer flips: are 0.995 → 0.312, is 0.004 → 0.687."
    )
    apart = (after.output - before.output).norm(dim=1) / before.output.norm(dim=1)
    assert said["moved"] == pytest.approx(float(apart.mean()), rel=2e-5)
    vectors = [vz.pool(trace.output, trace.valid, "mean") for trace in (before, after)]
    cosine = torch.nn.functional.cosine_similarity(*vectors, dim=-1)
    assert said["cosine"] == pytest.approx(float(cosine), abs=2e-5)
    kept = ask("said", key=change(ask, "h3.0")["run"]["key"]).json()
    assert kept == said
    stays = ask("said?changes=h2.0").json()
    assert not stays["flips"] and "the answer stays: are" in stays["sentence"]


def test_the_proof_of_a_changed_run(ask, run):
    found = ask("proof", key=change(ask, "h3.0", "l2.1:6-2", "m4")["run"]["key"]).json()
    assert found["passed"] is True and len(found["parts"]) == 6
    assert found["sentence"].startswith("Equals the output with these heads' columns of W_O zeroed")
    assert "Every cut weight is exactly 0" in found["sentence"]
    assert ask("proof").json()["passed"] is None


def test_a_proof_fails_where_a_weight_is_left(runner):
    store = runner.store
    plain = runner.text("grammar", SENTENCE)["key"]
    entry = store.get(changed_run(runner, plain, ["l3.0:6-2"]))
    assert proof_plain(entry)["passed"] is True
    entry.trace = store.get(plain).trace  # as if nothing had been cut
    found = proof_plain(entry)
    assert found["passed"] is False and "still has weight 1 in the maps" in found["sentence"]


@pytest.fixture
def plain_key(client):
    return client.predict(SENTENCE, "", "grammar", api_name="/run_text")["key"]


def test_effects_of_all_heads(client, plain_key, grammar):
    found = client.predict(plain_key, api_name="/head_effects")
    expected = effects.effect(grammar, SENTENCE)
    np.testing.assert_allclose(found["values"], expected.values[0], rtol=2e-5)
    assert found["answers"] == expected.answers[0].tolist()
    assert (
        found["sentence"]
        == f"Removing head 3.0 flips {found['flip']}, the largest effect of all heads."
    )
    mild = client.predict(plain_key, "", "mean", api_name="/head_effects")
    assert mild["how"].startswith("its mean over 10 texts") and mild["values"] != found["values"]
    with pytest.raises(AppError, match="no prediction head"):
        client.predict(plain_key, "logit", api_name="/head_effects")


def test_effects_of_tokens_and_the_fewest_that_flip(ask, grammar):
    found = last(ask("tokens"))["result"]
    expected = effects.tokens(grammar, SENTENCE)
    values = np.array(found["values"], float)
    np.testing.assert_allclose(values, expected.values, rtol=2e-5)
    assert found["labels"] == ["are", "is"] and found["pair"][6] == [None, None]
    for at, away in ((2, 0.994), (3, 0.994)):  # of “is”, without “keys” and without “to”
        assert round(found["pair"][at][1], 3) == away
    for at, kept in ((5, 0.998), (7, 0.888), (8, 0.781)):  # of “are”: cabinet, old, [SEP]
        assert round(found["pair"][at][0], 3) == kept
    assert found["sentence"].startswith("2 of 8 tokens change the answer “are”")
    answer = ask("flips")
    shares = [json.loads(line).get("done", 0) for line in answer.text.splitlines()]
    assert max(shares) == pytest.approx(1 / 3, abs=1e-4)  # of sets of up to 3, those of 1 are done
    flips = last(answer)["result"]
    assert flips["sets"] == [[3], [2]] and flips["tries"] == 8
    assert "Hiding 1 token is enough" in flips["sentence"]
    masked = last(ask("tokens?how=mask"))["result"]
    assert masked["values"] != found["values"]


def test_patching_from_a_twin_both_ways(client, plain_key, grammar):
    found = client.predict(plain_key, TWIN, api_name="/patch_effects")
    for direction in ("noising", "denoising"):
        expected = effects.patch(grammar, SENTENCE, TWIN, direction=direction)
        np.testing.assert_allclose(found[direction], expected.shares[0], atol=2e-5)
    assert found["sentence"].startswith("Patching head 3.0 alone from the twin")
    with pytest.raises(AppError, match="tokens"):
        client.predict(plain_key, "the key", api_name="/patch_effects")


def test_effects_over_many_texts_with_their_spread(ask, grammar):
    texts = [SENTENCE, "the cats near the bird [MASK] red", "the box by the keys [MASK] old"]
    found = last(ask("texts", json={"texts": texts}))["result"]
    expected = effects.effect(grammar, texts)
    np.testing.assert_allclose(found["mean"], expected.mean, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(found["spread"], expected.spread, rtol=2e-5, atol=1e-6)
    assert found["n"] == 3
    for sent in ([SENTENCE], [SENTENCE, " "], [SENTENCE, 3]):
        assert "Give 2 to 100 texts" in last(ask("texts", json={"texts": sent}))["message"]


def test_bad_changes_are_answered_in_a_sentence(ask):
    for path, sent, says in (
        ("changed", {"changes": "h3.0"}, "as a list of codes"),
        ("changed", {"changes": ["h9.0"]}, "There is no layer 9"),
        ("changed", {"changes": [None]}, "None is not a change"),
        ("changed", [], "Send a JSON object"),
        ("said?changes=x", None, "'x' is not a change"),
        ("said?changes=h9.0", None, "There is no layer 9"),
    ):
        answer = ask(path) if sent is None else ask(path, json=sent)
        assert answer.status_code == 422 and says in answer.json()["message"], path
    told = ask("changed?told=1", json={"changes": ["x"]})
    assert (told.status_code, told.headers["x-fault"]) == (200, "1")
    gone = ask("changed?told=1", key="gone", json={"changes": ["h3.0"]})
    assert gone.status_code == 410 and "expired" in gone.json()["message"]


@pytest.mark.parametrize("code", ["d6", "r6:is"])
def test_without_the_mask_no_answer_is_read_and_the_vectors_are_compared(ask, grammar, code):
    assert vz.capture(grammar, SENTENCE).tokens[6] == "[MASK]"
    made = change(ask, code)["run"]
    said = ask("said", key=made["key"]).json()
    other = SENTENCE.replace("[MASK] ", "" if code == "d6" else "is ")
    one, two = (
        vz.pool(t.output, t.valid, "mean").double()
        for t in (vz.capture(grammar, SENTENCE), vz.capture(grammar, other))
    )
    cosine = float(one @ two / one.norm() / two.norm())
    assert said["cosine"] == pytest.approx(cosine, abs=1e-6)
    assert said["labels"] == [] and said["flips"] is False
    assert said["changed"] == pytest.approx(1 - cosine, abs=1e-6)
    assert "there is no answer left to read; the pooled vector changes by" in said["sentence"]


def test_a_masked_word_keeps_its_place_in_the_comparison(site, ask, run):
    made = change(ask, "m2")["run"]
    told = httpx.get(
        f"{site}viz/run/{made['key']}/compared?reference={run['key']}&query=2&key=2"
    ).json()
    assert "no counterpart" not in json.dumps(told)


def test_named_endpoints_give_the_same(client, ask):
    key = client.predict(SENTENCE, "", "grammar", api_name="/run_text")["key"]
    made = client.predict(key, ["h3.0"], api_name="/what_if")
    assert made["plain"] == key and made["proof"]["passed"] is True
    assert made["said"] == ask("said?changes=h3.0").json()
    assert client.predict(key, api_name="/token_effects")["labels"] == ["are", "is"]
    assert client.predict(made["run"]["key"], api_name="/flips")["tries"] == 8
    assert client.predict(made["run"]["key"], [], api_name="/what_if")["run"]["key"] == key


def test_a_link_brings_a_changed_run_back(runner):
    plain = restore(runner, LINK)
    assert plain["changed"] is None and plain["swap"] == ("keys", "key")
    made = runner.again(changed_run(runner, plain["key"], ["h3.0", "r2:a%2Cb"]))
    assert made["link"] == {**LINK, "cut": "h3.0,r2:a%2Cb"} and made["swap"] is None
    fresh = restore(Runner(runner.models, TraceStore()), made["link"])
    assert fresh["changed"]["changes"] == made["changed"]["changes"]
    assert fresh["notes"] == plain["notes"]  # of the changes are its own, and told once
    unknown, removed = fresh["changed"]["notes"]
    assert "3.0" in removed and unknown == fresh["changed"]["unknown"]
    assert fresh["tokens"] == made["tokens"]
    wrong = restore(runner, {**LINK, "cut": "h3.0,nonsense"})
    assert wrong["changed"] is None
    assert any("'nonsense' is not a change" in note for note in wrong["notes"])


def test_the_plain_run_is_made_again_where_it_was_let_go(runner):
    store = runner.store
    plain = runner.text("grammar", SENTENCE)["key"]
    made = changed_run(runner, plain, ["h3.0"])
    output = store.get(plain).trace.output
    store.get(plain).expires = -1.0  # long ago
    back = changed_run(runner, made, [])
    assert back != plain and torch.equal(store.get(back).trace.output, output)
    assert store.get(back).recipe.to_link() == LINK


def test_what_runs_the_model_again_is_not_mixed_with_changes(site, ask, run):
    key = change(ask, "h3.0")["run"]["key"]
    at = f"{site}viz/run/{key}"
    views = httpx.get(f"{at}/views").json()
    drawn = httpx.get(f"{at}/figure/head_effects")
    for message in (drawn.json()["message"], views["head_effects"]["missing"]):
        assert "without the mask or the changes" in message
    assert not views["routes"]["missing"]
    shares = httpx.get(f"{at}/figure/head_shares").json()
    assert shares["data"][0]["type"] == "heatmap", shares
    other = with_a_mask(site, run["key"]).json()["run"]["key"]
    offered = ask("offered", key=other).json()
    assert "effects are measured without one" in offered["missing"] and offered["fixed"] == ""
    assert ask("tokens", key=other).json()["message"] == offered["missing"]


def with_a_mask(site, key, n=9):
    sent = np.packbits(np.tri(n, dtype=bool)).tobytes()
    return httpx.post(f"{site}viz/run/{key}/mask/run", content=sent)


def test_a_mask_and_changes_go_together_in_either_order(site, ask, run):
    changed, masked = change(ask, "h3.0")["run"], with_a_mask(site, run["key"]).json()
    assert httpx.get(f"{site}viz/run/{changed['key']}/mask/offered").json()["missing"] == ""
    both = with_a_mask(site, changed["key"]).json()
    assert both["plain"] == changed["key"] and both["sentence"].startswith("0 leaks in 16 heads")
    other = change(ask, "h3.0", key=masked["run"]["key"])
    assert other["run"]["key"] == both["run"]["key"]
    assert other["plain"]["key"] == masked["run"]["key"] == other["run"]["changed"]["plain"]
    found = ask("proof", key=both["run"]["key"]).json()
    assert found["passed"] is True and "W_O zeroed" in found["sentence"]
    new_text = change(ask, "d2")["run"]["key"]
    missing = httpx.get(f"{site}viz/run/{new_text}/mask/offered").json()["missing"]
    assert "gives the text new tokens" in missing
    assert with_a_mask(site, new_text, 8).json()["message"] == missing


def test_what_all_heads_add_is_not_told_where_one_was_removed(site, ask):
    key = change(ask, "h3.0")["run"]["key"]
    at = f"{site}viz/run/{key}"
    views = httpx.get(f"{at}/views").json()
    for name in ("value_weighted", "value_weighted_depth", "residual_change"):
        assert "A head was removed from this run" in views[name]["missing"]
        refused = httpx.get(f"{at}/figure/{name}")
        assert refused.json()["message"] == views[name]["missing"]
    parts = httpx.get(f"{at}/hidden/residual_change")
    assert "A head was removed from this run" in parts.json()["message"]
    assert httpx.get(f"{at}/hidden/hidden_change").status_code == 200
    cut = change(ask, "l3.0:6-2")["run"]["key"]
    assert not httpx.get(f"{site}viz/run/{cut}/views").json()["residual_change"]["missing"]


@pytest.mark.parametrize("codes", [("h3.0", "t2"), ("r2:key",)])
def test_the_python_of_a_changed_run_makes_it_again(site, ask, codes):
    key = change(ask, *codes)["run"]["key"]
    code = httpx.get(f"{site}viz/run/{key}/take/py?layer=3&head=1").text
    scope: dict[str, object] = {}
    exec(code, scope)
    raw = httpx.get(f"{site}viz/run/{key}/map?layer=3&head=1&rows=0:9&keys=0:9").content
    shown = np.nan_to_num(np.frombuffer(raw, np.float32)[:81].reshape(9, 9))
    np.testing.assert_allclose(np.asarray(scope["weights"]), shown, atol=1e-6)


def test_the_offline_page_of_a_changed_run_says_what_was_changed(site, ask):
    key = change(ask, "h3.0", "t2")["run"]["key"]
    page = httpx.get(f"{site}viz/run/{key}/take/html?layer=3&head=1", timeout=60).text
    facts = facts_of(page)
    said = ask("said", key=key).json()
    assert facts["changed"]["made"] == ["head 3.0 removed", "“keys” hidden from all"]
    assert facts["changed"]["sentence"] == said["sentence"]
    assert facts["changed"]["answers"] == [
        list(each) for each in zip(said["labels"], said["before"], said["after"], strict=True)
    ]


def test_the_python_of_a_masked_run_reads_the_saved_run(site, run):
    masked = with_a_mask(site, run["key"]).json()["run"]["key"]
    code = httpx.get(f"{site}viz/run/{masked}/take/py?layer=3&head=1").text
    assert "vz.Trace.load('run.safetensors')" in code or "run.safetensors" in code
    assert "vz.capture" not in code


def test_work_stops_when_nobody_listens():
    stopped, going = threading.Event(), threading.Event()

    def work(tell):
        going.set()
        try:
            while True:
                tell(0.5)
        finally:
            stopped.set()

    async def leave():
        lines = json_lines(work, Places(1))
        assert json.loads(await anext(lines)) == {"done": 0.0}
        await asyncio.to_thread(going.wait, 10)
        await lines.aclose()

    run_apart(leave())
    assert stopped.wait(10)


def test_an_unforeseen_fault_is_a_sentence_too():
    def work(tell):
        raise MemoryError

    async def every():
        return [line async for line in json_lines(work, Places(1))]

    *_, end = run_apart(every())
    assert "more memory than is available" in json.loads(end)["message"]
