"""Clients: who sent a request, behind a proxy too, and how many requests each may send."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from viz_encoder.ui.state.expiring_store import CLIENT
from viz_encoder.ui.state.limits import Limits
from viz_encoder.ui.wire.errors import refuse

FORWARDED_FOR, FORWARDED_HOST = b"x-forwarded-for", b"x-forwarded-host"
FORWARDED_PROTO = b"x-forwarded-proto"
NETWORK = 64  # bits: one household or server has all IPv6 addresses with these first ones


def client_of(request: Request) -> str:
    """The client's address, of IPv6 its network; "" where there is none."""
    return named(request.client.host) if request.client else ""


def named(address: str) -> str:
    """An address as a client's name."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4 or found.ipv4_mapped:
        return str(found.ipv4_mapped if found.version == 6 else found)
    return str(ipaddress.ip_network((found, NETWORK), strict=False))


Gate = Callable[[Scope], tuple[int, str] | None]  # why a request is refused; it may alter its scope


@dataclass(frozen=True)
class Gates:
    """Takes each request through all gates, one after the other."""

    app: ASGIApp
    gates: tuple[Gate, ...]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, or refuse."""
        if scope["type"] in ("http", "websocket"):
            for gate in self.gates:
                if refusal := gate(scope):
                    return await refuse(scope, send, *refusal)
        await self.app(scope, receive, send)


def name_client(scope: Scope) -> None:
    """Set CLIENT for whatever answers a request."""
    CLIENT.set(named((scope.get("client") or ("",))[0]))


def told(scope: Scope, name: bytes) -> list[str]:
    """Values of a request header."""
    return [value.decode("latin-1") for header, value in scope["headers"] if header == name]


def no_proxy(scope: Scope) -> None:
    """Drop X-Forwarded-Host: without a proxy, it is a visitor's word, and Gradio would take it."""
    scope["headers"] = [each for each in scope["headers"] if each[0] != FORWARDED_HOST]


def behind_proxy(scope: Scope) -> None:
    """Take the client from X-Forwarded-For, which the proxy before this server writes.

    Only where every request comes through the proxy; other clients could forge the header.
    """
    if found := forwarded(scope):
        scope["client"] = (found, 0)


def forwarded(scope: Scope) -> str:
    """The last public address in the header; those of inner proxies are private.

    What a client writes there itself stands before what proxies add.
    """
    values = told(scope, FORWARDED_FOR)
    parts = [part.strip() for value in values for part in value.split(",")]
    addresses = [part for part in parts if _address(part) is not None]
    outer = [part for part in addresses if ipaddress.ip_address(part).is_global]
    return (outer or addresses or [""])[-1]


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


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


@dataclass(frozen=True)
class ClientLimits:
    """A client that asks slowly is never refused; its first requests may come all at once."""

    app: ASGIApp
    limits: Limits
    clock: Callable[[], float] = time.monotonic
    clients: OrderedDict[str, Spent] = field(default_factory=OrderedDict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, or refuse."""
        rate = self.limits.client_rate
        if scope["type"] != "http" or rate is None or scope["path"].startswith(FREE):
            return await self.app(scope, receive, send)
        spent = self._spent(named((scope.get("client") or ("",))[0]), rate)
        if spent.left < 1:
            return await refuse(scope, send, 429, OFTEN, {"retry-after": "1"})
        if spent.open >= self.limits.client_open:
            return await refuse(scope, send, 429, OPEN, {"retry-after": "5"})
        spent.left -= 1
        spent.open += 1
        try:
            await self.app(scope, receive, send)
        finally:
            spent.open -= 1

    def _spent(self, client: str, rate: float) -> Spent:
        now, burst = self.clock(), float(self.limits.client_burst)
        spent = self.clients.setdefault(client, Spent(burst, now))
        spent.left, spent.at = min(burst, spent.left + rate * (now - spent.at)), now
        self.clients.move_to_end(client)
        if len(self.clients) > REMEMBERED:
            self.clients.popitem(last=False)
        return spent
