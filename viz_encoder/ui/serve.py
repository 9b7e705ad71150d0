"""serve: the page and its routes on one port, with settings that are safe for a laptop."""

import contextlib
import errno
import logging
import os
import shutil
import socket
import tempfile
import threading
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown  # cut short: it may be of any length
from typing import Any

import gradio as gr
import psutil
import uvicorn
from fastapi import FastAPI

from viz_encoder.bundled import asset
from viz_encoder.checkpoints import BUILTIN, LoadedEncoder
from viz_encoder.errors import VizEncoderError
from viz_encoder.trace import Trace
from viz_encoder.ui.page import make_page, make_theme
from viz_encoder.ui.state.limits import LOCAL, PUBLIC, Limits, give_back
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.restoring import FirstRun
from viz_encoder.ui.state.runner import Runner, require_showable
from viz_encoder.ui.state.saved_run import keep_saved
from viz_encoder.ui.state.sets import Sets
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs import TABS
from viz_encoder.ui.wire import figures, run_facts
from viz_encoder.ui.wire.addresses import EVERYWHERE, room_lines
from viz_encoder.ui.wire.body_limits import BodyLimits
from viz_encoder.ui.wire.clients import ClientLimits, Gates, behind_proxy, name_client, no_proxy
from viz_encoder.ui.wire.errors import add_error_sentences
from viz_encoder.ui.wire.gradio_faults import GradioFaults
from viz_encoder.ui.wire.queue import outlive_sessions, take_turns
from viz_encoder.ui.wire.same_origin import NAMES, own_host, same_origin
from viz_encoder.ui.wire.security_headers import SecurityHeaders
from viz_encoder.ui.wire.static import WEB, EarlyHead, add_static
from viz_encoder.ui.wire.timed_connection import timed
from viz_encoder.whole_file import shortened

PORT = 7860
PORTS_TRIED = 40
LAST_PORT = 65535
STYLES = ("core/tokens", "core/core", "views/views", "views/routes")  # of all tabs


@dataclass(frozen=True)
class ServerSettings:
    """How the server is started; `public` means untrusted clients may reach it."""

    host: str = "127.0.0.1"
    port: int = PORT
    public: bool = False
    device: str = "auto"
    trust_proxy: bool = False  # True only if every request comes through a proxy
    framed_by: tuple[str, ...] = ()  # origins whose pages may show this one in a frame
    room: bool = False  # for a class: print the address for the others, and what is open
    opened: bool = False  # show it in a browser of this machine at once

    @property
    def limits(self) -> Limits:
        """Limits per request, client and piece of work."""
        return PUBLIC if self.public else LOCAL

    @property
    def behind_public_name(self) -> bool:
        """Whether strangers reach it by the name of the proxy before it."""
        return self.public and self.trust_proxy

    @property
    def max_bytes(self) -> int:
        """Bytes of runs held for all pages together."""
        return min((1 if self.public else 4) * 2**30, psutil.virtual_memory().total // 4)


def make_app(settings: ServerSettings, subject: Trace | LoadedEncoder | None = None) -> FastAPI:
    """The whole web application, ready for any ASGI server; it opens on the subject."""
    upload_folder = _choose_upload_folder()
    page, runner = _make_page(settings, subject)
    page.queue(default_concurrency_limit=1, max_size=None, api_open=False)
    take_turns(page, settings.limits)
    outlive_sessions(page)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_routes(app, runner)
    _guard(app, settings)
    app.state.upload_folder = upload_folder
    # A mounted page never counts as launched, and until then Gradio lets a client name any path of
    # the server as an uploaded file.
    page.has_launched = True
    return gr.mount_gradio_app(
        app,
        page,
        path="/",
        ssr_mode=False,
        show_error=False,
        app_kwargs={"openapi_url": None},
        max_file_size=settings.limits.upload_bytes,
        allowed_paths=[],
        theme=make_theme(),
        css_paths=[WEB / f"{name}.css" for name in (*STYLES, *(f"{tab.name}/tab" for tab in TABS))],
        i18n=gr.I18n(en={"common.complete": "Done"}),  # which Gradio says after an upload and lacks
        footer_links=["api"],
        run_history=False,
        favicon_path=str(asset("icon.svg")),
        pwa=True,
    )


def _guard(app: FastAPI, settings: ServerSettings) -> None:
    """Put what refuses or answers requests before the app; what is added last comes first."""
    app.add_middleware(GradioFaults)
    first = TABS[0].name
    sheets = tuple(f"{name}.css" for name in (*STYLES, f"{first}/tab"))
    app.add_middleware(EarlyHead, ("core", "views", first), sheets)
    app.add_middleware(BodyLimits, settings.limits)
    app.add_middleware(ClientLimits, settings.limits)
    alone = settings.host in NAMES and not settings.behind_public_name
    proxy = behind_proxy if settings.trust_proxy else no_proxy
    gates = (proxy, same_origin, *([own_host] if alone else []), name_client)
    app.add_middleware(Gates, gates)
    app.add_middleware(SecurityHeaders, settings.framed_by)


def serve(settings: ServerSettings | None = None, subject: Trace | None = None) -> None:
    """Serve until stopped; prints the address.

    Raises:
        VizEncoderError: no port is free, or no temporary folder can be written.
    """
    settings = settings or ServerSettings()
    listener = listen(settings.host, settings.port)
    port = listener.getsockname()[1]
    if settings.port not in (0, port):
        print(f"Port {settings.port} is taken; using {port}.")
    app = make_app(settings, subject)
    shown = "127.0.0.1" if settings.host == EVERYWHERE else settings.host
    print(f"viz_encoder runs on http://{shown}:{port}  (Ctrl+C stops it)", flush=True)
    missing = [said for entry in BUILTIN.values() if (said := entry.missing)]
    for line in [*missing, *(room_lines(settings.host, port) if settings.room else ())]:
        print(line, flush=True)
    threading.Thread(target=app.state.first_run.warm, daemon=True).start()
    if settings.opened:  # it connects to the listener now, and is answered once the server runs
        address = (f"http://{shown}:{port}/",)
        threading.Thread(target=webbrowser.open, args=address, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        Server(app, settings.limits, app.state.upload_folder).run(sockets=[listener])


class Server(uvicorn.Server):
    """Stops when it is told to, whatever streams are open."""

    def __init__(self, app: Any, limits: Limits = LOCAL, temporary: Path | None = None) -> None:
        """A server of one app; the folder goes with it, also where a signal ends the process."""
        self._temporary = temporary
        config = uvicorn.Config(
            app, log_level="warning", http=timed(limits), ws="none", proxy_headers=False
        )
        config.timeout_keep_alive, config.timeout_graceful_shutdown = 30, 1  # seconds
        super().__init__(config)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop; what is cut off by it is no fault to be told."""
        log = logging.getLogger("uvicorn.error")
        before = log.level
        log.setLevel(logging.CRITICAL)
        try:
            await super().shutdown(sockets)
        finally:
            log.setLevel(before)
            if self._temporary is not None:
                shutil.rmtree(self._temporary, ignore_errors=True)


def _choose_upload_folder() -> Path | None:
    """Name Gradio's: it is shared by all its apps of one user unless each names its own.

    Returns the folder if it was made here.
    """
    named = os.environ.get("GRADIO_TEMP_DIR")
    try:
        if not named:
            os.environ["GRADIO_TEMP_DIR"] = tempfile.mkdtemp(prefix="viz_encoder-")
        folder = Path(os.environ["GRADIO_TEMP_DIR"])
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None if named else folder
    except (OSError, ValueError) as fault:
        named = os.environ.get("GRADIO_TEMP_DIR") or "The folder for temporary files"
        raise VizEncoderError(
            f"{shortened(named)} cannot be written: {getattr(fault, 'strerror', fault)}. Set "
            "GRADIO_TEMP_DIR or TMPDIR to a folder that can."
        ) from fault


def add_routes(app: FastAPI, runner: Runner) -> None:
    """Serve the page's scripts, and the numbers of the runner's runs and sets, under /viz."""
    app.state.runner, app.state.first_run = runner, FirstRun(runner)
    add_static(app)
    tabs = (tab.router for tab in TABS if tab.router is not None)
    shared = (each.ROUTER for each in (run_facts, figures))
    for router in (*shared, *tabs):
        app.include_router(router)
    add_error_sentences(app)


def _make_page(
    settings: ServerSettings, subject: Trace | LoadedEncoder | None
) -> tuple[gr.Blocks, Runner]:
    store = TraceStore(settings.max_bytes, dropped=give_back)
    own = subject if isinstance(subject, LoadedEncoder) else None
    models = Models(settings.device, own, local=not settings.public)
    first = None
    if isinstance(subject, Trace):
        require_showable(subject)
        first = keep_saved(store, models, subject)
        store.hold(first)
    runner = Runner(models, store, first, Sets(), limits=settings.limits)
    return make_page(runner), runner


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on the first free port from `port` on; 0 takes any.

    Raises:
        VizEncoderError: no such port, none that is free, or no such address on this machine.
    """
    if not 0 <= port <= LAST_PORT:
        raise VizEncoderError(f"There is no port {shown(port)}; give one from 0 to {LAST_PORT}.")
    last = min(port + PORTS_TRIED - 1, LAST_PORT) if port else 0
    for candidate in range(port, last + 1):
        # asyncio sets TCP_NODELAY only where the protocol is named; without it, each answer on a
        # kept connection waits 40 ms for the client's delayed acknowledgment.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(128)
        except (OSError, UnicodeError, ValueError) as fault:
            listener.close()
            if isinstance(fault, OSError) and fault.errno in (errno.EADDRINUSE, errno.EACCES):
                continue
            raise VizEncoderError(
                f"{shown(host)} is not an address to listen on here; give an IPv4 address of "
                "this machine, such as 127.0.0.1."
            ) from fault
        return listener
    raise VizEncoderError(
        f"No port from {port} to {last} is free on {host}; choose another with --port."
    )
