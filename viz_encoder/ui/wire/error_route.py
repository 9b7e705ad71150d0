"""A route whose faults are sentences, also those that nobody foresaw."""

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from viz_encoder.errors import VizEncoderError

log = logging.getLogger(__name__)
UNFORESEEN = (
    "That part of the run could not be computed; the server's log says why. Choose another part, "
    "or run it again."
)


class PlainRoute(APIRoute):
    """A route that says in a sentence what nobody foresaw; the log has the details."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with what it raises turned into an answer."""
        handle = super().get_route_handler()

        async def handle_plainly(request: Request) -> Response:
            try:
                return await handle(request)
            except (VizEncoderError, RequestValidationError):
                raise
            except Exception:
                log.exception("%s failed", request.url.path)
                return sentence(UNFORESEEN, 422)

        return handle_plainly


def sentence(message: str, status: int) -> JSONResponse:
    """A fault as the page reads it, which no cache keeps."""
    return JSONResponse({"message": message}, status, {"cache-control": "no-store"})
