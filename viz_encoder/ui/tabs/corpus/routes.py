"""Routes of the Corpus tab: the table that ships, tables of texts that were sent, and files."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from viz_encoder.ui.tabs.corpus import sources
from viz_encoder.ui.tabs.corpus.pictures import ZIP
from viz_encoder.ui.tabs.corpus.results import (
    described,
    example,
    example_trees,
    file_of,
    measured,
    measured_pictures,
    over,
)
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Runs
from viz_encoder.ui.wire.body_limits import body_of, json_object
from viz_encoder.ui.wire.concurrency import Places, progress_lines
from viz_encoder.ui.wire.errors import ErrorRoute

ROUTER = APIRouter(prefix="/viz/corpus", route_class=ErrorRoute)
MEASURING = Places(1)  # a corpus keeps a processor busy: one at a time
FILES = Places(1)
MOST_BYTES = 50_000_000  # per file; one line for each of 2,000 texts
FILE = "The file"


@ROUTER.get("/example")
async def example_route(request: Request) -> Response:
    """The example sentences on the built-in model, measured when the project was built."""
    return await FILES.answer(request, lambda: answers.plain(example()))


@ROUTER.post("/example")
async def example_on_route(runs: Runs, request: Request, model: str = "") -> StreamingResponse:
    """The example sentences on another model, as lines of JSON."""
    return progress_lines(
        lambda tell: described(over(runs, sources.example_texts(), sources.EXAMPLE, model, tell)),
        *(MEASURING, request, runs.limits),
    )


@ROUTER.post("/treebank")
async def treebank_route(runs: Runs, request: Request) -> StreamingResponse:
    """The example treebank on its model, with its relations, as lines of JSON."""
    return progress_lines(
        lambda tell: example_trees(runs, tell),
        *(MEASURING, request, runs.limits),
    )


@ROUTER.post("/measured")
async def measured_route(
    runs: Runs,
    request: Request,
    name: str = "",
    model: str = "",
    column: str = "text",
    second: str = "",
) -> StreamingResponse:
    """The table of an uploaded file, or of pasted lines, as lines of JSON."""
    most = runs.limits.upload_bytes
    content = await body_of(request, most if name.endswith(ZIP) else min(MOST_BYTES, most), FILE)
    asked = name or sources.PASTED, content, model, column
    return progress_lines(
        lambda tell: measured(runs, *asked, tell, second),
        *(MEASURING, request, runs.limits),
    )


@ROUTER.post("/pictures")
async def pictures_route(runs: Runs, request: Request, model: str = "") -> StreamingResponse:
    """The table of several uploaded pictures, as lines of JSON."""
    content = await body_of(request, runs.limits.upload_bytes, "The pictures")
    return progress_lines(
        lambda tell: measured_pictures(runs, content, model, tell),
        *(MEASURING, request, runs.limits),
    )


@ROUTER.post("/file")
async def file_route(runs: Runs, request: Request, kind: str = ".csv") -> Response:
    """A table that the page holds as a file."""
    content = await body_of(request, runs.limits.table_bytes, "The table")

    def work() -> Response:
        table = sources.sent_table(json_object(content))
        return answers.download(file_of(table, kind), f"heads{kind}")

    return await FILES.answer(request, work)
