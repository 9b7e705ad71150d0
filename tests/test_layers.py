"""Layers: what the import contracts cannot see, and methods that a layer above does.

`make check` holds the imports themselves, also those within functions: see .importlinter.
"""

import ast
import inspect
import re
from pathlib import Path

import pytest

import viz_encoder
from viz_encoder.ui.notebook.show import show

PACKAGE = Path(viz_encoder.__file__).parent
OWN = re.compile(r"viz_encoder(\.\w*)*")
BY_NAME = re.compile(r"\b(import_module|__import__)\b")


def named_modules(source: str) -> list[str]:
    """Modules of the package that a file which imports by name writes out."""
    if not BY_NAME.search(source):
        return []
    texts = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return [text for text in texts if isinstance(text, str) and OWN.fullmatch(text)]


def test_only_the_package_itself_imports_its_modules_by_name():
    files = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    files.pop(PACKAGE / "__init__.py")
    assert sum(bool(BY_NAME.search(text)) for text in files.values()) > 5  # discovery, by __name__
    assert {path: found for path, text in files.items() if (found := named_modules(text))} == {}


@pytest.mark.parametrize(
    "planted",
    [
        'from importlib import import_module\nimport_module("viz_encoder.export.cell")',
        'import importlib\nABOVE = "viz_encoder.ui"\ndef f():\n    importlib.import_module(ABOVE)',
        'import importlib as i\ndef f(name):\n    i.import_module(f"viz_encoder.figures.{name}")',
        'def f():\n    return __import__("viz_encoder.export")',
    ],
)
def test_a_module_that_is_named_is_found(planted):
    assert named_modules(planted)


METHODS = [
    (kind, name, show if name == "show" else function)  # which is imported late
    for kind, functions in viz_encoder._METHODS.items()
    for name, function in functions.items()
]


def taken(one) -> list[inspect.Parameter]:
    parameters = inspect.signature(one).parameters.values()
    return [each.replace(annotation=each.empty) for each in parameters]


@pytest.mark.parametrize(("kind", "name", "function"), METHODS)
def test_a_function_takes_what_the_method_declares(kind, name, function):
    declared, done = taken(getattr(kind, name)), taken(function)
    if not isinstance(vars(kind)[name], staticmethod):
        assert declared.pop(0).name == "self" and done.pop(0).default is inspect.Parameter.empty
    assert done == declared
