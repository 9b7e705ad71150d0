"""desktop: a window of its own, of which nothing is kept; serve --open; the page as an app."""

import json
import shutil
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import httpx
import pytest

from viz_encoder.cli import main
from viz_encoder.ui import desktop
from viz_encoder.ui.serve import Server, ServerSettings, serve

DEBUGGER = 9377  # the port of the window's debugger
BROWSER = """#!{python}
import json, pathlib, sys, urllib.request
given = dict(each.split("=", 1) for each in sys.argv[1:] if "=" in each)
assert b"viz_encoder" in urllib.request.urlopen(given["--app"]).read()
pathlib.Path({told!r}).write_text(json.dumps(given))
sys.exit({status})
"""


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """A command that answers as a browser does; call it with its exit status."""
    told = tmp_path / "told.json"
    monkeypatch.setenv("PATH", str(tmp_path))

    def made(status: int = 0) -> Path:
        command = tmp_path / "chromium"
        command.write_text(BROWSER.format(python=sys.executable, told=str(told), status=status))
        command.chmod(0o755)
        return told

    return made


def test_a_window_shows_the_page_and_nothing_of_it_stays(browser, capsys):
    told = browser()
    assert main(["desktop"]) == 0
    given = json.loads(told.read_text())
    assert not Path(given["--user-data-dir"]).exists()
    with pytest.raises(httpx.ConnectError):
        httpx.get(given["--app"])
    assert capsys.readouterr().out == ""


def test_without_such_a_browser_it_is_a_tab(browser, monkeypatch, capsys):
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(desktop.Launched, "wait", lambda self: opened.append("waited"))
    assert main(["desktop"]) == 0  # no command is there
    browser(status=1)  # and one that refuses, as it does for root
    assert main(["desktop"]) == 0
    assert [each.startswith("http://127.0.0.1:") or each for each in opened] == [
        *(True, "waited", True, "waited")
    ]
    assert capsys.readouterr().out.count("is open in your browser.") == 2


def test_serve_opens_a_tab_that_is_answered(monkeypatch):
    seen: list[str] = []

    def opened(url: str) -> None:
        seen.append(httpx.get(url, timeout=60).text)
        server.should_exit = True

    def run(self, sockets):
        nonlocal server
        server = self
        return kept(self, sockets)

    server = None
    kept = Server.run
    monkeypatch.setattr(Server, "run", run)
    monkeypatch.setattr("webbrowser.open", opened)
    # Not in this thread, which another test's browser may need.
    serving = threading.Thread(target=serve, args=(ServerSettings(port=0, opened=True),))
    serving.start()
    serving.join()
    assert "viz_encoder" in seen[0]


def test_the_page_can_be_installed(site):
    manifest = httpx.get(f"{site}manifest.json").json()
    assert (manifest["name"], manifest["display"]) == ("viz_encoder", "standalone")
    (icon,) = manifest["icons"]
    drawn = httpx.get(f"{site}{icon['src'].lstrip('/')}")
    assert drawn.headers["content-type"].startswith("image/svg") and "<svg" in drawn.text
    assert 'rel="manifest"' in httpx.get(site).text


@pytest.fixture
def screen():
    """A command that gives another a screen of its own, and the Chromium that is shown on it."""
    if not (shutil.which("xvfb-run") and shutil.which("chromium")):
        pytest.skip("no Xvfb or no Chromium with windows here")
    return ["xvfb-run", "-a"]


def test_a_real_window(screen, playwright):
    code = f"""
        import subprocess
        from viz_encoder.ui import desktop
        run, more = subprocess.run, ["--no-sandbox", "--remote-debugging-port={DEBUGGER}"]
        subprocess.run = lambda command, **quiet: run([*command, *more], **quiet)
        desktop.desktop()
    """
    command = [*screen, sys.executable, "-c", textwrap.dedent(code)]
    window = subprocess.Popen(command)
    address = f"http://127.0.0.1:{DEBUGGER}"
    with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as client:  # until it listens
        client.get(f"{address}/json/version")
    page = playwright.chromium.connect_over_cdp(address).contexts[0].pages[0]
    page.wait_for_selector(".viz-how[data-painted]", timeout=60_000)
    assert page.evaluate("matchMedia('(display-mode: standalone)').matches")
    page.close()
    assert window.wait(timeout=30) == 0
