"""ClientLimits: so many requests a second of one client, and so many open at a time."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from viz_encoder.ui.state.limits import Limits
from viz_encoder.ui.wire.clients import named
from viz_encoder.ui.wire.refusals import refuse

FREE = ("/viz/static/", "/assets/", "/static/", "/theme.css", "/favicon.ico")  # files that are kept
REMEMBERED = 10_000  # clients
OFTEN = "Too many requests from your address; wait a second and try again."
OPEN = "Too many open requests from your address; close other pages of this server."


@dataclass
class Spent:
    """A client's usage; `left` is the number of requests it may send at once."""

    left: float
    at: float
    open: int = 0


class ClientLimits:
    """A client that asks slowly is never refused; its first requests may come all at once."""

    def __init__(
        self, app: ASGIApp, limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app, self._limits, self._clock = app, limits, clock
        self._clients: OrderedDict[str, Spent] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, or refuse."""
        rate = self._limits.client_rate
        if scope["type"] != "http" or rate is None or _is_free(scope["path"]):
            return await self._app(scope, receive, send)
        spent = self._spent(named((scope.get("client") or ("",))[0]), rate)
        if spent.left < 1:
            return await refuse(scope, send, 429, OFTEN, {"retry-after": "1"})
        if spent.open >= self._limits.client_open:
            return await refuse(scope, send, 429, OPEN, {"retry-after": "5"})
        spent.left -= 1
        spent.open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            spent.open -= 1

    def _spent(self, client: str, rate: float) -> Spent:
        """Usage up to now."""
        now, burst = self._clock(), float(self._limits.client_burst)
        spent = self._clients.setdefault(client, Spent(burst, now))
        spent.left, spent.at = min(burst, spent.left + rate * (now - spent.at)), now
        self._clients.move_to_end(client)
        if len(self._clients) > REMEMBERED:
            self._clients.popitem(last=False)
        return spent


def _is_free(path: str) -> bool:
    return path.startswith(FREE)
