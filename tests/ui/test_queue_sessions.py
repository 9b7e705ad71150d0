"""The queue goes on when a session is gone or has no name; who waits is told the place."""

import asyncio
import logging
import threading

import httpx
import pytest

from tests.coroutines import run_apart
from tests.slow import slow
from viz_encoder.ui.serve import ServerSettings, make_app
from viz_encoder.ui.state.runner import Runner

TEXT = ["the keys are old", "grammar"]


@pytest.fixture
def app():
    """A server whose queue has not begun."""
    return make_app(ServerSettings(device="cpu", port=0))


@pytest.fixture
def queue(app):
    """Its queue."""
    return app.routes[-1].app.get_blocks()._queue


class Visitor:
    """Who asks the server, within one event loop."""

    def __init__(self, app):
        page = app.routes[-1].app.get_blocks()
        self.run_text = next(n for n, each in page.fns.items() if each.api_name == "run_text")
        transport = httpx.ASGITransport(app)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    async def begin(self):
        await self.client.get("/gradio_api/startup-events")

    async def join(self, session):
        sent = {"data": TEXT, "fn_index": self.run_text, "session_hash": session}
        return await self.client.post("/gradio_api/queue/join", json=sent)

    async def result(self, session):
        async with asyncio.timeout(20):  # of a queue that has ended, nothing comes
            return (await self.client.get(f"/gradio_api/queue/data?session_hash={session}")).text

    async def called(self, **more):
        return await self.client.post("/gradio_api/call/run_text", json={"data": TEXT, **more})


@pytest.mark.parametrize("name", ["", slow("x" * 101), slow("\N{SNOWMAN}")])
def test_a_session_without_a_name_is_refused_and_others_are_served(app, queue, caplog, name):
    async def ask():
        visitor = Visitor(app)
        await visitor.begin()
        refused = await visitor.join(name), await visitor.called(session_hash=name)
        lines = [each.getMessage() for each in caplog.records]
        await visitor.join("other")
        return refused, lines, await visitor.result("other"), queue.stopped

    with caplog.at_level(logging.WARNING):
        refused, lines, result, stopped = run_apart(ask())
    assert [each.status_code for each in refused] == [422, 422]
    assert all("1 to 100 ASCII characters" in each.json()["detail"] for each in refused)
    assert len(lines) == 2 and all(line.startswith("422 POST") for line in lines)
    assert '"success":true' in result and not stopped


def test_a_session_that_is_gone_ends_nothing_and_is_not_run(app, queue):
    async def ask():
        visitor = Visitor(app)
        joined = [(await visitor.join(name)).json()["event_id"] for name in ("a", "gone", "b")]
        del queue.pending_messages_per_session["gone"]
        await visitor.begin()
        results = [await visitor.result(name) for name in ("a", "b")]
        return joined, results, queue.stopped

    joined, results, stopped = run_apart(ask())
    assert all('"success":true' in result for result in results) and not stopped
    assert queue.event_analytics[joined[1]]["status"] == "cancelled"


def test_whoever_waits_is_not_dropped_for_those_who_came_later(app, queue):
    sessions = queue.pending_messages_per_session
    sessions.max_size = 3

    async def ask():
        visitor = Visitor(app)
        await visitor.join("waits")
        sessions["old"] = sessions["older"] = None
        await visitor.join("new")

    run_apart(ask())
    assert list(sessions) == ["older", "waits", "new"]


def test_what_could_not_be_taken_does_not_wait(app, queue, monkeypatch):
    def broken(*_):
        raise RuntimeError("planted")

    monkeypatch.setattr(queue, "broadcast_estimations", broken)

    async def ask():
        visitor = Visitor(app)
        return await visitor.join("a"), await visitor.called()

    assert [each.status_code for each in run_apart(ask())] == [500, 500]
    assert len(queue) == 0 and not queue.event_ids_to_events


@pytest.fixture
def held(monkeypatch):
    """Runs that begin, and end only once the event is set."""
    go_on, begun, run = threading.Event(), threading.Event(), Runner.run

    def wait(self, *given, **named):
        begun.set()
        assert go_on.wait(60)
        return run(self, *given, **named)

    monkeypatch.setattr(Runner, "run", wait)
    yield begun, go_on
    go_on.set()


@pytest.mark.slow
def test_who_waits_sees_the_place_over_the_old_map(visit, held):
    begun, go_on = held
    go_on.set()
    pages = [visit().painted() for _ in range(2)]
    go_on.clear()
    for number, page in enumerate(pages):
        page.fill("#viz-text-a textarea", f"text {number}")
        page.click("#viz-run")
        assert begun.wait(60)
    pages[1].wait_for_selector("text=queue: 1/1", timeout=20_000)
    assert pages[1].evaluate("vizTab.run.tokens.length") > 4  # the old run's map is still there
    go_on.set()
    for number, page in enumerate(pages):
        known = f"vizTab.run?.link.a === 'text {number}'"
        page.wait_for_function(known, timeout=60_000)
