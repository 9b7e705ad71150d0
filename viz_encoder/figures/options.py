"""All views by name, and their options as text, from an address or a command line."""

import contextlib
import inspect
from collections.abc import Mapping
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any

from viz_encoder.arguments.public import written_heads, written_number
from viz_encoder.errors import SelectionError
from viz_encoder.figures.view import SWITCH, Control, View
from viz_encoder.figures.view import VIEWS as VIEWS
from viz_encoder.trace import Trace


def read_options(view: View, given: Mapping[str, str]) -> dict[str, Any]:
    """The keywords for `view.draw`; it checks itself that a number is within the run."""
    controls = {control.name: control for control in view.options}
    if "layer" not in controls and "state" in controls:  # as links from before call it
        given = {"state" if name == "layer" else name: text for name, text in given.items()}
    for name in given:
        if name not in controls:
            raise SelectionError(
                f"{view.title} has no option {shown(name)}; it has {', '.join(controls) or 'none'}."
            )
    return {name: _value(controls[name], text) for name, text in given.items()}


def offered(view: View, trace: Trace) -> list[dict[str, Any]]:
    """Each control as plain data: its label, choices, words, the numbers it takes, its default."""
    defaults = {
        name: given.default for name, given in inspect.signature(view.draw).parameters.items()
    }
    return [
        {
            "name": control.name,
            "label": control.label,
            "choices": list(control.choices),
            "words": list(control.words),
            "counts": control.counts,
            "most": _most(control, trace),
            "default": _default(control, defaults.get(control.name)),
        }
        for control in view.options
    ]


def _default(control: Control, value: Any) -> Any:
    return SWITCH[value] if control.choices == SWITCH else value


def _most(control: Control, trace: Trace) -> int | None:
    """The largest number that the run has; None where anything may be given."""
    counted = {
        "layer": trace.n_layers - 1,
        "state": trace.n_layers,
        "head": trace.n_heads - 1,
        "token": trace.n_tokens - 1,
    }
    return counted.get(control.counts)


def _value(control: Control, text: str) -> Any:
    """A choice by its name, yes or no, a word, a number, or several heads with commas."""
    if control.choices == SWITCH:
        text = {"true": "yes", "false": "no", "1": "yes", "0": "no"}.get(text.lower(), text)
    if control.choices:
        if text not in control.choices:
            raise SelectionError(
                f"{control.label} is {shown(text)}; choose {', '.join(control.choices)}."
            )
        return text == "yes" if control.choices == SWITCH else text
    heads, number = written_heads(text), written_number(text)
    if control.counts == "head" and heads is not None:
        return heads
    if control.counts != "name" and number is not None:
        return number
    if not control.counts:
        with contextlib.suppress(ValueError):
            return float(text)
    if control.counts not in ("", "name", "token") and text not in control.words:
        also = "".join(f", or {word}" for word in control.words)
        raise SelectionError(f"{control.label} is {shown(text)}; give a whole number{also}.")
    return text


def placed(tab: str, slot: str) -> list[View]:
    """The views of a slot of the page, in their order."""
    found = [(view.place, view) for view in VIEWS.values() if view.place is not None]
    there = [(at.order, view) for at, view in found if (at.tab, at.slot) == (tab, slot)]
    return [view for _, view in sorted(there, key=lambda pair: pair[0])]
