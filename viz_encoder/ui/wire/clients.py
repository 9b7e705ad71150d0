"""Clients: who sent a request, by its address; behind a proxy, by what the proxy says."""

import ipaddress

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from viz_encoder.ui.state.client import CLIENT

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


class NamedClient:
    """Sets CLIENT for whatever answers a request."""

    def __init__(self, app: ASGIApp) -> None:
        """Before the app that counts by it."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does."""
        if scope["type"] == "http":
            CLIENT.set(named((scope.get("client") or ("",))[0]))
        await self._app(scope, receive, send)


def told(scope: Scope, name: bytes) -> list[str]:
    """Values of a request header."""
    return [value.decode("latin-1") for header, value in scope["headers"] if header == name]


class NoProxy:
    """Drops X-Forwarded-Host: without a proxy, it is a visitor's word, and Gradio would take it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does."""
        if scope["type"] in ("http", "websocket"):
            scope["headers"] = [each for each in scope["headers"] if each[0] != FORWARDED_HOST]
        await self._app(scope, receive, send)


class BehindProxy:
    """Takes the client from X-Forwarded-For, which the proxy before this server writes.

    Use it only if every request comes through the proxy; other clients could forge the header.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does."""
        if scope["type"] == "http" and (found := forwarded(scope)):
            scope = {**scope, "client": (found, 0)}
        await self._app(scope, receive, send)


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
