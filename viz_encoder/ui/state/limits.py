"""Limits: what one request, one client and one piece of work may take; two ways to serve."""

from dataclasses import dataclass

MB = 10**6


@dataclass(frozen=True)
class Limits:
    """Every number by which a request is refused, or work is stopped; None = no such limit."""

    upload_bytes: int  # of the largest file that is taken
    values: int  # numbers, texts, lists and objects in the JSON of one request
    bodies_bytes: int | None  # of all requests that are being read or answered together
    header_seconds: float  # from the connection until a request's headers are complete
    body_seconds: float  # for its body, and a second more for each `body_rate` bytes that came
    body_rate: int  # bytes a second

    @property
    def body_bytes(self) -> int:
        """The largest request to an endpoint: the largest file as base64, and words beside it."""
        return self.upload_bytes * 4 // 3 + MB


LOCAL = Limits(
    upload_bytes=200 * MB,
    values=1_000_000,
    bodies_bytes=None,
    header_seconds=10.0,
    body_seconds=20.0,
    body_rate=16_000,
)
PUBLIC = Limits(
    upload_bytes=20 * MB,
    values=20_000,
    bodies_bytes=200 * MB,
    header_seconds=10.0,
    body_seconds=20.0,
    body_rate=16_000,
)
