"""What a client sent to an endpoint: left-out values are filled in, and faults become sentences."""

import inspect
from typing import Any

import gradio as gr


def check_arguments(page: gr.Blocks) -> None:
    """Have the page complete and check what clients send, before any handler runs.

    Gradio itself answers a value too few, or one it cannot read, with no word of what was wrong.
    """
    read = page.preprocess_data

    async def preprocess_data(block_fn: Any, inputs: list[Any], *rest: Any, **named: Any) -> Any:
        _complete(block_fn, inputs)
        try:
            return await read(block_fn, inputs, *rest, **named)
        except gr.Error:
            raise
        except Exception as fault:
            raise gr.Error(
                f"{_name(block_fn)} cannot read what was sent; {_takes(block_fn)}."
            ) from fault

    page.preprocess_data = preprocess_data  # type: ignore[method-assign]


def _complete(block_fn: Any, inputs: list[Any]) -> None:
    """Add the defaults of what was left out, as gradio_client would have done."""
    parameters = _parameters(block_fn)
    for parameter in parameters[len(inputs) :]:
        if parameter.default is inspect.Parameter.empty:
            raise gr.Error(
                f"{_name(block_fn)} was sent {len(inputs)} values; {_takes(block_fn)}.",
                print_exception=False,
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
