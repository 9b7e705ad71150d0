"""Refusals: the answer to a request that is not taken, and one line of it in the log."""

import json
import logging
from collections.abc import Mapping

from starlette.types import Scope, Send

log = logging.getLogger(__name__)
LONGEST = 200  # characters of an address in the log


async def refuse(
    scope: Scope, send: Send, status: int, sentence: str, more: Mapping[str, str] | None = None
) -> None:
    """Answer with a sentence, for the page ("message") and for Gradio's clients ("detail")."""
    tell(scope, status, sentence)
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": 1008})
    body = json.dumps({"message": sentence, "detail": sentence}).encode()
    told = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "cache-control": "no-store",
        **(more or {}),
    }
    headers = [(name.encode(), value.encode()) for name, value in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def tell(scope: Scope, status: int, sentence: str) -> None:
    """Write the one line, of what was refused to whom."""
    sender = (scope.get("client") or ("?",))[0]
    path = ascii(scope["path"][:LONGEST])
    kind = scope.get("method", "WebSocket")
    log.warning("%d %s %s from %s: %s", status, kind, path, ascii(sender), sentence)
