"""The checks, one file each, found by discovery and asked in the order that each says.

A check asks the AuditContext and gives a Check; some also have find_fault, for other checks to
put the same question to another batch.
"""

import importlib
import pkgutil
from operator import attrgetter

from viz_encoder.audit.question import Question


def _discover() -> tuple[Question, ...]:
    names = [found.name for found in pkgutil.iter_modules(__path__)]
    found = (getattr(importlib.import_module(f"{__name__}.{name}"), name) for name in names)
    return tuple(sorted(found, key=attrgetter("order")))


QUESTIONS = _discover()
