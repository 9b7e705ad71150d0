"""The table of checkpoints: each file here holds the lines of some families."""

import importlib
import pkgutil

from tests.checkpoints.parity import Case


def _found() -> list[Case]:
    files = [
        importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)
    ]
    return [case for file in files for case in file.CASES]


CASES = _found()
