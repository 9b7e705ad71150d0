"""The fields of a dataclass or named tuple as its source has them: type, default, comment."""

import ast
import dataclasses
import inspect
import io
import textwrap
import tokenize
from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """One field; `comment` is what stands behind it on its line, or nothing."""

    name: str
    type: str
    default: str
    comment: str


def fields_of(kind: type) -> list[Field]:
    """Those of its own and those it inherits; none of any other class."""
    found: dict[str, Field] = {}
    for owner in reversed(kind.__mro__):
        if dataclasses.is_dataclass(owner) or "_fields" in vars(owner):
            found |= {one.name: one for one in _written(owner)}
    return [one for one in found.values() if one.name[0] != "_"]


def _written(kind: type) -> list[Field]:
    source = textwrap.dedent(inspect.getsource(kind))
    comments = _comments(source)
    [body] = ast.parse(source).body
    assert isinstance(body, ast.ClassDef)
    return [
        Field(
            ast.unparse(line.target),
            _plain(line.annotation),
            _default(line.value),
            comments.get(line.end_lineno or 0, ""),
        )
        for line in body.body
        if isinstance(line, ast.AnnAssign) and "ClassVar" not in ast.unparse(line.annotation)
    ]


def _comments(source: str) -> dict[int, str]:
    """What stands behind code, by line; a comment that has a line of its own speaks of several."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = (token for token in tokens if token.type == tokenize.COMMENT)
    return {
        token.start[0]: token.string.lstrip("# ")
        for token in found
        if token.line[: token.start[1]].strip()
    }


def _plain(annotation: ast.expr) -> str:
    """As the source has it; np.ndarray and Tensor read better without what they come from."""
    return ast.unparse(annotation).replace("np.ndarray", "ndarray").replace("torch.", "")


def _default(value: ast.expr | None) -> str:
    """What it is where not given; a factory says nothing to a reader."""
    text = "" if value is None else ast.unparse(value)
    return "" if text.startswith("field(") else text
