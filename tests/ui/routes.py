"""Every route of a server, ours and Gradio's, as its own description has it."""

from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import Mount


@dataclass(frozen=True)
class Route:
    """A method and a path, such as /viz/run/{run}/map, and the names of what the query may say."""

    method: str
    path: str
    query: tuple[str, ...] = ()


def every_route(app: FastAPI) -> Iterator[Route]:
    """Those of the app, and of the apps that it has mounted."""
    for path, found in get_openapi(title="", version="", routes=app.routes)["paths"].items():
        for method, about in found.items():
            told = about.get("parameters", ())
            query = tuple(each["name"] for each in told if each["in"] == "query")
            yield Route(method.upper(), path, query)
    for mounted in app.routes:
        if isinstance(mounted, Mount) and isinstance(mounted.app, FastAPI):
            yield from every_route(mounted.app)
