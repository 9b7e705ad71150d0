"""The checks, one subject a file, found by discovery and asked in the order that each says.

A check asks the AuditContext and gives a Check; some also have find_fault, for other checks to
put the same question to another batch.
"""

import importlib
import pkgutil
from operator import attrgetter

from viz_encoder.audit.question import Question


def _discover() -> tuple[Question, ...]:
    files = [
        importlib.import_module(f"{__name__}.{one.name}") for one in pkgutil.iter_modules(__path__)
    ]
    found = [one for file in files for one in vars(file).values() if isinstance(one, Question)]
    return tuple(sorted(found, key=attrgetter("order")))


QUESTIONS = _discover()
