"""Bodies of requests: counted as they come, so that too much is never parsed, and read as JSON."""

import json
import re
from collections.abc import Callable
from itertools import islice
from typing import Any

from fastapi import Depends, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viz_encoder.errors import InputError, TooLong
from viz_encoder.ui.state.limits import Limits
from viz_encoder.ui.wire.errors import refuse

ANY_VALUE = re.compile(rb'"[^"]*"?|,|\[|\{')  # once escaped quotes are gone
UPLOAD = "/gradio_api/upload"  # Gradio writes it to a file as it comes
OURS = "/viz/"  # each of these routes has a cap of its own, and reads as it comes
FORM_BYTES = 2**16  # form overhead around a file
BUSY = "The server is reading other large requests; send this one again in a few seconds."


class BodyLimits:
    """Limits a request's bytes and JSON values: Gradio would parse any number."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits
        self._held = 0  # bytes of all bodies that are being read or answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, or refuse."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        as_it_comes = scope["path"].endswith(UPLOAD) or OURS in scope["path"]
        most = self._limits.upload_bytes + FORM_BYTES if as_it_comes else self._limits.body_bytes
        if _declared(scope) > most:
            return await refuse(scope, send, 413, _too_large(most))
        if as_it_comes:
            return await self._counted(scope, receive, send, most)
        await self._whole(scope, receive, send, most)

    async def _counted(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        """Hand each part on; over the limit, refuse, and tell the app that the client has gone."""
        count, refused = 0, False

        async def counted() -> Message:
            nonlocal count, refused
            message = await receive()
            count += len(message.get("body", b""))
            if count > most and not refused:
                refused = True
                await refuse(scope, send, 413, _too_large(most))
            return {"type": "http.disconnect"} if refused else message

        async def send_unless_refused(message: Message) -> None:
            if not refused:
                await send(message)

        try:
            await self._app(scope, counted, send_unless_refused)
        except Exception:
            if not refused:
                raise

    async def _whole(self, scope: Scope, receive: Receive, send: Send, most: int) -> None:
        content, room = bytearray(), self._limits.bodies_bytes
        try:
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                part, more = message.get("body", b""), message.get("more_body", False)
                content += part
                self._held += len(part)
                if len(content) > most:
                    return await refuse(scope, send, 413, _too_large(most))
                if room is not None and self._held > room:
                    return await refuse(scope, send, 503, BUSY, {"retry-after": "5"})
            if (sentence := self._refusal(content)) is not None:
                return await refuse(scope, send, 413, sentence)
            await self._app(scope, _replayed(bytes(content), receive), send)
        finally:
            self._held -= len(content)

    def _refusal(self, content: bytearray) -> str | None:
        """Too many values? Stops at the first too many, so a body takes a moment to refuse."""
        most = self._limits.values
        if b"\\" in content:
            content = content.replace(rb"\\", b"").replace(rb"\"", b"")
        found = sum(1 for _ in islice(ANY_VALUE.finditer(content), most + 1))
        if found <= most:
            return None
        return f"The request has over {most:,} JSON values; send fewer, or texts as one string."


def _declared(scope: Scope) -> int:
    told = dict(scope["headers"]).get(b"content-length", b"")
    return int(told) if told.isdigit() and len(told) < 20 else 0


def _too_large(most: int) -> str:
    return f"The request is too large; this server accepts at most {most:,} bytes."


def _replayed(content: bytes, receive: Receive) -> Receive:
    parts: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

    async def replay() -> Message:
        return parts.pop() if parts else await receive()

    return replay


async def body_of(request: Request, most: int, what: str) -> bytes:
    """The whole body; one that is too large is refused before it is read."""
    declared = request.headers.get("content-length", "")
    content = bytearray()
    if declared.isdigit() and int(declared) > most:
        raise TooLong(f"{what} has {int(declared):,} bytes; at most {most:,} are allowed here.")
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise TooLong(f"{what} has over {most:,} bytes, the most allowed here.")
    return bytes(content)


def sent(most: int | Callable[[Limits], int], what: str) -> Any:
    """The parameter of a route that is the whole body; `most` may be one of the server's limits."""

    async def content(request: Request) -> bytes:
        allowed = most if isinstance(most, int) else most(request.app.state.runner.limits)
        return await body_of(request, allowed, what)

    return Depends(content)


def read_json(content: bytes | str, fault: str = "What was sent is not JSON.") -> Any:
    """What the JSON of a client holds."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(fault) from None


def json_object(content: bytes, fault: str = "Send a JSON object.") -> dict[str, Any]:
    """The JSON object of a body."""
    sent = read_json(content, fault)
    if not isinstance(sent, dict):
        raise InputError(fault)
    return sent
