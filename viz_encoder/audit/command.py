"""The command `viz-encoder audit module:function`: an audit for a terminal or a CI job.

Ends with 0 where nothing is red, 1 where the report is FAIL or ERROR, 2 where it was called
wrongly.
"""

import argparse
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from viz_encoder.audit.audit import audit_mask
from viz_encoder.audit.report import MaskReport
from viz_encoder.errors import InputError, MaskError, VizEncoderError
from viz_encoder.whole_file import require_writable, shortened, write_whole

RED, WRONGLY_CALLED = 1, 2
TARGET = (
    "my_model:masks, a function without arguments in a module of the current folder; it returns "
    "the keywords of viz_encoder.audit_mask as a dict (model, intent, make_mask, d_model, …), or "
    "the MaskReport itself"
)


def add_audit(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to a parser."""
    audit = commands.add_parser(
        "audit",
        help="audit a model's attention mask; exit status 1 if it fails",
        description="Audit a model's attention mask. It runs the Python code that you name.",
    )
    audit.add_argument("target", metavar="module:function", help=TARGET)
    audit.add_argument("--json", action="store_true", help="print the report as JSON")
    audit.add_argument("-o", "--output", help="also write the report as JSON to this file")
    audit.set_defaults(run=run_audit)


def run_audit(given: argparse.Namespace) -> None:
    """Audit, print, and end the program with the status where that is not 0."""
    try:
        if given.output:
            require_writable(given.output)
        report = report_of(given.target)
        if given.output:
            write_whole([f"{report.to_json()}\n".encode()], given.output)
    except (VizEncoderError, OSError) as fault:
        print(f"viz-encoder: {fault}", file=sys.stderr)
        raise SystemExit(WRONGLY_CALLED) from None
    print(report.to_json() if given.json else report)
    if not report.ok:
        raise SystemExit(RED)


def report_of(target: str) -> MaskReport:
    """The report of what the named function gives.

    Raises:
        InputError: there is no such function, it raises, or it gives something else.
    """
    found = _called(target, _function(target))
    if isinstance(found, MaskReport):
        return found
    if not isinstance(found, Mapping):
        raise InputError(
            f"{target} returned {type(found).__name__}; it must return a dict of keywords of "
            "audit_mask, or a MaskReport."
        )
    known = inspect.signature(audit_mask).parameters
    unknown = [str(name) for name in found if name not in known]
    if unknown or not {"model", "intent"} <= set(found):
        wrong = f"{unknown[0]!r} is not a keyword" if unknown else "model and intent are needed"
        raise InputError(f"{target}: {wrong} of audit_mask; known are {', '.join(known)}.")
    return audit_mask(**found)


def _called(target: str, function: Callable[[], Any]) -> Any:
    """Result of the function or its failed assertion; other exceptions become one line."""
    try:
        inspect.signature(function).bind()
    except TypeError as fault:
        raise InputError(f"{target} takes arguments ({fault}); it must take none.") from None
    except ValueError:
        pass  # a builtin without a signature
    try:
        return function()
    except MaskError as fault:
        return fault.report
    except VizEncoderError:
        raise
    except Exception as fault:
        raise InputError(f"{target} raised {_in_a_line(fault)}.") from None


def _in_a_line(fault: Exception) -> str:
    return " ".join(f"{type(fault).__name__}: {fault}".split()).rstrip(".: ")


def _function(target: str) -> Callable[[], Any]:
    name, colon, attribute = target.partition(":")
    if not colon or not name or not attribute:
        raise InputError(f"{shortened(target)!r} does not name a function; write module:function.")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as fault:
        if fault.name is None or not f"{name}.".startswith(f"{fault.name}."):
            raise InputError(f"Module {name!r} raised {_in_a_line(fault)}.") from None
        raise InputError(f"There is no module {name!r} in {here}.") from None
    except Exception as fault:
        raise InputError(f"Module {name!r} raised {_in_a_line(fault)}.") from None
    finally:
        sys.path.remove(here)
    function = getattr(module, attribute, None)
    if not callable(function):
        raise InputError(f"Module {name!r} has no function {attribute!r}.")
    return function
