"""launch: open the page on a trace or an encoder, from a notebook or a script."""

import sys
import threading
from dataclasses import dataclass
from typing import Annotated

import uvicorn

from viz_encoder.arguments import at_least, at_most, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.trace import Trace
from viz_encoder.ui.serve import LAST_PORT, PORT, Server, ServerSettings, listen, make_app
from viz_encoder.ui.wire.security_headers import NOTEBOOKS

HEIGHT = 1100  # pixels of the frame in a notebook


@dataclass(frozen=True, eq=False)
class Launched:
    """A running page; in a notebook it shows itself."""

    url: str
    _server: uvicorn.Server
    _thread: threading.Thread

    def close(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        self._thread.join(timeout=10)

    def wait(self) -> None:
        """Serve until interrupted: for scripts, which would end otherwise."""
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self.close()

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" width="100%" height="{HEIGHT}" frameborder="0"></iframe>'


@public
def launch(
    subject: Trace | LoadedEncoder | None = None,
    *,
    port: Annotated[int, at_least(0), at_most(LAST_PORT)] = PORT,
    device: str = "auto",
) -> Launched:
    """Open the page on a captured run or on an encoder of your own, beside the built-in models.

    Args:
        subject: what to show first: a run, or an encoder, which runs the first example if it
            reads texts and is the first of its list; the built-in models alone if not given.
        port: the first port to try, on 127.0.0.1.
        device: where the built-in models run.

    Raises:
        InputError: the subject is neither a Trace nor a loaded encoder.
    """
    page = start(ServerSettings(device=device, framed_by=NOTEBOOKS), subject, port)
    if not hasattr(sys, "ps1") and "ipykernel" not in sys.modules:
        print(f"viz_encoder runs on {page.url}  (end a script with .wait() to keep it open)")
    return page


def start(
    settings: ServerSettings, subject: Trace | LoadedEncoder | None, port: int, alone: bool = False
) -> Launched:
    """Serve this machine from a thread; if it is `alone` in the process, its files go with it."""
    listener = listen("127.0.0.1", port)
    app = make_app(settings, subject)
    server = Server(app, temporary=app.state.upload_folder if alone else None)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    return Launched(f"http://127.0.0.1:{listener.getsockname()[1]}/", server, thread)
