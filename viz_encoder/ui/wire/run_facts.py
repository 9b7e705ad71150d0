"""Routes for every tab: first run, opening, closing; a run's proof, image and predictions."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from string import digits
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response

from viz_encoder.analyses.predictions import predictions as predictions_of
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.trace.prediction_heads import choose_head
from viz_encoder.ui.state.readable import printable
from viz_encoder.ui.state.restoring import restore
from viz_encoder.ui.state.run_description import RunDescription
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Held, Runs
from viz_encoder.ui.wire.body_limits import json_object, sent
from viz_encoder.ui.wire.bytes import finite
from viz_encoder.ui.wire.concurrency import Places, Plain, at_once
from viz_encoder.ui.wire.errors import ErrorRoute

ROUTER = APIRouter(prefix="/viz", route_class=ErrorRoute)


@ROUTER.get("/first")
def first_route(request: Request) -> Response:
    """The description of the run that a page opens on, without any queue."""
    return answers.plain(request.app.state.first_run.description(), answers.FRESH)


@ROUTER.get("/run/{run}/proof")
@at_once
def proof(entry: Held) -> Plain:
    """Whether the maps are the ones that ran, with the evidence."""
    found = entry.trace.proof
    error = None if found.error is None else finite(found.error)
    told = {"passed": found.passed, "sentence": found.sentence, "error": error}
    return {**told, "checked": found.checked}


@ROUTER.get("/run/{run}/predictions")
@at_once
def predictions(entry: Held, task: str = "", layer: int | None = None) -> list[dict[str, Any]]:
    """What the model's head says of a run: of its output, or after a layer (0 = embeddings).

    Ten labels for each guess, and what the head can't answer.
    """
    if entry.encoder is None:
        raise SelectionError(
            "The model of this run is not loaded here, so its prediction heads cannot run."
        )
    knows = known_labels(choose_head(entry.encoder, task).labels)
    found = predictions_of(entry.encoder, entry.trace, task=task, state=layer)
    return [
        {
            "token": guess.token,
            "labels": [printable(label) for label in guess.labels],
            "shares": finite(guess.shares),
            "unit": guess.unit,
            "knows": knows if guess.token is None else "",
        }
        for guess in found
    ]


@ROUTER.get("/run/{run}/picture.png")
def picture_route(entry: Held) -> Response:
    """The picture as it was cut into patches."""
    pixels = entry.trace.sample.picture
    if pixels is None:
        raise SelectionError("This run read a text; it has no picture.")
    return answers.picture(answers.png(pixels))


ENDPOINTS = (proof, predictions)


def known_labels(labels: Sequence[str]) -> str:
    """Possible answers of a head with few enough labels to list; "" for others."""
    if not 1 < len(labels) <= 10:
        return ""
    if set(labels) == set(digits):
        return "This model knows only the digits 0 to 9; anything else is read as one of them."
    return f"This model knows only these {len(labels)} labels; any input is read as one of them."


def require_text(what: str, value: object) -> str:
    """The value, if it is text."""
    if not isinstance(value, str):
        raise InputError(f"{what} is {type(value).__name__}, not text.")
    return value


PLACES = Places(1)  # runs of a model
File = Annotated[bytes, sent(lambda limits: limits.upload_bytes, "The file")]
MAX_LINK = 2**16
NO_LINK = "What was sent is not the link of a run; send its parts as a JSON object of texts."


@ROUTER.post("/open/link")
@PLACES
def open_link(link: Annotated[bytes, sent(MAX_LINK, "The link")], runs: Runs) -> Response:
    """The description of the run that a link asks for, held or made again."""
    return answers.plain(restore(runs, _link(link)), answers.FRESH)


@ROUTER.post("/open/saved")
@PLACES
def open_saved(file: File, runs: Runs) -> Response:
    """The description of a run that was saved to a file, the body of the request."""
    return answers.plain(saved_run(runs, file), answers.FRESH)


def saved_run(runner: Runner, content: bytes) -> RunDescription:
    """The description of the run in a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "The file")  # as sentences about it begin
        path.write_bytes(content)
        return runner.saved(str(path))


def _link(content: bytes) -> dict[str, str]:
    query = json_object(content, NO_LINK)
    if not all(isinstance(part, str) for part in query.values()):
        raise InputError(NO_LINK)
    return query


MAX_NAME = 64  # bytes; Gradio's names of sessions have 11


@ROUTER.post("/closed")
def closed(name: Annotated[bytes, sent(MAX_NAME, "The session")], runs: Runs) -> Response:
    """Let go of what only this page showed, before it expires; a reload still finds it.

    Gradio knows it by a stream that every open page holds; a browser opens six connections to a
    server, so the seventh page in one browser would never load.
    """
    runs.release(name.decode("utf-8", "replace"))
    return Response(status_code=204)
