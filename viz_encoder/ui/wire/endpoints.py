"""Named endpoints: everything a person can do on the page, for gradio_client and plain HTTP."""

import base64
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import gradio as gr
from gradio.events import api

from viz_encoder.analyses.overview import overview, row
from viz_encoder.errors import InputError, TooLong, VizEncoderError
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.wire.numbers import finite, parse_head, parse_index
from viz_encoder.ui.wire.routes import visible

MAX_TOKENS_AS_NUMBERS = 512
NO_MEMORY = "That needs more memory than there is; shorten the input."
UNFORESEEN = "That could not be done; the server's log says why. Try another input."
T = TypeVar("T")


def add_endpoints(runner: Runner) -> None:
    """Register them on the page that is being built; call inside `with gr.Blocks()`."""
    for endpoint in (
        *(_models(runner), _run_text(runner), _run_picture(runner), _open_saved(runner)),
        *(_attention(runner), _attention_row(runner), _statistics(runner), _proof(runner)),
    ):
        api(endpoint, api_name=endpoint.__name__, concurrency_id="model", concurrency_limit=1)


def _models(runner: Runner) -> Any:
    def models() -> list[str]:
        """The names of the models offered here."""
        return runner.models.names()

    return models


def _run_text(runner: Runner) -> Any:
    def run_text(text_a: str, text_b: str = "", model: str = "all-MiniLM-L6-v2") -> dict[str, Any]:
        """Encode a text, or a pair of texts; returns the run's key, tokens and sizes."""
        return plainly(lambda: _object(runner.text(model, text_a, text_b)))

    return run_text


def _run_picture(runner: Runner) -> Any:
    def run_picture(picture: str, model: str = "scene") -> dict[str, Any]:
        """Encode a picture file, sent as base64; returns the run's key, patches and sizes."""
        return plainly(lambda: _object(runner.picture(model, _bytes(picture))))

    return run_picture


def _open_saved(runner: Runner) -> Any:
    def open_saved(file: str) -> dict[str, Any]:
        """Open a saved trace, sent as base64; returns its key, tokens and sizes."""
        return plainly(lambda: _saved(runner, file))

    return open_saved


def _attention(runner: Runner) -> Any:
    def attention(
        key: str, layer: int, head: str, hide_special: bool = False
    ) -> list[list[float | None]]:
        """One head's map, rows = queries, columns = keys; head is a number, "mean" or "max".

        Keys that the mask forbids are null.
        """

        def numbers() -> list[list[float | None]]:
            trace = runner.store.get(key).trace
            if trace.n_tokens > MAX_TOKENS_AS_NUMBERS:
                raise TooLong(
                    f"This run has {trace.n_tokens:,} tokens; a whole map is given as numbers up "
                    f"to {MAX_TOKENS_AS_NUMBERS}. Ask /attention_row for one query."
                )
            kept = visible(trace, hide_special)
            everything = slice(0, len(kept))
            tile = overview(
                trace,
                parse_index("layer", layer, trace.n_layers),
                parse_head(head, trace),
                rows=everything,
                keys=everything,
                size=MAX_TOKENS_AS_NUMBERS,
                tokens=kept if hide_special else None,
            )
            return finite(tile.values)

        return plainly(numbers)

    return attention


def _attention_row(runner: Runner) -> Any:
    def attention_row(key: str, layer: int, head: str, query: int) -> list[float | None]:
        """Where one query looks: its weights over all keys; keys the mask forbids are null."""

        def numbers() -> list[float | None]:
            trace = runner.store.get(key).trace
            place = parse_index("layer", layer, trace.n_layers), parse_head(head, trace)
            return finite(row(trace, *place, parse_index("query", query, trace.n_tokens)))

        return plainly(numbers)

    return attention_row


def _statistics(runner: Runner) -> Any:
    def head_statistics(key: str, layer: int) -> dict[str, list[float | None]]:
        """Every statistic of a layer's heads, a number a head; null where there is none."""

        def numbers() -> dict[str, list[float | None]]:
            entry = runner.store.get(key)
            named = entry.survey(parse_index("layer", layer, entry.trace.n_layers)).statistics
            return {name: finite(values) for name, values in named.items()}

        return plainly(numbers)

    return head_statistics


def _proof(runner: Runner) -> Any:
    def proof(key: str) -> dict[str, Any]:
        """Whether the maps are the ones that ran, with the evidence."""

        def evidence() -> dict[str, Any]:
            found = runner.store.get(key).trace.proof
            error = None if found.error is None else finite(found.error)
            return {"passed": found.passed, "sentence": found.sentence, "error": error}

        return plainly(evidence)

    return proof


def plainly(work: Callable[[], T]) -> T:
    """The result, or the fault as the sentence that a client can show."""
    try:
        return work()
    except VizEncoderError as fault:
        raise gr.Error(str(fault), print_exception=False) from fault
    except MemoryError as fault:
        raise gr.Error(NO_MEMORY, print_exception=False) from fault
    except Exception as fault:
        raise gr.Error(UNFORESEEN) from fault  # which prints it to the server's log


def _bytes(content: object) -> bytes:
    """The file that a client sent as base64: a path could name any file of the server."""
    try:
        return base64.b64decode(content, validate=True)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError("The file must be sent as base64 text of its bytes.") from None


def _saved(runner: Runner, content: object) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "The file")  # as sentences about it begin
        path.write_bytes(_bytes(content))
        return _object(runner.saved(str(path)))


def _object(description: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(description)
    return content
