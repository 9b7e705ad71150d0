"""Which values of a parameter `make test` tries; `make test-all` tries all of them."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def slow(*values: Any) -> Any:
    """These values of a test's parameters, in `make test-all` only."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_but(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Values of one parameter, all slow but those that are kept, which there must be."""
    values = list(values)
    assert all(one in values for one in kept), kept
    return [one if one in kept else slow(one) for one in values]
