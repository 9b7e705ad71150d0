"""Named endpoints, for gradio_client and plain HTTP: routes, or functions of the runner."""

import base64
import inspect
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import wraps
from typing import Any

import gradio as gr
import numpy as np
from fastapi import Request
from fastapi.params import Depends
from gradio.events import api

from viz_encoder.arguments import read_argument
from viz_encoder.errors import InputError, VizEncoderError
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.wire.arguments import Runs
from viz_encoder.ui.wire.bytes import finite
from viz_encoder.ui.wire.errors import NO_MEMORY
from viz_encoder.ui.wire.watch import watched

UNFORESEEN = "That failed; the server's log says why. Try another input."
LONGEST = 300  # characters of a sentence in the log
log = logging.getLogger(__name__)
Endpoint = Callable[..., Any]
NAMES = {"run": "key", "key": "token"}  # in an address, and here


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
    """The function without its runner; a fault is the sentence that a client can show.

    Of a route, what it takes from an address is what a client sends, by the same names but two:
    a run is a key here, and a key a token.
    """
    work = getattr(function, "work", None)
    _, *parameters = inspect.signature(function).parameters.values()
    if work is not None:
        parameters = sorted(_taken(work).values(), key=lambda each: each.default is not each.empty)

    @wraps(function)
    def endpoint(*sent: Any) -> Any:
        try:
            if work is None:
                return function(runner, *sent)
            named = dict(zip((each.name for each in parameters), sent, strict=False))
            found = work(**_filled(work, runner, named))
            return finite(found) if isinstance(found, np.ndarray) else found
        except VizEncoderError as fault:
            raise _refusal(function.__name__, str(fault)) from fault
        except MemoryError as fault:
            raise _refusal(function.__name__, NO_MEMORY) from fault
        except Exception as fault:
            if misread := _misread(parameters, sent):
                raise _refusal(function.__name__, misread) from fault
            raise gr.Error(UNFORESEEN) from fault  # which prints it to the server's log

    returned = inspect.signature(work or function).return_annotation
    returned = list if returned is np.ndarray else returned
    signature = inspect.Signature(parameters, return_annotation=returned)
    endpoint.__signature__ = signature  # type: ignore[attr-defined]
    taken = {each.name: each.annotation for each in parameters}
    endpoint.__annotations__ = {**taken, "return": returned}  # Gradio looks at both
    return endpoint


def _taken(work: Endpoint) -> dict[str, inspect.Parameter]:
    """What a client sends for it, and for what its parameters depend on."""
    found: dict[str, inspect.Parameter] = {}
    for name, each in inspect.signature(work).parameters.items():
        if (part := _dependency(each)) is not None:
            found |= _taken(part)
        elif name != "tell" and each.annotation is not Request:
            sent = NAMES.get(name, name)
            found[sent] = each.replace(name=sent, kind=each.POSITIONAL_OR_KEYWORD)
    return found


def _filled(
    work: Endpoint, runner: Runner, sent: Mapping[str, Any], own: bool = True
) -> dict[str, Any]:
    """Its arguments of what was sent; what is its own, or a switch, is read by its annotation."""
    given: dict[str, Any] = {}
    for name, each in inspect.signature(work).parameters.items():
        if each.annotation == Runs:
            given[name] = runner
        elif (part := _dependency(each)) is not None:
            given[name] = _now(part(**_filled(part, runner, sent, own=False)))
        elif name == "tell":
            given[name] = watched(runner.limits)
        elif NAMES.get(name, name) in sent:
            value = sent[NAMES.get(name, name)]
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if (own or each.annotation is bool) and name != "run":
                value = read_argument(NAMES.get(name, name), value, each.annotation, InputError)
            given[name] = value
    return given


def _dependency(parameter: inspect.Parameter) -> Endpoint | None:
    marks = getattr(parameter.annotation, "__metadata__", ())
    return next((mark.dependency for mark in marks if isinstance(mark, Depends)), None)


def _now(found: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine that waits for nothing returns."""
    try:
        found.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("It waits for something.")


def _refusal(name: str | None, sentence: str) -> gr.Error:
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
