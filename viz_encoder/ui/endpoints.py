"""Named endpoints: everything a person can do on the page, for gradio_client and plain HTTP."""

import base64
import json
import tempfile
from collections.abc import Callable
from typing import Any, TypeVar

import gradio as gr
import numpy as np
from gradio.events import api

from viz_encoder.analyses.overview import overview, row
from viz_encoder.errors import InputError, SelectionError, TooLong, VizEncoderError
from viz_encoder.ui.routes import parse_head, visible
from viz_encoder.ui.run import Runner

MAX_TOKENS_AS_NUMBERS = 512
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
        return _plainly(lambda: _object(runner.text(model, text_a, text_b)))

    return run_text


def _run_picture(runner: Runner) -> Any:
    def run_picture(picture: str, model: str = "scene") -> dict[str, Any]:
        """Encode a picture file, sent as base64; returns the run's key, patches and sizes."""
        return _plainly(lambda: _object(runner.picture(model, _bytes(picture))))

    return run_picture


def _open_saved(runner: Runner) -> Any:
    def open_saved(file: str) -> dict[str, Any]:
        """Open a saved trace, sent as base64; returns its key, tokens and sizes."""
        return _plainly(lambda: _saved(runner, file))

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
                _index("layer", layer, trace.n_layers),
                parse_head(str(head), trace),
                rows=everything,
                keys=everything,
                size=MAX_TOKENS_AS_NUMBERS,
                tokens=kept if hide_special else None,
            )
            return _nulls(tile.values)

        return _plainly(numbers)

    return attention


def _attention_row(runner: Runner) -> Any:
    def attention_row(key: str, layer: int, head: str, query: int) -> list[float | None]:
        """Where one query looks: its weights over all keys; keys the mask forbids are null."""

        def numbers() -> list[float | None]:
            trace = runner.store.get(key).trace
            place = _index("layer", layer, trace.n_layers), parse_head(str(head), trace)
            return _nulls(row(trace, *place, _index("query", query, trace.n_tokens)))

        return _plainly(numbers)

    return attention_row


def _statistics(runner: Runner) -> Any:
    def head_statistics(key: str, layer: int) -> dict[str, list[float]]:
        """Every statistic of a layer's heads, a list with one number a head."""

        def numbers() -> dict[str, list[float]]:
            entry = runner.store.get(key)
            named = entry.survey(_index("layer", layer, entry.trace.n_layers)).statistics
            return {name: values.tolist() for name, values in named.items()}

        return _plainly(numbers)

    return head_statistics


def _proof(runner: Runner) -> Any:
    def proof(key: str) -> dict[str, Any]:
        """Whether the maps are the ones that ran, with the evidence."""

        def evidence() -> dict[str, Any]:
            found = runner.store.get(key).trace.proof
            return {"passed": found.passed, "sentence": found.sentence, "error": found.error}

        return _plainly(evidence)

    return proof


def _plainly(work: Callable[[], T]) -> T:
    """The result, or the fault as the sentence that a client can show."""
    try:
        return work()
    except VizEncoderError as fault:
        raise gr.Error(str(fault), print_exception=False) from fault


def _bytes(content: object) -> bytes:
    """The file that a client sent as base64: a path could name any file of the server."""
    try:
        return base64.b64decode(content, validate=True)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError("The file must be sent as base64 text of its bytes.") from None


def _saved(runner: Runner, content: object) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        file.write(_bytes(content))
        file.flush()
        return _object(runner.saved(file.name))


def _index(what: str, value: object, count: int) -> int:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    if not whole or value not in range(count):
        raise SelectionError(f"There is no {what} {value!r}; choose 0 to {count - 1}.")
    return int(value)  # type: ignore[call-overload]


def _object(description: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(description)
    return content


def _nulls(values: np.ndarray) -> Any:
    numbers = values.astype(object)
    numbers[np.isnan(values)] = None
    return numbers.tolist()
