"""Routes of the Corpus tab: the table that ships, tables of texts that were sent, and files."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from viz_encoder.arguments import Progress
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
from viz_encoder.ui.wire.body_limits import body_of, json_object, sent
from viz_encoder.ui.wire.concurrency import Places, Plain
from viz_encoder.ui.wire.errors import ErrorRoute

ROUTER = APIRouter(prefix="/viz/corpus", route_class=ErrorRoute)
MEASURING = Places(1)  # a corpus keeps a processor busy: one at a time
FILES = Places(1)
MOST_BYTES = 50_000_000  # per file; one line for each of 2,000 texts
FILE = "The file"


async def _file(request: Request, runs: Runs, name: str = "") -> bytes:
    most = runs.limits.upload_bytes
    return await body_of(request, most if name.endswith(ZIP) else min(MOST_BYTES, most), FILE)


Pictures = Annotated[bytes, sent(lambda limits: limits.upload_bytes, "The pictures")]
Table = Annotated[bytes, sent(lambda limits: limits.table_bytes, "The table")]


@ROUTER.get("/example")
@FILES
def corpus_example() -> Plain:
    """Head table of the example sentences on the built-in model, measured in advance."""
    return example()


@ROUTER.post("/example")
@MEASURING.lines
def example_on_route(runs: Runs, tell: Progress, model: str = "") -> Plain:
    """The example sentences on another model, as lines of JSON."""
    return described(over(runs, sources.example_texts(), sources.EXAMPLE, model, tell))


@ROUTER.post("/treebank")
@MEASURING.lines
def treebank_route(runs: Runs, tell: Progress) -> Plain:
    """The example treebank on its model, with its relations, as lines of JSON."""
    return example_trees(runs, tell)


@ROUTER.post("/measured")
@MEASURING.lines
def measured_route(
    runs: Runs,
    content: Annotated[bytes, Depends(_file)],
    tell: Progress,
    name: str = "",
    model: str = "",
    column: str = "text",
    second: str = "",
) -> Plain:
    """The table of an uploaded file, or of pasted lines, as lines of JSON."""
    return measured(runs, name or sources.PASTED, content, model, column, tell, second)


@ROUTER.post("/pictures")
@MEASURING.lines
def pictures_route(runs: Runs, content: Pictures, tell: Progress, model: str = "") -> Plain:
    """The table of several uploaded pictures, as lines of JSON."""
    return measured_pictures(runs, content, model, tell)


@ROUTER.post("/file")
@FILES
def file_route(content: Table, kind: str = ".csv") -> Response:
    """A table that the page holds as a file; megabytes of JSON, which are read by a thread."""
    table = sources.sent_table(json_object(content))
    return answers.download(file_of(table, kind), f"heads{kind}")
