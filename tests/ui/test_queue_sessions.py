"""The queue goes on when a session is gone or has no name; who waits is told the place."""

import asyncio
import logging
import re
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


NOTE = ".viz-page-note:not([hidden])"


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


def run(opened, text: str) -> None:
    if opened.page.is_visible(".viz-to-form"):  # where one line stands for the form
        opened.page.click(".viz-to-form")
    opened.page.fill("#viz-text-a textarea", text)
    opened.page.click("#viz-run")


@pytest.fixture(scope="module")
def pages(visit_once):
    """The pages of three people."""
    pages = [visit_once() for _ in range(3)]
    for opened in pages:
        opened.painted()
    return pages


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 390])
def test_who_waits_sees_the_place_and_the_seconds_over_the_old_map(pages, held, width):
    begun, go_on = held
    go_on.set()
    for opened in pages:
        opened.page.set_viewport_size({"width": width, "height": 1000})
    first, second, third = pages
    run(first, f"how long a run takes is known from now on at {width}")
    known = "known => vizTab.run?.link.a.endsWith(known)"
    first.page.wait_for_function(known, arg=f" {width}", timeout=60_000)
    go_on.clear()
    begun.clear()
    run(first, f"a first text at {width}")
    assert begun.wait(60)
    run(second, f"a second text at {width}")
    second.page.wait_for_selector(f"{NOTE}:has-text('place 1 of 1, ')", timeout=20_000)
    said = second.page.inner_text(NOTE)  # the estimate is of the runs before, here of a short one
    assert re.fullmatch(r"Waiting .* of 1, (about \d+ s left|longer than expected)\.", said)
    run(third, f"a third text at {width}")
    third.page.wait_for_selector(f"{NOTE}:has-text('place 2 of 2')", timeout=20_000)
    assert not first.page.is_visible(NOTE)  # it runs, and does not wait
    assert second.page.evaluate("vizTab.run.tokens.length") > 4  # the old run's map is still there
    box = third.page.locator(NOTE).bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] + box["height"] <= 1000
    go_on.set()
    for opened, word in zip(pages, ("first", "second", "third"), strict=True):
        opened.page.wait_for_function(known, arg=f"{word} text at {width}", timeout=60_000)
        opened.page.wait_for_selector(NOTE, state="hidden")
