"""Named endpoints, for gradio_client and plain HTTP: functions of the runner and what was sent."""

import base64
import inspect
import logging
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import gradio as gr
from gradio.events import api

from viz_encoder.arguments import read_argument
from viz_encoder.errors import InputError, VizEncoderError
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.wire.errors import NO_MEMORY

UNFORESEEN = "That failed; the server's log says why. Try another input."
LONGEST = 300  # characters of a sentence in the log
log = logging.getLogger(__name__)
Endpoint = Callable[..., Any]


def in_queue(name: str) -> Callable[[Endpoint], Endpoint]:
    """Queue an endpoint with others of its kind, without delaying runs.

    Use it for whatever may take longer than a few runs, however large the input is. What runs the
    model a fixed number of times, as /what_if does, may wait among the runs.
    """

    def mark(function: Endpoint) -> Endpoint:
        function.queue = name  # type: ignore[attr-defined]
        return function

    return mark


def add_endpoints(
    runner: Runner, functions: Iterable[Endpoint], queue: str = "model", at_once: int = 1
) -> None:
    """Register each under its own name; call inside `with gr.Blocks()`.

    The first parameter of each is the runner; the others are what a client sends. Of those in one
    queue, at most `at_once` run at a time; `in_queue` names another queue.
    """
    for function in functions:
        endpoint = bound(runner, function)
        line = {"concurrency_id": getattr(function, "queue", queue), "concurrency_limit": at_once}
        api(endpoint, api_name=function.__name__, **line)


def bound(runner: Runner, function: Endpoint) -> Endpoint:
    """The function without its runner; a fault is the sentence that a client can show."""
    _, *parameters = inspect.signature(function).parameters.values()

    @wraps(function)
    def endpoint(*sent: Any) -> Any:
        try:
            return function(runner, *sent)
        except VizEncoderError as fault:
            raise _refusal(function.__name__, str(fault)) from fault
        except MemoryError as fault:
            raise _refusal(function.__name__, NO_MEMORY) from fault
        except Exception as fault:
            if misread := _misread(parameters, sent):
                raise _refusal(function.__name__, misread) from fault
            raise gr.Error(UNFORESEEN) from fault  # which prints it to the server's log

    signature = inspect.signature(function).replace(parameters=parameters)
    endpoint.__signature__ = signature  # type: ignore[attr-defined]
    return endpoint


def _refusal(name: str | None, sentence: str) -> gr.Error:
    """Error for the client, logged in one line."""
    log.warning("refused, /%s: %s", name, sentence[:LONGEST])
    return gr.Error(sentence, print_exception=False)


def _misread(parameters: Iterable[inspect.Parameter], sent: Iterable[Any]) -> str:
    """Name a value of the wrong type: Gradio passes on any JSON."""
    for parameter, value in zip(parameters, sent, strict=False):
        try:
            read_argument(parameter.name, value, parameter.annotation, InputError)
        except VizEncoderError as fault:
            return str(fault)
    return ""


def decoded(content: object) -> bytes:
    """The file that a client sent as base64: a path could name any file of the server."""
    try:
        return base64.b64decode(content, validate=True)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError("The file must be sent as base64 text of its bytes.") from None


def check_arguments(page: gr.Blocks) -> None:
    """Complete and check clients' arguments before any handler runs.

    Gradio itself answers a value too few, or one it cannot read, with no word of what was wrong.
    """
    read = page.preprocess_data

    async def preprocess_data(block_fn: Any, inputs: list[Any], *rest: Any, **named: Any) -> Any:
        _complete(block_fn, inputs)
        try:
            return await read(block_fn, inputs, *rest, **named)
        except Exception as fault:
            if isinstance(fault, gr.Error) and not fault.print_exception:
                raise  # a refusal of ours
            raise _refusal(
                block_fn.api_name,
                f"{_name(block_fn)} cannot read what was sent; {_takes(block_fn)}.",
            ) from fault

    page.preprocess_data = preprocess_data  # type: ignore[method-assign]


def _complete(block_fn: Any, inputs: list[Any]) -> None:
    """Add the defaults of what was left out, as gradio_client would have done."""
    parameters = _parameters(block_fn)
    for parameter in parameters[len(inputs) :]:
        if parameter.default is inspect.Parameter.empty:
            raise _refusal(
                block_fn.api_name,
                f"{_name(block_fn)} was sent {len(inputs)} values; {_takes(block_fn)}.",
            )
        inputs.append(parameter.default)


def _parameters(block_fn: Any) -> list[inspect.Parameter]:
    if block_fn.fn is None:
        return []
    every = inspect.signature(block_fn.fn).parameters.values()
    return list(every)[: len(block_fn.inputs)]


def _name(block_fn: Any) -> str:
    return f"/{block_fn.api_name}" if block_fn.api_name else "The page"


def _takes(block_fn: Any) -> str:
    """Such as: it takes key, layer, head and, if you like, hide_special."""
    needed: list[str] = []
    optional: list[str] = []
    for parameter in _parameters(block_fn):
        missing = parameter.default is inspect.Parameter.empty
        (needed if missing else optional).append(parameter.name)
    more = f" and, if you like, {', '.join(optional)}" if optional else ""
    return f"it takes {', '.join(needed) or 'nothing'}{more}"
