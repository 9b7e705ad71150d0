"""desktop: the page in a window of its own; its server ends when the window is closed."""

import os
import shutil
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.trace import Trace
from viz_encoder.ui.launch import Launched, start
from viz_encoder.ui.serve import ServerSettings

# Browsers that open one address as a window without tabs and address bar: --app.
COMMANDS = (
    *("google-chrome", "google-chrome-stable", "chromium", "chromium-browser"),
    *("microsoft-edge", "microsoft-edge-stable", "chrome", "msedge"),
)
MAC = ("Google Chrome", "Chromium", "Microsoft Edge")
WINDOWS = (r"Google\Chrome\Application\chrome.exe", r"Microsoft\Edge\Application\msedge.exe")
WINDOWS_FOLDERS = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
SIZE = "1440,960"  # pixels


def desktop(subject: Trace | LoadedEncoder | None = None, device: str = "auto") -> None:
    """Open the page in a window, and return once it is closed; without such a browser, in a tab.

    The window has a profile of its own, which is deleted with it.
    """
    page = start(ServerSettings(device=device), subject, port=0, alone=True)
    try:
        if not _window(page.url):
            _tab(page)
    finally:
        page.close()


def find_browser() -> str | None:
    """An installed Chrome, Chromium or Edge."""
    found = (shutil.which(name) for name in COMMANDS)
    return next(filter(None, found), None) or next(_installed(), None)


def _installed() -> Iterator[str]:
    if sys.platform == "darwin":
        paths = [Path("/Applications") / f"{name}.app/Contents/MacOS/{name}" for name in MAC]
    else:
        folders = filter(None, map(os.environ.get, WINDOWS_FOLDERS))
        paths = [Path(folder) / name for folder in folders for name in WINDOWS]
    return (str(path) for path in paths if path.is_file())


def _window(url: str) -> bool:
    """Show it until it is closed; whether a browser did."""
    browser = find_browser()
    if browser is None:
        return False
    with tempfile.TemporaryDirectory(prefix="viz_encoder-", ignore_cleanup_errors=True) as profile:
        options = (f"--user-data-dir={profile}", f"--window-size={SIZE}")
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        first = ("--no-first-run", "--no-default-browser-check")
        try:
            done = subprocess.run((browser, f"--app={url}", *options, *first), **quiet)
        except KeyboardInterrupt:
            return True
        return done.returncode == 0


def _tab(page: Launched) -> None:
    print(
        f"Chrome, Chromium or Edge opens a window of its own; {page.url} is open in your browser."
    )
    webbrowser.open(page.url)
    page.wait()
