"""The public surface and the error tree: what is promised is there, and nothing else."""

import ast
import inspect
from pathlib import Path

import pytest

import viz_encoder as vz
from viz_encoder import errors

PUBLIC = {
    *("Encoder", "EncoderConfig", "Trace", "VizEncoderError"),
    *("assert_mask", "audit_mask", "capture", "figures", "launch", "load", "pool", "record"),
}


def exported() -> set[str]:
    """Names that __init__.py gives out: re-exported ones and those imported when asked for."""
    found = set(vz._LAZY)
    for node in ast.parse(Path(vz.__file__).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname for alias in node.names if alias.asname}
    return found


def test_public_names():
    assert exported() == PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_each_is_there_and_says_what_it_is(name):
    assert inspect.getdoc(getattr(vz, name))


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        vz.nothing  # noqa: B018


def drawn() -> dict[str, str]:
    """Child → parent, as the docstring of errors.py draws it."""
    lines = [line for line in errors.__doc__.splitlines() if "──" in line]
    above, found = {0: "VizEncoderError"}, {}
    for line in lines:
        depth = line.index("──") // 4 + 1
        name = line[line.index("──") + 2 :].split()[0]
        above[depth] = name
        found[name] = above[depth - 1]
    return found


def test_the_drawn_error_tree_is_the_real_one():
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    real = {k.__name__: k.__base__.__name__ for k in kinds if k is not vz.VizEncoderError}
    assert drawn() == real and vz.VizEncoderError.__base__ is Exception
    assert all(inspect.getdoc(kind) for kind in kinds)
