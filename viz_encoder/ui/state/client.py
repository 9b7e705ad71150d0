"""Whose request is being answered: what a server of strangers counts by."""

from contextvars import ContextVar

# An address, set where a request comes in; "" where nobody asked, as at the start of the server.
CLIENT: ContextVar[str] = ContextVar("client", default="")
