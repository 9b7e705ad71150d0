"""pyproject.toml promises, requirements-oldest.txt tests and requirements.txt runs on one list."""

import tomllib
from importlib.metadata import requires
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]


def promised():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = (project["dependencies"], *project["optional-dependencies"].values())
    return {one.name: one.specifier for one in map(Requirement, chain.from_iterable(lists))}


def pinned(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert all([one.operator for one in pin.specifier] == ["=="] for pin in pins)
    return {pin.name: Version(next(iter(pin.specifier)).version) for pin in pins}


def test_the_oldest_that_are_tested_are_the_lower_bounds():
    oldest = pinned("requirements-oldest.txt")
    for name, bounds in promised().items():
        lower = [Version(one.version) for one in bounds if one.operator == ">="]
        assert lower == [oldest[name]], f"{name}: {bounds} is promised, {oldest[name]} is tested"


def test_what_the_tests_use_installs_beside_the_oldest():
    oldest = {
        canonicalize_name(name): pin for name, pin in pinned("requirements-oldest.txt").items()
    }
    for name in pinned("requirements-dev.txt"):
        for asked in map(Requirement, requires(name) or ()):
            pin = oldest.get(canonicalize_name(asked.name))
            if pin and (asked.marker is None or asked.marker.evaluate({"extra": ""})):
                assert pin in asked.specifier, f"{name} asks for {asked}, {pin} is the oldest"


def test_what_the_app_runs_on_is_within_the_bounds():
    bounds, runs_on = promised(), pinned("requirements.txt")
    assert set(runs_on) == set(bounds) - {"ray", "anywidget", "traitlets"}
    for name, version in runs_on.items():
        assert version in bounds[name], f"{name} {version} is not {bounds[name]}"
