"""OwnHost: a server for this computer answers to this computer's own names, and to no other."""

from reprlib import repr as shown  # truncates: client input can be of any length

from starlette.types import ASGIApp, Receive, Scope, Send

from viz_encoder.ui.wire.clients import told
from viz_encoder.ui.wire.refusals import refuse

NAMES = ("127.0.0.1", "localhost")
REFUSED = (
    "This server answers to 127.0.0.1 and localhost, not to {}. Behind a proxy that sends another "
    "name, start it with --public --trust-proxy; see docs/server.md."
)


class OwnHost:
    """A page of another site must not reach us under a name of its own (DNS rebinding)."""

    def __init__(self, app: ASGIApp) -> None:
        """Before the app, and before whatever counts or reads requests."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, or refuse."""
        if scope["type"] in ("http", "websocket"):
            host = ", ".join(told(scope, b"host"))
            if host.partition(":")[0].lower() not in NAMES:
                return await refuse(scope, send, 400, REFUSED.format(shown(host)))
        await self._app(scope, receive, send)
