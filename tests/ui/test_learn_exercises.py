"""The lesson's routes: exercises of a run in words, at any place in it, and a seat's sentence."""

import json

import httpx
import pytest
import torch

import viz_encoder as vz
from tests.lesson.web_numbers import FILE
from viz_encoder.lesson.asked import asked_of
from viz_encoder.lesson.posed import exercises
from viz_encoder.lesson.seats import seat

TEXT = "the keys to the cabinet [MASK] old"
FIELDS = {
    *("id", "step", "level", "question", "kind", "unit", "decimals", "answer", "tolerance"),
    *("choices", "also", "cell", "mistakes", "right", "wrong", "hint"),
}


@pytest.fixture(scope="module")
def run(client):
    return client.predict(TEXT, "", "grammar", api_name="/run_text")["key"]


def ask(site, run, **chosen):
    return httpx.get(f"{site}viz/run/{run}/learn/exercises", params=chosen, timeout=60)


def expected(grammar, text, step=None, language="en", **place):
    asked = asked_of(grammar, grammar.read(text), vz.capture(grammar, text), **place)
    return exercises(asked, step, language)


def test_the_exercises_of_a_step_at_a_place(site, run, grammar):
    told = ask(site, run, step=4, layer=2, head=0, query=6, key=2, seed=17).json()
    assert told["exercises"] == expected(grammar, TEXT, 4, layer=2, head=0, query=6, key=2, seat=17)
    assert [each["level"] for each in told["exercises"]] == [1, 2, 3, 4]
    for each in told["exercises"]:
        assert set(each) == FIELDS
        assert all(set(one) == {"value", "tolerance", "says"} for one in each["mistakes"])
    other = ask(site, run, step=4, layer=1, head=3, query=2, key=1).json()["exercises"]
    assert other == expected(grammar, TEXT, 4, layer=1, head=3, query=2, key=1)
    assert other[0]["answer"] != told["exercises"][0]["answer"]


def test_without_a_place_it_is_where_the_lesson_looks(site, run, grammar):
    told = ask(site, run).json()
    assert told["exercises"] == expected(grammar, TEXT)
    assert len(told["exercises"]) == 39
    told = ask(site, run, step=12, language="de").json()
    assert told["exercises"] == expected(grammar, TEXT, 12, "de")
    assert "24.034.304" in told["exercises"][2]["right"]


def test_a_hidden_token_turns_a_state_block_by_block(site, run):
    path = f"{site}viz/run/{run}/learn/turned"
    told = httpx.get(path, params={"query": 6, "key": 2}, timeout=60).json()["turned"]
    expected = json.loads(FILE.read_text("utf-8"))["depth"]["turned"]
    assert told == pytest.approx(expected, abs=1e-5) and told[0] < 1e-6 < 0.1 < told[-1]


def test_what_is_not_there_is_said(site, run):
    for chosen, sentence in (
        ({"step": 13}, "There is no step 13; the lesson has steps 1 to 12."),
        ({"step": 0}, "There is no step 0; the lesson has steps 1 to 12."),
        ({"layer": 4}, "There is no layer 4; choose 0 to 3."),
        ({"key": -1}, "There is no key -1; choose 0 to 8."),
        ({"seed": 241}, "There is no seat 241; choose 0 (none) to 240."),
        ({"language": "fr"}, "There is no lesson in 'fr'; choose one of en, de."),
    ):
        answer = ask(site, run, **chosen)
        assert (answer.status_code, answer.json()["message"]) == (404, sentence)


def test_a_run_with_a_head_removed_is_asked_nothing_that_runs_the_model_again(site, run):
    made = httpx.post(f"{site}viz/run/{run}/whatif/changed", json={"changes": ["h2.0"]}).json()
    told = ask(site, made["run"]["key"]).json()
    found = {each["id"] for each in told["exercises"]}
    assert {"score", "weight-of-key", "n-tokens"} <= found
    assert not {"deciding-word", "flips", "other-word", "smallest-window"} & found


def test_a_seat_has_its_sentence(site):
    told = httpx.get(f"{site}viz/learn/seat", params={"seed": 17}).json()
    one = seat(17)
    assert told == {"text": one.text, "place": one.place}
    assert one.text.split()[told["place"]["query"] - 1] == "[MASK]"
    wrong = httpx.get(f"{site}viz/learn/seat", params={"seed": 0})
    assert wrong.status_code == 404 and wrong.json()["message"].startswith("There is no seat 0")


def test_a_recorded_run_is_asked_what_can_be_read_of_it():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(24, 4, 40, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2).eval()
    with vz.record(model) as recording:
        model(torch.randn(1, 6, 24))
    trace = recording.trace(tokens=["the", "cat", "sat", "on", "a", "mat"])
    place = {"layer": 1, "head": 2, "query": 3, "key": 4}
    found = {each["id"]: each for each in exercises(asked_of(trace.parts, None, trace, **place))}
    with torch.no_grad():
        x = trace.hidden(1)
        attend = model.layers[1].self_attn
        _, maps = attend(x[None], x[None], x[None], average_attn_weights=False)
        after = model.layers[1].norm1(x + attend(x[None], x[None], x[None])[0][0])
        q = float(x[3] @ attend.in_proj_weight[12] + attend.in_proj_bias[12])  # of head 2, 6 wide
        on = int((model.layers[1].linear1(after)[3] > 0).sum())
    assert found["weight-of-key"]["answer"] == pytest.approx(float(maps[0, 2, 3, 4]), abs=1e-6)
    assert found["units-on"]["answer"] == pytest.approx(100 * on / 40)
    assert found["normed-cell"]["answer"] == pytest.approx(float(after[3, 0]), abs=1e-5)
    assert found["one-number"]["answer"] == pytest.approx(q, abs=1e-5)
    assert found["qkv-weights"]["answer"] == 3 * 24 * 24 + 72
    alone = {each["id"] for each in exercises(asked_of(None, None, trace, **place))}
    assert {"score", "weight-of-key", "key-forbidden", "n-maps"} <= alone < set(found)
    assert not {"units-on", "normed-cell", "flips", "sum-cell"} & alone
