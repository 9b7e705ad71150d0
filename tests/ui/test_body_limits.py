"""Bodies: counted as they come, and refused before anything parses them."""

import asyncio
import http.client
import json
import logging
from dataclasses import replace

import httpx
import pytest

from tests.coroutines import run_apart
from viz_encoder.ui.state.limits import LOCAL, PUBLIC
from viz_encoder.ui.wire.body_limits import BodyLimits

SMALL = replace(PUBLIC, upload_bytes=30_000, values=100, bodies_bytes=1_500_000)
JSON = {"content-type": "application/json"}


class Parsed:
    """An app that says how many bytes it was given; each of its answers waits for `done`."""

    def __init__(self):
        self.bodies, self.done = [], None

    async def __call__(self, scope, receive, send):
        content, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RuntimeError("the client has gone")
            content, more = content + message["body"], message.get("more_body", False)
        self.bodies.append(content)
        if self.done is not None:
            await self.done.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})


async def post(app, path, content):
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        return await client.post(path, content=content)


async def parts(count, size=1000):
    """A body of no declared length."""
    for _ in range(count):
        yield b"x" * size


@pytest.mark.parametrize(
    "path", ["/gradio_api/queue/join", "/gradio_api/upload", "/viz/open/saved"]
)
def test_a_body_over_the_limit_never_reaches_the_app(path):
    app, whole = Parsed(), SMALL.body_bytes if "join" in path else 30_000 + 2**16
    guard = BodyLimits(app, SMALL)
    for content in (b"x" * (whole + 1), parts(whole // 1000 + 1)):
        answer = run_apart(post(guard, path, content))
        assert answer.status_code == 413 and f"at most {whole:,} bytes" in answer.json()["detail"]
    assert app.bodies == []
    assert run_apart(post(guard, path, b"x" * whole)).text == "ok"
    assert [len(body) for body in app.bodies] == [whole]


@pytest.mark.parametrize(
    ("content", "taken"),
    [
        (b'{"data": [' + b"[]," * 40 + b"[]]}", True),
        (b'{"data": [' + b"[]," * 60 + b"[]]}", False),
        (json.dumps({"data": ["a, [b], {c}, " * 1000]}).encode(), True),
        (json.dumps({"data": ['say "yes", \\", [and], \\' * 1000]}).encode(), True),
        (json.dumps({"data": [str(n) for n in range(200)]}).encode(), False),
        (b'"' + rb"\"" * 500_000, True),  # which is no JSON: refused by who parses it
    ],
)
def test_values_are_counted_and_not_what_texts_hold(content, taken):
    app = Parsed()
    answer = run_apart(post(BodyLimits(app, SMALL), "/gradio_api/queue/join", content))
    assert (answer.status_code, app.bodies) == ((200, [content]) if taken else (413, []))
    if not taken:
        assert "over 100 JSON values" in answer.json()["message"]


def test_bodies_of_all_requests_together_have_a_limit():
    async def many():
        app = Parsed()
        guard, app.done = BodyLimits(app, SMALL), asyncio.Event()
        first = asyncio.create_task(post(guard, "/run", b"x" * 10**6))
        while not app.bodies:
            await asyncio.sleep(0)
        try:
            async with asyncio.timeout(20):  # taken, it would wait for `done` too
                refused = await post(guard, "/run", b"x" * 10**6)
        finally:
            app.done.set()
        taken = await first
        return refused, taken, await post(guard, "/run", b"x" * 10**6)

    refused, taken, later = run_apart(many())
    assert (refused.status_code, taken.status_code, later.status_code) == (503, 200, 200)
    assert "again" in refused.json()["detail"] and refused.headers["retry-after"]


def test_a_refusal_is_one_line_in_the_log(caplog):
    with caplog.at_level(logging.WARNING):
        run_apart(post(BodyLimits(Parsed(), SMALL), "/run%0A" + "x" * 9000, b"[" * 200))
    (record,) = caplog.records
    assert "\n" not in record.getMessage() and len(record.getMessage()) < 400


def test_the_server_refuses_24_mb_of_values_at_once(site):
    content = b'{"data": [' + b"[]," * 8_000_000 + b"[]]}"
    answer = httpx.post(f"{site}gradio_api/call/run_text", content=content, headers=JSON)
    assert answer.status_code == 413 and f"{LOCAL.values:,} JSON values" in answer.json()["detail"]
    assert answer.elapsed.total_seconds() < 5  # 39 s and 1.8 GB where it was parsed


def test_the_server_refuses_a_body_by_its_length(site):
    server = http.client.HTTPConnection(httpx.URL(site).host, httpx.URL(site).port, timeout=20)
    server.putrequest("POST", "/gradio_api/queue/join")
    server.putheader("content-length", str(LOCAL.body_bytes + 1))
    server.endheaders()
    answer = server.getresponse()
    assert answer.status == 413
    assert f"at most {LOCAL.body_bytes:,} bytes" in json.load(answer)["detail"]
    server.close()
