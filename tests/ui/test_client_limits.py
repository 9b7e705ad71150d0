"""Clients: told apart by address, in turn, so many requests a second and waiting of each."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from tests.coroutines import run_apart
from tests.ui.conftest import serving
from viz_encoder.ui.page import make_page
from viz_encoder.ui.serve import ServerSettings, make_app
from viz_encoder.ui.state.expiring_store import CLIENT
from viz_encoder.ui.state.limits import LOCAL, MB, PUBLIC
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.wire import run_facts
from viz_encoder.ui.wire.clients import (
    REMEMBERED,
    ClientLimits,
    Gates,
    behind_proxy,
    forwarded,
    named,
)
from viz_encoder.ui.wire.queue import take_turns


async def ok(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["client"][0].encode()})


async def get(app, client="9.9.9.9", path="/viz/first", **headers):
    transport = httpx.ASGITransport(app, client=(client, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as asked:
        return await asked.get(path, headers=headers)


def test_a_client_is_refused_after_its_burst_and_others_are_not():
    now = [0.0]
    guard = ClientLimits(ok, replace(PUBLIC, client_burst=5, client_rate=2.0), lambda: now[0])

    async def ask():
        answers = [await get(guard) for _ in range(6)]
        other, file = await get(guard, "8.8.8.8"), await get(guard, path="/viz/static/a/b.js")
        now[0] = 1.0
        soon = [await get(guard) for _ in range(3)]
        now[0] = 1e6
        return answers, other, file, soon, [await get(guard) for _ in range(6)]

    answers, other, file, soon, later = run_apart(ask())
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert "Too many" in answers[-1].json()["detail"] and answers[-1].headers["retry-after"] == "1"
    assert other.status_code == file.status_code == 200
    assert [answer.status_code for answer in soon] == [200, 200, 429]
    assert [answer.status_code for answer in later] == [200] * 5 + [429]  # no more after any pause


def test_so_many_requests_of_one_client_are_open_at_a_time():
    async def ask():
        go_on = asyncio.Event()

        async def app(scope, receive, send):
            await go_on.wait()
            await ok(scope, receive, send)

        guard = ClientLimits(app, replace(PUBLIC, client_open=3))
        held = [asyncio.ensure_future(get(guard)) for _ in range(3)]
        await asyncio.sleep(0)
        while sum(spent.open for spent in guard.clients.values()) < 3:
            await asyncio.sleep(0)
        try:
            async with asyncio.timeout(20):  # one that is let in waits as the others do
                refused = await get(guard)
        finally:
            go_on.set()
        await asyncio.gather(*held)
        return refused.status_code, (await get(guard)).status_code

    assert run_apart(ask()) == (429, 200)


def test_clients_that_came_and_went_are_forgotten():
    guard = ClientLimits(ok, PUBLIC)
    for number in range(REMEMBERED + 50):
        guard._spent(str(number), 1.0)
    assert len(guard.clients) == REMEMBERED


def test_on_ones_own_machine_nothing_is_counted():
    guard = ClientLimits(ok, LOCAL)
    assert run_apart(get(guard)).status_code == 200 and not guard.clients
    assert (LOCAL.client_runs, LOCAL.client_long, LOCAL.work_seconds) == (None, None, None)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("testclient", "testclient"),
    ],
)
def test_a_client_is_its_address_or_its_network(address, name):
    assert named(address) == name


@pytest.mark.parametrize(
    ("told", "client"),
    [
        (["8.8.4.4"], "8.8.4.4"),
        (["1.2.3.4, 8.8.4.4"], "8.8.4.4"),  # the client wrote the first itself
        (["1.2.3.4", "8.8.4.4, 10.0.0.7"], "8.8.4.4"),
        (["192.168.1.2"], "192.168.1.2"),
        (["nonsense, <b>"], ""),
        ([], ""),
    ],
)
def test_a_proxys_word_for_a_client(told, client):
    headers = [(b"x-forwarded-for", value.encode()) for value in told]
    assert forwarded({"headers": headers}) == client


def test_a_header_is_believed_only_where_a_proxy_is_said_to_be():
    forged = {"x-forwarded-for": "8.8.4.4"}
    assert run_apart(get(Gates(ok, (behind_proxy,)), **forged)).text == "8.8.4.4"
    assert run_apart(get(Gates(ok, (behind_proxy,)))).text == "9.9.9.9"
    guard = ClientLimits(ok, replace(PUBLIC, client_burst=1, client_rate=0.001))
    assert run_apart(get(guard, **forged)).status_code == 200
    assert run_apart(get(guard, **{"x-forwarded-for": "8.8.4.5"})).status_code == 429


def test_uvicorn_itself_does_not_believe_the_header():
    with serving(ok) as site:
        assert httpx.get(site, headers={"x-forwarded-for": "8.8.4.4"}).text == "127.0.0.1"


@pytest.mark.parametrize("trusted", [False, True])
def test_a_public_server_counts_and_behind_a_proxy_each_client_apart(monkeypatch, trusted):
    few = replace(PUBLIC, client_burst=2, client_rate=0.001)
    monkeypatch.setattr(ServerSettings, "limits", few)
    app = make_app(ServerSettings(device="cpu", public=True, trust_proxy=trusted))
    (gates,) = (each.args[0] for each in app.user_middleware if each.cls is Gates)
    assert (gates[0] is behind_proxy) == trusted and gates.count(behind_proxy) == trusted
    asked = TestClient(app, base_url="http://127.0.0.1")
    forged = [{"x-forwarded-for": f"8.8.4.{client}"} for client in (1, 2, 3, 1, 1)]
    found = [asked.get("/viz/nowhere", headers=each).status_code for each in forged]
    assert found == ([404] * 4 + [429] if trusted else [404] * 2 + [429] * 3)


@pytest.fixture
def queue():
    """Gradio's queue, with 3 places for runs of a client, 2 for its long work, and 6 in all."""
    page = make_page(Runner(Models("cpu"), TraceStore()))
    page.queue(default_concurrency_limit=1, max_size=None)
    take_turns(page, replace(PUBLIC, client_runs=3, client_long=2, queue_places=6))
    return Waiting(page)


class Waiting:
    """What asks for places in a queue that nothing leaves."""

    def __init__(self, page):
        self.page = page
        self.numbers = {fn.api_name: number for number, fn in page.fns.items()}

    async def ask(self, client, name):
        from fastapi import Request
        from gradio.data_classes import PredictBodyInternal

        scope = {"type": "http", "method": "POST", "path": "/join", "headers": []}
        request = Request({**scope, "client": (client, 1), "query_string": b""})
        body = PredictBodyInternal(fn_index=self.numbers[name], data=[], request=None)
        return await self.page._queue.push(body, request, None)

    def clients(self, name):
        waiting = self.page._queue.event_queue_per_concurrency_id[name].queue
        return [event.request.client.host for event in waiting]


def test_places_in_the_queues_of_each_client_and_in_all(queue, caplog):
    async def ask():
        runs = [await queue.ask("greedy", "run_text") for _ in range(4)]
        sets = [await queue.ask("greedy", "compare_set") for _ in range(3)]
        others = [await queue.ask(who, "run_text") for who in "abcd"]
        return [[answer[2] for answer in each] for each in (runs, sets, others)], runs[3][1]

    found, said = run_apart(ask())
    assert found == [
        ["success"] * 3 + ["queue_full"],
        ["success"] * 2 + ["queue_full"],  # the runs that wait take none of its places
        ["success"] * 3 + ["queue_full"],
    ]
    assert said.startswith("You already have 3 requests waiting")
    assert queue.clients("model") == ["greedy", "a", "b", "c", "greedy", "greedy"]
    assert [r.getMessage().split(":")[0] for r in caplog.records] == [
        f"503 POST '/join' from '{who}'" for who in ("greedy", "greedy", "d")
    ]


def test_whoever_is_moved_back_is_told_the_new_place(queue, monkeypatch):
    told = {}

    def tell(event, message):
        told[event._id] = message.rank, message.queue_size

    monkeypatch.setattr(queue.page._queue, "send_message", tell)

    async def ask():
        for who in ("greedy", "greedy", "greedy", "visitor"):
            await queue.ask(who, "run_text")

    run_apart(ask())
    waiting = queue.page._queue.event_queue_per_concurrency_id["model"].queue
    assert queue.clients("model") == ["greedy", "visitor", "greedy", "greedy"]
    assert [told[event._id][0] for event in waiting] == [0, 1, 2, 3]
    assert [told[event._id][1] for event in waiting[1:]] == [4, 4, 4]


def test_what_a_client_has_made_is_known_as_its_own(site, client, monkeypatch):
    seen = []
    monkeypatch.setattr(Runner, "text", lambda *given: seen.append(CLIENT.get()) or {})
    client.predict("A cat.", api_name="/run_text")
    monkeypatch.setattr(run_facts, "restore", lambda *given: seen.append(CLIENT.get()) or {})
    httpx.post(f"{site}viz/open/link", json={"a": "A cat."}, timeout=60)
    assert seen == ["127.0.0.1"] * 2


def test_security_md_promises_these_numbers():
    told = " ".join((Path(__file__).parents[2] / "SECURITY.md").read_text("utf-8").split())
    promised = (
        f"A file may have at most {PUBLIC.upload_bytes // MB} MB "
        f"({LOCAL.upload_bytes // MB} MB on your own machine);",
        f"any other request, {PUBLIC.body_bytes / MB:.1f} MB and {PUBLIC.values:,} JSON values "
        f"({LOCAL.values:,} on your own machine). All of these being read at once may have "
        f"{PUBLIC.bodies_bytes // MB} MB together.",
        f"Headers must arrive within {PUBLIC.header_seconds:g} seconds, and a body within "
        f"{PUBLIC.body_seconds:g} plus one second for each {PUBLIC.body_rate:,} bytes",
        f"may send {PUBLIC.client_rate:g} requests a second, {PUBLIC.client_burst:,} at once after "
        f"a pause, and have {PUBLIC.client_open} open.",
        f"In the queue of runs, {PUBLIC.client_runs} of its requests may wait; in each queue of "
        f"long work, {PUBLIC.client_long}. Each queue has {PUBLIC.queue_places} places.",
        f"at most {PUBLIC.set_items} items and {PUBLIC.set_tokens:,} tokens. Such work ends after "
        f"{PUBLIC.work_seconds:g} seconds, or when its client has left.",
        f"A corpus on the page may have at most {PUBLIC.corpus_texts:,} texts (on your own machine "
        f"too) and {PUBLIC.set_tokens:,} tokens, and a table of heads "
        f"{PUBLIC.table_bytes // MB} MB ({LOCAL.table_bytes // MB} MB on your own machine).",
        f"may have at most {PUBLIC.built_weights // MB} million weights "
        f"({LOCAL.built_weights // MB} million on your own machine)",
        f"may have at most {PUBLIC.saved_cells / (1_000 * MB):g} billion cells in all",
    )
    assert [each for each in promised if each not in told] == []
    assert len(promised) == 9
    assert PUBLIC.corpus_texts == LOCAL.corpus_texts
    assert LOCAL.saved_cells is None
    assert LOCAL.packed_tables and not PUBLIC.packed_tables
    assert PUBLIC.header_seconds == LOCAL.header_seconds and PUBLIC.body_rate == LOCAL.body_rate
    assert ServerSettings().limits == LOCAL and ServerSettings(public=True).limits == PUBLIC


def test_the_proxy_of_the_docs_replaces_the_header_and_refuses_before_this_server_would():
    text = (Path(__file__).parents[2] / "docs" / "server.md").read_text()
    (size,) = re.findall(r"client_max_body_size (\d+)m;", text)
    assert PUBLIC.upload_bytes * 4 / 3 < int(size) * 2**20 < PUBLIC.body_bytes
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in text
