"""Headers of every answer: nothing of another server is loaded, and no page frames this one."""

import httpx
import pytest

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
