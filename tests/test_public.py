"""The public surface and the error tree: what is promised is there, and nothing else."""

import ast
import importlib
import inspect
import operator
import re
from pathlib import Path

import mypy.api
import pytest

import viz_encoder as vz
import viz_encoder.audit
from viz_encoder import errors
from viz_encoder.figures.options import VIEWS

SKETCHED = "name-defined, no-untyped-def, no-untyped-call"  # some names stand for much
ROOT = Path(vz.__file__).parent.parent
PUBLIC = {
    *("Encoder", "EncoderConfig", "Trace", "VizEncoderError", "analyses", "assert_mask"),
    *("Attribution", "attribute", "attribute_pair"),
    *("audit_mask", "capture", "figures", "launch", "load", "pool", "read_set", "record"),
    *("audit_batch", "corpus", "effect", "effects", "ablate", "patch", "watch"),
}


def exported() -> set[str]:
    """Names that __init__.py gives out: re-exported ones and those imported when asked for."""
    found = set(vz._LAZY)
    for node in ast.parse(Path(vz.__file__).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            found |= {
                alias.asname for alias in node.names if alias.asname and alias.asname[0] != "_"
            }
    return found


def test_public_names():
    assert exported() == PUBLIC


def test_dir_is_the_promised_surface_whatever_was_imported():
    folders = [p.name for p in Path(vz.__file__).parent.iterdir() if (p / "__init__.py").exists()]
    for folder in folders:
        imported = importlib.import_module(f"viz_encoder.{folder}")
        assert getattr(vz, folder) is imported  # that import works as ever
    assert {"trace", "model", "audit"} < set(folders)
    assert set(dir(vz)) == PUBLIC


def test_every_analysis_is_a_function_and_takes_the_name_of_its_module():
    assert {"rollout", "collection", "survey", "between_runs"} < set(dir(vz.analyses))
    for name in dir(vz.analyses):
        function = getattr(vz.analyses, name)
        assert inspect.isfunction(function) and inspect.getdoc(function)
    from viz_encoder.analyses.rollout import FUSES, rollout

    assert rollout is vz.analyses.rollout and "mean" in FUSES
    from viz_encoder.analyses import rollout as again

    assert again is rollout


def test_figures_list_their_views():
    assert dir(vz.figures) == sorted(VIEWS)
    assert all(getattr(vz.figures, name) is view.draw for name, view in VIEWS.items())


def test_mypy_sees_a_signature_behind_every_function(tmp_path):
    """As in a user's own file: no function that we give out is Any."""
    packages = (vz, vz.analyses, vz.audit, vz.effects, vz.figures)
    names = [f"{package.__name__}.{name}" for package in packages for name in dir(package)]
    calls = [name for name in names if inspect.isfunction(operator.attrgetter(name[12:])(vz))]
    lines = [
        *(f"import {package.__name__}" for package in packages),
        *map("reveal_type({})".format, calls),
    ]
    (tmp_path / "user.py").write_text("\n".join(lines))
    told = checked_by_mypy(tmp_path / "user.py")
    shown = re.findall(r'Revealed type is "(.*)"', told)
    assert len(shown) == len(calls) > 60, told
    assert all("viz_encoder." in each or "torch." in each for each in shown), told


@pytest.mark.slow
def test_the_blocks_of_the_readme_are_typed(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    typed = [block for block in blocks if "gradio_client" not in block]  # which has no types
    files = [tmp_path / f"block_{number}.py" for number in range(len(typed))]
    stub = (
        "from typing import Any\nAutoModel: Any\nAutoTokenizer: Any\n"  # to read all takes minutes
    )
    (tmp_path / "transformers.pyi").write_text(stub)
    for path, block in zip(files, typed, strict=True):
        path.write_text(f'# mypy: disable-error-code="{SKETCHED}"\n{block}', encoding="utf-8")
    told = checked_by_mypy(*files)
    assert "viz_encoder" not in told and told.startswith("Success"), told
    files[0].write_text('import viz_encoder as vz\nvz.load("grammar").nothing\n', encoding="utf-8")
    assert "no attribute" in checked_by_mypy(files[0])


def checked_by_mypy(*given) -> str:
    """What it says, with the project's settings and the cache that `make test` has filled."""
    own = ["--config-file", f"{ROOT}/pyproject.toml", "--cache-dir", f"{ROOT}/.mypy_cache"]
    told, fault, _ = mypy.api.run([*own, *map(str, given)])
    assert not fault
    return told


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
