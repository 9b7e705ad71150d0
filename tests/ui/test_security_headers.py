"""Headers of every answer: nothing of another server is loaded, and no page frames this one."""

import httpx
import pytest

from viz_encoder.ui.wire.security_headers import NOTEBOOKS, SPACES, SecurityHeaders

TABS = ("explore", "hidden", "pooling", "masks", "zoo")
# What an attacker would try, and the directive that keeps it from working.
TRIED = {
    "img-src": "new Image().src = 'https://elsewhere.test/x.png'",
    "connect-src": "fetch('https://elsewhere.test/').catch(() => 0)",
    "script-src-elem": "document.head.append(Object.assign(document.createElement('script'), "
    "{ src: 'https://elsewhere.test/x.js' }))",
    "frame-src": "document.body.append(Object.assign(document.createElement('iframe'), "
    "{ src: 'https://elsewhere.test/' }))",
    "script-src-attr": "document.body.insertAdjacentHTML('beforeend', "
    "'<img src=x: onerror=window.ran=1>')",
    "form-action": "{ const f = document.createElement('form'); f.action = "
    "'https://elsewhere.test/'; document.body.append(f); f.submit(); }",
}


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


def test_no_tab_needs_more_and_what_is_not_allowed_is_stopped(visit):
    opened = visit()  # which fails on anything that the console reports
    page = opened.page
    opened.painted()
    for name in TABS:
        opened.imported("core/tab_link.js", "m.openTab(given)", name)
        page.wait_for_selector(f"#viz-tab-{name} .viz-root > *", state="attached")
        if name == "explore":
            page.click("text=Any view as a Plotly figure")
            page.wait_for_selector(".viz-any .main-svg", state="attached")
    assert opened.faults == []
    page.evaluate(
        "addEventListener('securitypolicyviolation', "
        "e => (window.violated ??= []).push(e.effectiveDirective))"
    )
    for directive, attempt in TRIED.items():
        page.evaluate(f"() => {{ {attempt} }}")
        page.wait_for_function("name => window.violated?.includes(name)", arg=directive)
    assert page.evaluate("window.ran === undefined")
    assert sum("Content Security Policy" in said for said in opened.faults) >= len(TRIED)
    opened.faults.clear()
