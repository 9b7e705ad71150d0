"""Asks for what must be refused, and for the sentence that says why."""

from collections.abc import Callable

import pytest


def refused(
    fault: type[Exception] | tuple[type[Exception], ...],
    says: str,
    ask: Callable[..., object],
    *given: object,
    **options: object,
) -> None:
    """Assert that `ask` raises one of those errors, with a message that matches the pattern."""
    with pytest.raises(fault, match=says):
        ask(*given, **options)
