"""What Gradio's routes and the named endpoints cannot read: a sentence, and a line of the log."""

import inspect
import logging

import gradio as gr
import httpx
import pytest

from tests.coroutines import run_apart
from tests.ui.conftest import begun, serving
from viz_encoder.ui.page import SHARED_ENDPOINTS
from viz_encoder.ui.serve import ServerSettings, make_app
from viz_encoder.ui.tabs import TABS
from viz_encoder.ui.wire.endpoints import UNFORESEEN, bound
from viz_encoder.ui.wire.gradio_faults import GradioFaults

ENDPOINTS = {each.__name__: each for tab in TABS for each in (*SHARED_ENDPOINTS, *tab.endpoints)}
JUNK = ([1], {}, None, 1.5, "0x10", ["x"], -1, 10**30, "\0", True, {"path": "/etc/passwd"})
FILE = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}


@pytest.fixture(scope="module")
def app():
    """A server for strangers."""
    return make_app(ServerSettings(public=True))


@pytest.fixture(scope="module")
def strangers(app):
    """Its address."""
    with serving(app) as address:
        yield address


@pytest.fixture(scope="module")
def key(app):
    """A run on it."""
    return app.state.runner.text("grammar", "the keys to the cabinet are old")["key"]


@pytest.fixture
def lines(caplog):
    """What was logged, and nothing of it with a traceback."""
    with caplog.at_level(logging.WARNING):
        yield caplog
    assert not [each for each in caplog.records if each.exc_info]


@pytest.mark.parametrize(
    ("method", "path", "sent"),
    [
        ("POST", "call/nowhere", {"data": [1]}),
        ("POST", "call/run_image", {"data": [FILE]}),
        ("POST", "run/predict", {"data": []}),
        ("POST", "queue/join", {"fn_index": 99_999, "data": [], "session_hash": "x"}),
        ("GET", "call/x/y", None),
        ("GET", "call/run_text/y", None),
        ("GET", "queue/data?session_hash=none", None),
    ],
)
def test_what_is_not_there_is_an_answer_and_a_line(strangers, lines, capfd, method, path, sent):
    with httpx.stream(method, f"{strangers}gradio_api/{path}", json=sent) as answer:
        text = answer.read().decode()
    assert answer.status_code == 404 or "not found" in text.lower()
    assert len([each for each in lines.records if each.name.startswith("viz_encoder")]) == 1
    assert "Traceback" not in "".join(capfd.readouterr())


JSON, FORM = "application/json", "multipart/form-data; boundary=x"
PART = b'--x\r\nContent-Disposition: form-data; name="files"%b\r\n\r\nabc\r\n--x--\r\n'
LONG = "n" * 300


@pytest.mark.parametrize(
    ("path", "kind", "sent", "status", "says"),
    [
        (f"assets/{LONG}", None, None, 404, "no such file"),
        (f"static/{LONG}", None, None, 404, "no such file"),
        (f"static/img/{LONG}", None, None, 404, "no such file"),
        ("gradio_api/proxy=http://h%00/", None, None, 422, "cannot be read"),
        ("gradio_api/call/v2/run_text", JSON, b"{}", 422, "text_a"),
        ("gradio_api/call/v2/run_text", JSON, b'{"data": []}', 422, "`data`"),
        ("gradio_api/upload", FORM, PART % b"", 400, "a filename"),
        ("gradio_api/upload?upload_id=a", FORM, PART % b"", 400, "a filename"),
        ("gradio_api/call/run_text", JSON, rb'{"data": "\ud800"}', 422, "surrogates"),
        ("gradio_api/queue/join", JSON, rb'{"data": [], "fn_index": "\ud800"}', 422, "surrog"),
        ("gradio_api/cancel", JSON, rb'{"event_id": "\ud800"}', 422, "surrogates"),
        ("gradio_api/api/figure", "application/octet-stream", b"\xff\xfe", 422, "decode"),
        ("gradio_api/run/about", JSON, b'{"data": []}', 422, "/about was sent 0 values; it takes"),
        ("gradio_api/run/about", JSON, b'{"data": ["q", 1, 1]}', 422, "/about cannot read"),
    ],
)
def test_what_cannot_be_read_is_a_refusal_and_a_line(
    strangers, lines, capfd, path, kind, sent, status, says
):
    method = "GET" if sent is None else "POST"
    headers = {"content-type": kind} if kind else {}
    answer = httpx.request(method, strangers + path, content=sent, headers=headers)
    assert (answer.status_code, says in answer.text) == (status, True), answer.text
    assert len([each for each in lines.records if each.name.startswith("viz_encoder")]) == 1
    assert "Traceback" not in "".join(capfd.readouterr())


def test_what_our_own_code_raises_is_no_refusal(caplog):
    async def app(*_):
        bound(None, None)  # a TypeError that is raised while code of viz_encoder runs

    async def ask():
        transport = httpx.ASGITransport(GradioFaults(app))
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            return await client.get("/gradio_api/info")

    answer = run_apart(ask())
    assert answer.status_code == 500 and "log says why" in answer.json()["detail"]
    assert any(each.exc_info for each in caplog.records)


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("run_text", [], "/run_text was sent 0 values; it takes text_a"),
        ("run_text", [FILE], "/run_text cannot read what was sent; it takes text_a"),
        ("attention", ["nokey", 0, "0"], "run"),
    ],
)
def test_a_call_that_is_refused_is_a_sentence_and_a_line(
    strangers, lines, capfd, name, given, says
):
    assert says in httpx.get(begun(strangers, name, *given)).raise_for_status().text
    ours = [each for each in lines.records if each.name.startswith("viz_encoder")]
    assert len(ours) == 1 and f"/{name}" in ours[0].getMessage()
    assert "Traceback" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("name", sorted(ENDPOINTS))
def test_no_value_is_one_that_nobody_foresaw(app, key, name):
    endpoint = bound(app.state.runner, ENDPOINTS[name])
    parameters = inspect.signature(endpoint).parameters.values()
    usual = {"key": key, "layer": 0, "head": "0", "query": 0, "token": 0, "seeds": 1, "steps": 1}
    plain = ("" if each.default is each.empty else each.default for each in parameters)
    given = [usual.get(each.name, rest) for each, rest in zip(parameters, plain, strict=True)]
    for at, parameter in enumerate(parameters):
        for junk in JUNK:
            try:
                endpoint(*given[:at], junk, *given[at + 1 :])
            except gr.Error as refused:
                assert str(refused) != repr(UNFORESEEN), (parameter.name, junk, refused.__cause__)
