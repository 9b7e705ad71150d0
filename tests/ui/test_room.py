"""A class's server: the address that is printed is one that answers, and what is open is said."""

import os
import re
import socket
import sys
from importlib import import_module
from types import SimpleNamespace

import httpx
import psutil
import pytest

from tests.started import started
from viz_encoder import cli
from viz_encoder.ui.wire import addresses
from viz_encoder.ui.wire.addresses import room_addresses, room_lines


def network(**found):
    """Interfaces as psutil tells them: name=(address, whether it is up)."""
    told = {
        name: [
            SimpleNamespace(family=socket.AF_INET6, address="fe80::1"),
            SimpleNamespace(family=socket.AF_INET, address=address),
        ]
        for name, (address, _) in found.items()
    }
    stats = {name: SimpleNamespace(isup=up) for name, (_, up) in found.items()}
    return told, stats


@pytest.fixture
def room(monkeypatch):
    def use(outward="", **found):
        told, stats = network(**found)
        monkeypatch.setattr(psutil, "net_if_addrs", lambda: told)
        monkeypatch.setattr(psutil, "net_if_stats", lambda: stats)
        monkeypatch.setattr(addresses, "_outward", lambda: outward)

    return use


def test_the_address_that_goes_outward_comes_first_and_virtual_machines_do_not(room):
    room(
        "192.168.1.20",
        lo=("127.0.0.1", True),
        docker0=("172.17.0.1", True),
        eth0=("10.0.0.3", True),
        wlan0=("192.168.1.20", True),
        eth1=("10.9.9.9", False),
        usb0=("169.254.3.3", True),
    )
    assert room_addresses("0.0.0.0") == ("192.168.1.20", "10.0.0.3")
    first, also, seat, opened = room_lines("0.0.0.0", 7861)
    assert first == "For other computers in the room: http://192.168.1.20:7861"
    assert also.endswith("try: http://10.0.0.3:7861")
    assert seat.endswith("http://192.168.1.20:7861/?learn=1&seed=17")
    assert "everyone on this network" in opened and "not encrypted" in opened


def test_one_address_alone_is_the_one_that_is_listened_on():
    assert room_addresses("10.0.0.3") == ("10.0.0.3",)
    assert room_addresses("127.0.0.1") == room_addresses("localhost") == ()


def test_without_a_network_it_says_so(room):
    room(lo=("127.0.0.1", True))
    (line,) = room_lines("0.0.0.0", 7860)
    assert "Other computers cannot reach this one" in line and "Connect it" in line


@pytest.mark.parametrize(
    ("given", "host", "public", "room"),
    [
        ([], "127.0.0.1", False, False),
        (["--class"], "0.0.0.0", True, True),
        (["--class", "--host", "10.0.0.3"], "10.0.0.3", True, True),
        (["--class", "--host", "127.0.0.1"], "127.0.0.1", True, True),
        (["--public"], "127.0.0.1", True, False),
    ],
)
def test_a_class_listens_on_the_network_as_the_public_does(monkeypatch, given, host, public, room):
    seen = []
    serving = import_module("viz_encoder.ui.serve")  # whose function has its name
    monkeypatch.setattr(serving, "serve", lambda settings, subject: seen.append(settings))
    assert cli.main(["serve", *given]) == 0
    assert (seen[0].host, seen[0].public, seen[0].room) == (host, public, room)


@pytest.mark.slow
@pytest.mark.skipif(not room_addresses("0.0.0.0"), reason="this machine is in no network")
def test_the_printed_address_answers_and_nothing_stays_behind(tmp_path):
    command = [sys.executable, "-u", "-m", "viz_encoder", "serve", "--class", "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "GRADIO_TEMP_DIR": ""}
    with started(command, "Stop the server after the lesson", env=environment) as said:
        address = re.search(r"in the room: (http://\S+)", said)[1]
        assert "127.0.0.1" not in address
        told = httpx.get(f"{address}/viz/learn/seat", params={"seed": 17}, timeout=60)
        assert "[MASK]" in told.json()["text"]
        assert list(tmp_path.glob("viz_encoder-*"))
    assert not list(tmp_path.glob("viz_encoder-*"))
