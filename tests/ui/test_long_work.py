"""Long work: in queues of its own, in turn, with a deadline, and only while somebody waits."""

import asyncio
import json
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import gradio as gr
import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import viz_encoder as vz
from tests.coroutines import run_apart
from tests.ui.conftest import begun
from viz_encoder.errors import TooLong
from viz_encoder.model import Encoder
from viz_encoder.ui.page import make_page
from viz_encoder.ui.serve import add_routes
from viz_encoder.ui.state.limits import LOCAL, PUBLIC
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs.explore import endpoints as whatif
from viz_encoder.ui.tabs.explore import routes as attention_routes
from viz_encoder.ui.tabs.masks.tab import zoo_audit
from viz_encoder.ui.tabs.vectors import endpoints, set_items, set_runs
from viz_encoder.ui.tabs.vectors.set_items import given_items
from viz_encoder.ui.wire.bytes import download
from viz_encoder.ui.wire.concurrency import Line, Places, fair_turn, json_lines
from viz_encoder.ui.wire.endpoints import bound
from viz_encoder.ui.wire.watch import SenderLeft, watch

MODEL = "all-MiniLM-L6-v2"
LONG = {
    **dict.fromkeys(("compare_set", "compare_pictures", "attention_pooling"), "set"),
    **dict.fromkeys(("head_effects", "token_effects", "patch_effects", "flips"), "effects"),
    **dict.fromkeys(("look_up", "download_model", "cached_models"), "hub"),
    "zoo_audit": "audit",
    "corpus": "corpus",
}
MANY = [f"h{layer}.{head}" for layer in range(4) for head in range(4)] + ["m1", "t2", "l3.0:6-3"]


class Clock:
    """Seconds as a test sets them."""

    now = 0.0

    def __call__(self):
        return self.now


def test_no_long_work_stands_in_the_queue_of_runs():
    page = make_page(Runner(Models("cpu", local=True), TraceStore()))
    queues = {fn.api_name: fn.concurrency_id for fn in page.fns.values()}
    assert {name: queues[name] for name in LONG} == LONG
    assert queues["run_text"] == queues["run_picture"] == "model"
    ours = {(getattr(f.fn, "__name__", ""), f.concurrency_id) for f in page.fns.values()}
    assert {("compare_items", "set"), ("learn", "set")} <= ours


@pytest.mark.parametrize(
    ("name", "work", "most"),
    [
        ("run_text", lambda runner, key: runner.text("grammar", "the cat sees"), 1),
        ("what_if", lambda runner, key: whatif.what_if(runner, key, ["h3.0"]), 6),
        ("what_if", lambda runner, key: whatif.what_if(runner, key, MANY), 6),
        ("padding_drift", lambda runner, key: bound(runner, endpoints.padding_drift)(key, 4), 3),
        ("token_pairs", lambda runner, key: endpoints.token_pairs(runner, key, "the cat"), 2),
    ],
)
def test_what_waits_among_the_runs_takes_no_longer_than_a_few(
    monkeypatch, runner, name, work, most
):
    page = make_page(runner)
    assert {fn.concurrency_id for fn in page.fns.values() if fn.api_name == name} == {"model"}
    key = runner.text("grammar", "the keys to the cabinet [MASK] old")["key"]
    ran, forward = [], Encoder.forward

    def counted(self, *given, **named):
        ran.append(1)
        return forward(self, *given, **named)

    monkeypatch.setattr(Encoder, "forward", counted)
    work(runner, key)
    assert 1 <= len(ran) <= most  # however long the text is, and however much is changed


def test_a_run_does_not_wait_for_a_set(site, monkeypatch):
    started, go_on, ended = threading.Event(), threading.Event(), []

    def collection(*given, progress, **named):
        started.set()
        while not go_on.wait(0.02):
            progress(0, 1)
        ended.append(True)
        raise TooLong("Enough.")

    monkeypatch.setattr(set_runs, "collection", collection)
    set_answer = begun(site, "compare_set", "one\ntwo")
    with ThreadPoolExecutor(1) as pool:
        compared = pool.submit(httpx.get, set_answer, timeout=150)
        assert started.wait(120)
        try:
            said = httpx.get(begun(site, "run_text", "A cat."), timeout=150).text
            assert "event: complete" in said and not ended
        finally:
            go_on.set()
        assert "Enough." in compared.result().text


def test_a_set_stops_when_its_sender_has_left(site, monkeypatch):
    monkeypatch.setenv("GRADIO_HEARTBEAT_INTERVAL", "0.25")  # when Gradio sees who left
    left, started = threading.Event(), threading.Event()

    def collection(*given, progress, **named):
        started.set()
        try:
            while True:
                time.sleep(0.01)
                progress(0, 1)
        except SenderLeft:
            left.set()
            raise

    monkeypatch.setattr(set_runs, "collection", collection)
    with httpx.stream("GET", begun(site, "compare_set", "one\ntwo"), timeout=150):
        assert started.wait(120)
        assert not left.wait(0.5)  # while it is listened to, it goes on
    assert left.wait(60)


def test_work_goes_on_while_it_is_wanted_and_for_so_long_at_most():
    clock, wanted = Clock(), [True]
    check = watch(PUBLIC, lambda: wanted[0], clock)
    clock.now = PUBLIC.work_seconds
    check()
    wanted[0] = False
    with pytest.raises(SenderLeft):
        check()
    wanted[0], clock.now = True, PUBLIC.work_seconds + 0.1
    with pytest.raises(TooLong, match="over 60 seconds"):
        check()
    clock.now = 0.0
    on_my_machine = watch(LOCAL, clock=clock)
    clock.now = 1e6
    on_my_machine()


@pytest.fixture
def hurried(models):
    """A server on which work may take no time at all, and a run on it."""
    runner = Runner(models, TraceStore(), limits=replace(PUBLIC, work_seconds=0.0))
    key = runner.text("grammar", "the keys to the cabinet [MASK] old")["key"]
    return runner, key


LATE = "over 0 seconds, the limit for one job on this server; nothing was kept"


@pytest.mark.parametrize(
    "work",
    [
        lambda runner, key: bound(runner, whatif.flips)(key),
        lambda runner, key: bound(runner, whatif.head_effects)(key),
        lambda runner, key: bound(runner, whatif.token_effects)(key),
        lambda runner, key: whatif.patch_effects(runner, key, "the key to the cabinet [MASK] old"),
        lambda runner, _: zoo_audit(runner, "A1-multihead", seed=77),
        lambda runner, _: endpoints.attention_pooling(runner, seeds=1, steps=1),
        lambda runner, _: endpoints.compare_set(runner, "one\ntwo"),
    ],
    ids=["flips", "heads", "tokens", "patch", "audit", "training", "set"],
)
def test_every_piece_of_long_work_ends_at_the_deadline(hurried, work):
    with pytest.raises((TooLong, gr.Error), match=LATE):
        work(*hurried)


def test_pages_are_told_of_the_deadline_too(hurried):
    runner, key = hurried
    app = FastAPI()
    add_routes(app, runner)
    with TestClient(app) as page:
        lines = page.get(f"/viz/run/{key}/whatif/flips").text.splitlines()
        late = [
            json.loads(lines[-1]),
            page.get("/viz/zoo/A1-multihead?seed=78").json(),
        ]
    assert [each for each in late if LATE not in each.get("message", "")] == []


def test_a_training_ends_between_its_steps(minilm):
    told = []

    def report(share, words):
        told.append(words)
        if words.startswith("7 of"):
            raise TooLong("Enough.")

    runner = Runner(Models("cpu", own=minilm), TraceStore())
    with pytest.raises(TooLong, match="Enough"):
        set_runs.learn(runner, "", MODEL, report=report, n_seeds=1, steps=20)
    assert told[-2:] == ["6 of 60 steps", "7 of 60 steps"]  # 20 of each of three trainings
    assert not runner.sets.learned._entries


def test_a_set_of_too_many_tokens_is_refused_before_it_is_run(monkeypatch, models):
    runner = Runner(models, TraceStore(), limits=replace(PUBLIC, set_tokens=60))
    monkeypatch.setattr(set_runs, "collection", None)  # it is not called
    items = given_items("\n".join(["A cat slept here."] * 20))  # 7 tokens each
    with pytest.raises(TooLong, match=r"over 60 tokens after 9 of its 20 items"):
        set_runs.compare(runner, items, MODEL)
    pictures = set_items.example("Digits")
    with pytest.raises(TooLong, match=r"over 60 tokens after \d+ of its"):
        set_runs.compare(runner, pictures, "scene")


def test_lines_of_work_end_at_the_deadline_and_free_the_place():
    async def both():
        places = Places(1)
        short = replace(PUBLIC, work_seconds=0.05)

        def work(tell):
            while True:
                tell(0.5)
                time.sleep(0.01)

        late = [line async for line in json_lines(work, places, "a", short)]
        quick = [line async for line in json_lines(lambda tell: {"x": 1}, places, "b", short)]
        return json.loads(late[-1]), json.loads(quick[-1])

    late, quick = run_apart(both())
    assert "over 0.05 seconds" in late["message"] and quick == {"result": {"x": 1}}


def test_a_second_piece_of_one_client_lets_the_first_of_another_go_before():
    async def order():
        line, done = Line(1), []
        await line.enter("greedy")

        async def work(client):
            await line.enter(client)
            done.append(client)
            line.leave()

        waiting = [asyncio.ensure_future(work("greedy")) for _ in range(5)]
        await asyncio.sleep(0)
        waiting += [asyncio.ensure_future(work(who)) for who in ("one", "two")]
        await asyncio.sleep(0)
        waiting[3].cancel()
        line.leave()
        await asyncio.gather(*waiting, return_exceptions=True)
        return done, line._free

    done, free = run_apart(order())
    assert done == ["greedy", "one", "two", "greedy", "greedy", "greedy"] and free == 1


@pytest.mark.parametrize(
    ("waiting", "client", "place"),
    [("", "a", 0), ("a", "a", 1), ("aaa", "b", 1), ("abab", "c", 2), ("abaa", "b", 3)],
)
def test_clients_take_turns(waiting, client, place):
    assert fair_turn(list(waiting), client) == place


def test_files_are_made_one_at_a_time_and_wait_on_disk(site, key, monkeypatch):
    made, at_work, most = attention_routes.named_file, [], []

    def named_file(*given):
        at_work.append(1)
        most.append(len(at_work))
        answer = made(*given)
        at_work.pop()
        return answer

    monkeypatch.setattr(attention_routes, "named_file", named_file)
    url = f"{site}viz/run/{key}/take/csv?layer=0&head=1"
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: httpx.get(url, timeout=150), range(8)))
    assert max(most) == 1 and len(most) == 8
    assert {answer.content for answer in answers} == {answers[0].content}
    assert int(answers[0].headers["content-length"]) == len(answers[0].content) > 50


def test_a_file_that_waits_for_its_client_holds_no_memory():
    tracemalloc.start()
    try:
        waiting = [download(bytes(4_000_000), "run.npz") for _ in range(10)]
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 4_000_000
    assert waiting[0].headers["content-length"] == "4000000"


def test_a_strangers_saved_run_is_refused_where_its_maps_would_take_long(tmp_path, models, grammar):
    trace = vz.capture(grammar, "the keys [MASK]")
    trace.save(path := tmp_path / "run.safetensors")
    cells = 16 * trace.n_tokens**2
    made = Runner(models, TraceStore(), limits=replace(PUBLIC, saved_cells=cells))
    assert made.saved(str(path))["tokens"] == list(trace.tokens)
    strict = replace(made, limits=replace(PUBLIC, saved_cells=cells - 1))
    with pytest.raises(
        TooLong, match=f"have {cells} cells; this server computes up to {cells - 1}"
    ):
        strict.saved(str(path))
    assert replace(made, limits=LOCAL).saved(str(path))
