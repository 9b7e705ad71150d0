"""Headers of every answer, and whose Host is taken: nothing of another server is loaded."""

import logging

import httpx
import pytest
from fastapi.testclient import TestClient

from viz_encoder.ui.serve import ServerSettings, make_app
from viz_encoder.ui.wire.security_headers import NOTEBOOKS, SPACES, SecurityHeaders


def policy_of(answer):
    parts = (part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    return dict(parts)


@pytest.mark.parametrize(
    "path", ["", "viz/first", "viz/plotly.min.js", "config", "nowhere", "viz/set/x/table"]
)
def test_every_answer_says_what_is_allowed(site, path):
    answer = httpx.get(site + path, timeout=60)
    policy = policy_of(answer)
    assert policy["default-src"] == policy["connect-src"] == "'self'"
    assert policy["object-src"] == policy["frame-ancestors"] == "'none'"
    assert not any("*" in part or "http" in part for part in policy.values())
    assert "unsafe-inline" not in policy["script-src"]
    assert ("sha256-" in policy["script-src"]) == (path == "")  # the page's own alone
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("framed_by", [SPACES, NOTEBOOKS])
def test_only_who_is_named_may_frame_the_page(framed_by):
    sent = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        sent.append(message)

    guard = SecurityHeaders(app, framed_by)
    with pytest.raises(StopIteration):
        guard({"type": "http"}, None, send).send(None)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    assert headers["content-security-policy"].endswith("frame-ancestors " + " ".join(framed_by))
    assert "x-frame-options" not in headers


LOCAL = ServerSettings(device="cpu")
PROXIED = ServerSettings(device="cpu", public=True, trust_proxy=True)


@pytest.fixture(scope="module", params=[LOCAL, PROXIED], ids=["local", "proxied"])
def server(request):
    return request.param, TestClient(make_app(request.param), "http://127.0.0.1")


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("127.0.0.1", True),
        ("LOCALHOST:7860", True),
        ("hub.test:8000", False),
        ("127.0.0.1.e.test", False),
        ("", False),
        ("e\n" + "e" * 9000, False),
    ],
)
def test_another_host_is_told_the_cure(server, caplog, host, ours):
    settings, client = server
    with caplog.at_level(logging.WARNING):
        answer = client.get("/viz/zoo", headers={"host": host})
    if ours or settings is PROXIED:
        assert answer.status_code == 200 and not caplog.records
        return
    assert answer.status_code == 400
    assert "--public --trust-proxy" in answer.json()["message"]
    (record,) = caplog.records
    line = record.getMessage()
    assert line.startswith("400 GET '/viz/zoo'") and "\n" not in line and len(line) < 400


def test_a_proxy_that_is_trusted_gives_no_name_to_ones_own_server():
    client = TestClient(
        make_app(ServerSettings(device="cpu", trust_proxy=True)), "http://127.0.0.1"
    )
    assert client.get("/viz/zoo", headers={"host": "viz.example"}).status_code == 400
