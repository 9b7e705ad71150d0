"""The `{api}` directive, and how signatures, fields and endpoints read on the API pages."""

import inspect
import re
from enum import Enum
from functools import partial
from importlib import import_module
from typing import Any, get_type_hints

from docutils.nodes import Node
from docutils.statemachine import StringList
from fields import fields_of
from listed import listed
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from viz_encoder.ui.wire.endpoints import bound

NOT_WRITTEN = ("The former name", "Alias for field number")  # old names; what Fields has


class Api(SphinxDirective):
    """```{api} analyses```: everything of a page, in the order of `listed`."""

    required_arguments = 1

    def run(self) -> list[Node]:
        """The entries as autodoc makes them."""
        lines = ["```{eval-rst}"]
        for name in listed(self.arguments[0]):
            lines += [f".. {_directive(_found(name))}:: {name}", ""]
        return self.parse_text_to_nodes(StringList([*lines, "```"], source="listed.py"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect all of it."""
    app.add_directive("api", Api)
    app.connect("autodoc-process-docstring", _list_names, priority=200)
    app.connect("autodoc-process-docstring", _add_fields, priority=300)
    app.connect("autodoc-process-docstring", _escape, priority=400)  # before napoleon's 500
    app.connect("autodoc-process-docstring", _keep_colons, priority=600)  # after napoleon
    app.connect("autodoc-process-signature", _shorten)
    app.connect("autodoc-skip-member", _is_left_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _found(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def _directive(value: Any) -> str:
    if not inspect.isclass(value):
        return "autofunction"
    return "autoexception" if issubclass(value, BaseException) else "autoclass"


def _list_names(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """List what a class's docstring says as "name: what it is", each with the lines below it."""
    if what != "class":
        return
    told, within = list[str](), False
    for line in lines:
        named = re.match(r"[a-z_]+(, [a-z_]+)*: ", line) is not None
        within = named or (within and bool(line))
        told += ["", f"- {line}"] if named else [f"  {line.lstrip()}" if within else line]
    lines[:] = told


def _escape(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Let |x| and a * b stand as they are: our docstrings are plain text but for `code`."""
    whole = "\n".join(lines)
    spans = re.split(r"(`+[^`]+`+)", whole)
    plain = [
        re.sub(r"([|*])", r"\\\1", text) if at % 2 == 0 else text for at, text in enumerate(spans)
    ]
    lines[:] = "".join(plain).split("\n")


def _keep_colons(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Undo what napoleon makes of a property: it takes what stands before a colon for a type."""
    if what == "property" and any(line.startswith(":type:") for line in lines):
        lines[:] = (inspect.getdoc(value) or "").split("\n")
        _escape(app, what, name, value, options, lines)


def _add_fields(
    app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Write a dataclass's fields below its docstring, with their types and comments."""
    own = fields_of(value) if what == "class" else []
    if _is_enum(value):
        lines += ["", "One of " + ", ".join(f"``{str(member)!r}``" for member in value) + "."]
    if not own or "Attributes:" in lines:
        lines[:] = ["Fields:" if line == "Attributes:" else line for line in lines]
        return
    lines += ["", "Fields:"]
    for one in own:
        default = f" Default: ``{one.default}``." if one.default else ""
        said = f"{one.comment[:1].upper()}{one.comment[1:]}." if one.comment else ""
        lines += [f"    {one.name} (``{one.type}``): {said}{default}".rstrip()]


def _shorten(
    app: Sphinx, what: str, name: str, value: Any, options: Any, signature: Any, returned: Any
) -> tuple[Any, Any]:
    """Remove what users never pass: a result's constructor arguments, an endpoint's runner."""
    if what == "class" and (fields_of(value) or _is_enum(value)):
        # Where the docstring tells of the fields, their types stand in the signature alone.
        told = "Attributes:" in (value.__doc__ or "")
        return (signature or "").replace("<factory>", "{}") if told else "", None
    if getattr(value, "work", None):  # a route: what a client sends of it
        endpoint = bound(None, value)  # type: ignore[arg-type]
        sent, kinds = inspect.signature(endpoint), get_type_hints(endpoint)  # without limits
        taken = [each.replace(annotation=kinds[name]) for name, each in sent.parameters.items()]
        return str(inspect.Signature(taken)), inspect.formatannotation(sent.return_annotation)
    if signature and signature.startswith("(runner: "):  # of an endpoint: no client sends it
        rest = signature.partition(", ")[2]
        return f"({rest}" if rest else "()", returned
    return signature and re.sub(r"= ([A-Z_]{3,})\b", partial(_value, value), signature), returned


def _is_enum(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Enum)


def _value(function: Any, named: re.Match[str]) -> str:
    """A default that the source gives by a constant's name, as what it is."""
    constant = getattr(inspect.unwrap(function), "__globals__", {}).get(named[1], named[1])
    return f"= {constant!r}" if isinstance(constant, int | float | str | tuple) else named[0]


def _is_left_out(
    app: Sphinx, what: str, name: str, value: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what no one writes or what stands above it already."""
    return True if (value.__doc__ or "").startswith(NOT_WRITTEN) else None
