"""same_origin: what a page of another site has a browser send is refused, in every mode."""

import re

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser

from tests.coroutines import run_apart
from tests.slow import slow, slow_but
from tests.ui.other_site import ATTACK, SENT, other_site, uploads, watched_server
from tests.ui.routes import Route, every_route
from viz_encoder.ui.serve import ServerSettings, make_app
from viz_encoder.ui.wire.clients import Gates, behind_proxy, no_proxy
from viz_encoder.ui.wire.same_origin import same_origin
from viz_encoder.ui.wire.security_headers import NOTEBOOKS, SPACES

OURS = "http://127.0.0.1:7860"
NAVIGATE = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
MODES = {
    "local": ServerSettings(device="cpu"),
    "launch": ServerSettings(device="cpu", framed_by=NOTEBOOKS),
    "class": ServerSettings(device="cpu", public=True, room=True, host="0.0.0.0"),
    "public": ServerSettings(device="cpu", public=True),
    "a Space": ServerSettings(device="cpu", public=True, trust_proxy=True, framed_by=SPACES),
}


def site(value, **more):
    return {"sec-fetch-site": value, **more}


PROXY = site("same-origin", origin="https://hub.test", host="localhost:7860")
SPACE = site("same-origin", origin="https://a-b.hf.space", host="a-b.hf.space")
ELSEWHERE = {"origin": "http://e.test"}
CROSS = site("cross-site", **ELSEWHERE)
TAKEN = [  # what goes on working
    ("a client that is no browser", "POST", "/gradio_api/upload", {}),
    ("the page itself", "POST", "/viz/closed", site("same-origin", origin=OURS)),
    ("an address that was typed", "GET", "/viz/first", site("none", **NAVIGATE)),
    ("an old browser", "POST", "/viz/closed", {"origin": OURS}),
    ("a usual port that is named", "POST", "/x", {"origin": "http://h", "host": "h:80"}),
    ("TLS ends before us", "POST", "/x", {"origin": "https://h", "host": "h"}),
    ("letters of either case", "POST", "/x", {"origin": "http://hub.test", "host": "Hub.Test"}),
    ("a link", "GET", "/", site("cross-site", **NAVIGATE)),
    ("a link from another port", "GET", "/", site("same-site", **NAVIGATE)),
    ("a frame", "GET", "/", site("cross-site", **NAVIGATE | {"sec-fetch-dest": "iframe"})),
    ("a proxy, which sends a Host of its own", "POST", "/gradio_api/queue/join", PROXY),
    ("a Space's page in its frame", "POST", "/gradio_api/queue/join", SPACE),
    ("a link, old", "GET", "/", {"referer": "http://e.test/"}),
    ("the page itself, old", "GET", "/viz/first", {"referer": f"{OURS}/?a=b"}),
    ("no referrer of a page", "GET", "/viz/first", site("same-origin", origin="null")),
]
REFUSED = [
    ("fetch without CORS", "POST", "/gradio_api/upload", CROSS),
    ("a picture", "GET", "/viz/zoo/A1-multihead", site("cross-site")),
    ("a picture, old", "GET", "/viz/zoo/A1-multihead", {"referer": "http://e.test/"}),
    ("a script", "GET", "/viz/first", site("cross-site", **{"sec-fetch-mode": "no-cors"})),
    ("an old browser", "POST", "/viz/open/link", {"origin": "http://e.test"}),
    ("another port", "GET", "/viz/first", site("same-site", origin="http://127.0.0.1:8000")),
    ("another port, old", "POST", "/viz/closed", {"origin": "http://127.0.0.1:8000"}),
    ("another name of ours", "POST", "/viz/closed", {"origin": "http://localhost:7860"}),
    ("a sandbox or a file", "POST", "/viz/closed", {"origin": "null"}),
    ("no web site", "POST", "/viz/closed", {"origin": "chrome-extension://127.0.0.1:7860"}),
    ("a name that begins as ours", "POST", "/x", {"origin": "http://127.0.0.1:7860.e.test"}),
    ("a name behind ours", "POST", "/x", {"origin": "http://127.0.0.1:7860@e.test"}),
    ("the page's text", "GET", "/", site("cross-site", **{"sec-fetch-mode": "no-cors"})),
    ("the page's text, old", "GET", "/", {"origin": "http://e.test"}),
    ("a form", "POST", "/", site("cross-site", **NAVIGATE)),
    ("a link to something else", "GET", "/config", site("cross-site", **NAVIGATE)),
    ("a word that is none yet", "POST", "/viz/closed", site("nearby", origin=OURS)),
    ("a name of a visitor's", "POST", "/x", {**ELSEWHERE, "x-forwarded-host": "e.test"}),
]


@pytest.fixture(scope="module", params=slow_but(["local", "public", "a Space"], MODES))
def server(request):
    app = make_app(MODES[request.param])
    return app, TestClient(app, OURS, client=("9.9.9.9", 1))


def only(app):
    return Gates(app, (same_origin,))


def asked(method, path, headers, wrapped=only, kind="http"):
    """The scope that reached the app, or the refusal's messages."""
    reached, sent = [], []

    async def app(scope, receive, send):
        reached.append(scope)

    async def send(message):
        sent.append(message)

    pairs = {"host": "127.0.0.1:7860", **headers}
    scope = {"type": kind, "path": path, "client": ("9.9.9.9", 1), "query_string": b""}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in pairs.items()]
    run_apart(wrapped(app)(scope | ({"method": method} if kind == "http" else {}), None, send))
    return (reached[0] if reached else None), sent


def guarded(app):
    """As a server without a proxy has it."""
    return Gates(app, (no_proxy, same_origin))


@pytest.mark.parametrize(
    ("method", "path", "headers"), [r[1:] for r in TAKEN], ids=[r[0] for r in TAKEN]
)
def test_what_is_ours_is_taken(method, path, headers):
    reached, sent = asked(method, path, headers, guarded)
    assert reached is not None and sent == []


@pytest.mark.parametrize(
    ("method", "path", "headers"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_what_another_site_sends_is_refused(method, path, headers, caplog):
    reached, sent = asked(method, path, headers, guarded)
    assert reached is None and sent[0]["status"] == 403
    assert b"A page of another site sent this request" in sent[1]["body"]
    (line,) = caplog.messages
    assert line.startswith(f"403 {method} '{path}' from '9.9.9.9': A page of another site")


def test_one_foreign_word_among_several_is_enough():
    def twice(name, value):
        def with_both(app):
            async def call(scope, receive, send):
                scope["headers"].append((name, value))
                await only(app)(scope, receive, send)

            return call

        return with_both

    both = twice(b"sec-fetch-site", b"cross-site")
    assert asked("POST", "/x", site("same-origin"), both)[0] is None
    assert asked("POST", "/x", {"origin": OURS}, twice(b"origin", b"http://e.test"))[0] is None


def test_a_proxy_that_is_trusted_names_the_server():
    named = {"origin": "https://viz.test", "x-forwarded-host": "viz.test, inner"}
    assert asked("POST", "/x", named)[0] is not None
    assert asked("POST", "/x", named, guarded)[0] is None
    assert asked("POST", "/x", named | {"origin": "https://e.test"})[0] is None


@pytest.mark.parametrize(
    ("referer", "seen"),
    [
        ({"referer": "https://hub.test:8443/a/proxy/7860/?a=b/c"}, b"hub.test:8443/a/proxy/7860"),
        ({"referer": "https://hub.test:8443/?a=b/c"}, b"hub.test:8443"),
        ({}, b"hub.test:8443"),
    ],
)
def test_gradio_sees_no_origin_and_writes_addresses_as_the_browser_sees_the_server(referer, seen):
    sent = site("same-origin", origin="https://hub.test:8443", host="localhost:7860", **referer)
    scope, _ = asked("POST", "/x", {**sent, "x-gradio-server": "http://e.test"}, guarded)
    headers = dict(scope["headers"])
    assert b"origin" not in headers and b"x-gradio-server" not in headers
    assert headers[b"x-forwarded-host"] == seen and headers[b"x-forwarded-proto"] == b"https"


@pytest.mark.parametrize(
    "named", ["x-forwarded-host", "x-gradio-server", slow("origin"), slow("referer")]
)
@pytest.mark.parametrize("path", ["/", slow("/config"), slow("/gradio_api/info")])
def test_no_name_that_a_visitor_gives_is_written_into_an_answer(server, path, named):
    app, client = server
    (gates,) = (each.args[0] for each in app.user_middleware if each.cls is Gates)
    if named == "x-forwarded-host" and behind_proxy in gates:
        pytest.skip("the proxy writes it")
    value = "evil.test" if named == "x-forwarded-host" else "http://evil.test"
    answer = client.get(path, headers=site("same-origin", **{named: value}))
    assert answer.status_code == 200 and "evil" not in answer.text


def test_a_web_socket_of_another_site_is_closed():
    _, sent = asked("", "/x", {"origin": "http://e.test"}, guarded, kind="websocket")
    assert sent == [{"type": "websocket.close", "code": 1008}]
    assert asked("", "/x", {"origin": OURS}, guarded, kind="websocket")[0] is not None


FOREIGN = {
    "Sec-Fetch-Site": site("cross-site", origin="http://e.test"),
    "another port": site("same-site"),
    "Origin alone": {"origin": "http://e.test"},
    "Referer alone": {"referer": "http://e.test/a"},
}


@pytest.mark.parametrize("foreign", slow_but(["Sec-Fetch-Site"], FOREIGN))
def test_no_route_of_any_mode_answers_another_site(server, foreign):
    (app, client), headers = server, FOREIGN[foreign]
    every = list(every_route(app))
    assert {"/", "/viz/first", "/viz/corpus/file", "/gradio_api/upload"} < {r.path for r in every}
    for route in every:
        if route == Route("GET", "/", route.query) and "referer" in headers:
            continue  # a link
        path = re.sub(r"[{}]", "", route.path)
        answer = client.request(route.method, path, headers=headers)
        assert answer.status_code == 403, route
        assert "frame-ancestors" in answer.headers["content-security-policy"]


def test_no_site_is_given_leave_to_read(server):
    _, client = server
    wanted = {"access-control-request-method": "POST", "origin": "http://e.test"}
    answers = [
        client.options("/gradio_api/queue/join", headers=wanted),
        client.get("/config", headers={"origin": "http://e.test"}),
        client.get("/config", headers=site("same-origin", origin="http://e.test")),
        client.get("/config", headers={"origin": OURS}),
    ]
    assert [answer.status_code for answer in answers] == [403, 403, 200, 200]
    told = [name for answer in answers for name in answer.headers]
    assert not [name for name in told if name.startswith("access-control")]


def refused_in(caplog) -> list[str]:
    """The paths of the refusals that were logged."""
    return [m.split("'")[1] for m in caplog.messages if m.startswith("403 ")]


def test_a_page_of_another_site_gets_nothing_done(chromium: Browser, caplog):
    with (
        watched_server() as (ours, reached),
        other_site(f"{ours}?a=a+text") as theirs,
        chromium.new_context() as context,
    ):
        before, page = uploads(), context.new_page()
        for start in (theirs, theirs.replace("127.0.0.1", "localhost")):
            page.goto(start)
            page.evaluate(f"{ATTACK}('{ours}')")
            assert reached == [] and uploads() == before
        while len(refused := refused_in(caplog)) < 2 * len(SENT):  # a beacon takes its time
            page.wait_for_timeout(20)
        assert set(refused) == SENT and len(refused) == 2 * len(SENT)  # all was sent; a line each
        page.click("a")  # a person may open the page from there
        page.wait_for_selector("gradio-app", state="attached")
        assert reached[0] == "/"
