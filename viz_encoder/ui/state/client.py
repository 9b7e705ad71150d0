"""The client of the current request, by which a public server counts what each client holds."""

from contextvars import ContextVar

# The client's address, set for each request; "" outside of requests, as at startup.
CLIENT: ContextVar[str] = ContextVar("client", default="")
