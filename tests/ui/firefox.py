"""A headless Firefox, driven by WebDriver BiDi (W3C) over its own web socket, without a driver."""

import itertools
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websocket import WebSocket, create_connection

BROWSERS = ("firefox-esr", "firefox")
PATIENCE = 90  # seconds for one answer
LISTENING = "WebDriver BiDi listening on "
# A first start asks for nothing on the network but the page under test.
PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.auto": False,
    "browser.safebrowsing.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
}


def firefox_path() -> str | None:
    """The system's own Firefox."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class Firefox:
    """One window; `faults` has every error and warning of its console."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket, self.faults = socket, list[str]()
        self._numbers = itertools.count(1)
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        (window,) = self.ask("browsingContext.getTree")["contexts"]
        self.context = window["context"]

    def ask(self, method: str, **params: object) -> Any:
        """Send a command and wait for its result; events that come meanwhile are kept."""
        number = next(self._numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            said = json.loads(self.socket.recv())
            if said.get("method") == "log.entryAdded" and said["params"]["level"] in (
                "error",
                "warn",
            ):
                self.faults.append(str(said["params"]["text"]))
            if said.get("id") == number:
                assert said["type"] == "success", said
                return said["result"]

    def resize(self, width: int, height: int) -> None:
        """Give the page so many pixels."""
        size = {"width": width, "height": height}
        self.ask("browsingContext.setViewport", context=self.context, viewport=size)

    def goto(self, address: str) -> None:
        """Open an address and wait until it has loaded."""
        self.ask("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, awaited, as JSON."""
        as_json = ".then((value) => JSON.stringify(value ?? null))"
        found = self.ask(
            "script.evaluate",
            expression=f"Promise.resolve({expression}){as_json}",
            target={"context": self.context},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        return json.loads(found["result"]["value"])

    def wait_for(self, condition: str) -> None:
        """Wait until a condition holds in the page."""
        self.evaluate(
            "new Promise((done) => { const look = () => "
            f"({condition}) ? done() : requestAnimationFrame(look); look(); }})"
        )


@contextmanager
def running(profile: Path) -> Iterator[Firefox]:
    """A Firefox with a profile of its own, for the length of a with block."""
    lines = (f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in PREFERENCES.items())
    (profile / "user.js").write_text("\n".join(lines), encoding="utf-8")
    command = [firefox_path(), "--headless", "--no-remote", "--profile", str(profile)]
    process = subprocess.Popen(
        [*command, "--remote-debugging-port", "0", "about:blank"], stderr=subprocess.PIPE, text=True
    )
    try:
        place = next(line.partition(LISTENING)[2] for line in process.stderr if LISTENING in line)
        # Firefox refuses who names an origin, as a page would.
        socket = create_connection(f"{place.strip()}/session", PATIENCE, suppress_origin=True)
        yield Firefox(socket)
        socket.close()
    finally:
        process.terminate()
        process.wait(timeout=20)
