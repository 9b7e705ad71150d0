"""Half a request: its connection is closed in time, and a slow but steady one is served."""

import logging
import re
import socket
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from viz_encoder.ui.serve import Server, listen
from viz_encoder.ui.state.limits import PUBLIC

QUICK = replace(PUBLIC, header_seconds=0.2, body_seconds=0.2, body_rate=1_000)
HEAD = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 400\r\n"


async def app(scope, receive, send):
    """Says how long the body was."""
    count, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        count, more = count + len(message["body"]), message.get("more_body", False)
    said = str(count).encode()
    headers = [(b"content-length", str(len(said)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": said})


@contextmanager
def served(limits):
    listener = listen("127.0.0.1", 0)
    server = Server(app, limits)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        server.should_exit = True
        thread.join(timeout=20)


@pytest.fixture(scope="module")
def quick():
    with served(QUICK) as address:
        yield address


def opened(address, content=b""):
    client = socket.create_connection(address)
    client.settimeout(10)
    client.sendall(content)
    return client


def answer_of(client) -> bytes:
    """A whole answer, in however many pieces it comes."""
    content, length = b"", 0
    while b"\r\n\r\n" not in content or len(content.partition(b"\r\n\r\n")[2]) < length:
        part = client.recv(1000)
        assert part, content  # else it was closed before its end
        content += part
        length = int(re.search(rb"content-length: (\d+)|$", content)[1] or 0)
    return content


def is_closed(client) -> bool:
    try:
        return client.recv(1000) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: h\r\nX-a: ", HEAD])
def test_half_of_the_headers_are_not_waited_for(quick, sent):
    clients = [opened(quick, sent) for _ in range(100)]
    assert all(map(is_closed, clients))


def test_a_header_a_moment_does_not_help(quick):
    with opened(quick, b"GET / HTTP/1.1\r\nHost: h\r\n") as client, pytest.raises(OSError):
        for number in range(100):
            client.sendall(b"X-%d: 1\r\n" % number)
            threading.Event().wait(0.02)


@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"])
def test_a_body_that_stops_is_not_waited_for(quick, before, caplog):
    with caplog.at_level(logging.WARNING), opened(quick, before + HEAD + b"\r\nabc") as client:
        if before:
            assert answer_of(client).endswith(b"\r\n\r\n0")
        assert is_closed(client)
    (line,) = [r.getMessage() for r in caplog.records if "in time" in r.getMessage()]
    assert line == "closed 127.0.0.1: its body did not come in time"


def test_half_of_a_second_request_is_not_waited_for(quick):
    with opened(quick, b"GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HT") as client:
        assert answer_of(client).endswith(b"\r\n\r\n0")
        assert is_closed(client)


def test_a_slow_body_that_comes_steadily_is_taken(quick):
    with opened(quick, HEAD + b"\r\n") as client:
        begun = time.monotonic()
        for _ in range(20):  # 1,000 bytes a second and more, for longer than a body alone has
            client.sendall(b"x" * 20)
            threading.Event().wait(0.018)
        assert time.monotonic() - begun > QUICK.body_seconds
        assert answer_of(client).endswith(b"\r\n\r\n400")


def test_a_connection_may_rest_between_two_requests(quick):
    with opened(quick) as client:
        for _ in range(2):
            client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            assert answer_of(client).endswith(b"\r\n\r\n0")
            threading.Event().wait(2 * QUICK.header_seconds)
