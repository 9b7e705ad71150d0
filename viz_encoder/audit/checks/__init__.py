"""The checks, one subject a file, found by discovery and asked in the order of what they declare.

A check asks the AuditContext and gives a Check. It knows no other check: what several ask of a
batch stands in `faults`.
"""

import importlib
import pkgutil

from viz_encoder.audit.question import Question, in_order


def _discover(of: str) -> tuple[Question, ...]:
    files = [
        importlib.import_module(f"{__name__}.{one.name}") for one in pkgutil.iter_modules(__path__)
    ]
    found = [one for file in files for one in vars(file).values() if isinstance(one, Question)]
    found = [one for one in found if of in one.of.split()]
    return in_order(found)


QUESTIONS = _discover("made")
OF_OWN_BATCH = _discover("own")
