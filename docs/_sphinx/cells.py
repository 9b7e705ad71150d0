"""A page's cells, run in order as a notebook would: what they print and what their last line is."""

import ast
import contextlib
import io
from typing import Any, NamedTuple


class Ran(NamedTuple):
    """What a cell gave: its prints, and the value of its last line if that is an expression."""

    printed: str
    value: Any


def run_cell(code: str, scope: dict[str, Any], name: str) -> Ran:
    """Run one cell; `scope` holds the page's names, and `name` is how tracebacks call it."""
    tree = ast.parse(code, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, name, "exec"), scope)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), scope)
    return Ran(printed.getvalue(), value)
