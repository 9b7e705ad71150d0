"""Fixtures of the tests that load many checkpoints."""

import sys

import pytest

from tests.checkpoints.faults import built_once

load_module = sys.modules["viz_encoder.checkpoints.load"]  # the package's name for it is a function


@pytest.fixture
def quick_loads(monkeypatch):
    """Half of loading a tiny checkpoint is building its modules: here once for each config."""
    monkeypatch.setattr(load_module, "without_weights", built_once(load_module.without_weights))
