"""The body of a request, whole, of no more than is allowed."""

import json
from typing import Any

from fastapi import Request

from viz_encoder.errors import InputError, TooLong


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


def read_json(content: bytes | str, fault: str = "What was sent is not JSON.") -> Any:
    """What the JSON of a client holds.

    Raises:
        InputError: the content is not JSON.
    """
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(fault) from None


def json_object(content: bytes, fault: str = "Send a JSON object.") -> dict[str, Any]:
    """The JSON object of a body.

    Raises:
        InputError: the content is not a JSON object.
    """
    sent = read_json(content, fault)
    if not isinstance(sent, dict):
        raise InputError(fault)
    return sent
