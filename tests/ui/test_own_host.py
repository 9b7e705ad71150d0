"""OwnHost: another Host is refused with the cure, in one line; ours and a proxy's are not."""

import logging

import pytest
from fastapi.testclient import TestClient

from viz_encoder.ui.serve import ServerSettings, make_app

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
