"""The body of a request, whole, of no more than is allowed."""

from fastapi import Request

from viz_encoder.errors import TooLong


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
