"""The Dockerfile: what it copies is there, its command runs, and its health check is answered."""

import json
import re
import shlex
from pathlib import Path

import httpx

from tests.ui.conftest import serving
from viz_encoder.cli import _parser
from viz_encoder.ui.serve import PORT, ServerSettings, make_app

ROOT = Path(__file__).parent.parent
LINES = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()


def instructions(name):
    return [line.split(maxsplit=1)[1] for line in LINES if line.startswith(f"{name} ")]


def test_what_is_copied_is_there_and_sent_along():
    *ignored, last = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "*" and last == "**/__pycache__"  # nothing but what is named
    copied = [name for line in instructions("COPY") for name in shlex.split(line)[:-1]]
    assert sorted(f"!{name}" for name in copied) == sorted(ignored[1:])
    assert all((ROOT / name).exists() for name in copied)


def test_it_serves_strangers_as_nobody_in_particular():
    (command,) = map(json.loads, instructions("CMD"))
    given = vars(_parser().parse_args(command[1:]))
    assert command[0] == "viz-encoder" and given["public"] and given["host"] == "0.0.0.0"
    assert [str(given["port"])] == instructions("EXPOSE") == [str(PORT)]
    user, *others = instructions("USER")
    assert user == "viz" and not others
    assert f" {user}" in next(line for line in LINES if "useradd" in line)
    last_run = max(at for at, line in enumerate(LINES) if line.startswith("RUN"))
    assert last_run < LINES.index(f"USER {user}")


def test_the_health_check_asks_for_the_first_run():
    (check,) = instructions("HEALTHCHECK")
    (address,) = re.findall(r"http://127\.0\.0\.1:(\d+)/([\w/]+)", check)
    assert address[0] == str(PORT)
    code = json.loads(re.search(r"CMD (\[.*\])", check)[1])[-1]
    with serving(make_app(ServerSettings(device="cpu", public=True))) as site:
        assert httpx.get(site + address[1], timeout=60).json()["tokens"]
        exec(code.replace(f"http://127.0.0.1:{PORT}/", site))
