"""Question: what a check is, and how it says so."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.report import Check

IN_PLACE = 15  # the place of "in_place" in the order
FIRST = "runs static constants batch_independence"  # what spoils all that looks at tokens
# They see a wrong mask as it is passed; what would see it again in another way follows from them.
SEEN_FIRST = "runs static batch_independence maps row_sums gradient perturbation padding_invariance"


@dataclass(frozen=True)
class Question:
    """A check: what it is called, how it is answered, and which failures explain its own."""

    name: str
    title: str
    ask: Callable[[AuditContext], Check]
    after: tuple[str, ...] = ()  # if one of these failed, this failure follows from it
    order: int = 1000  # checks are asked in this order
    one_sided: bool = False  # its answer is the same on whichever side padding stands
    judges: bool = False  # it sees where tokens attend; without any such check there is no PASS
    compares: bool = False  # it compares outputs, which also differ where samples share a capacity
    needs_numbers: bool = False  # it can tell nothing of NaN; no check that compares can
    suspects: bool = False  # it sees a likely cause, whose effect another check may find

    @property
    def explained_by(self) -> tuple[str, ...]:
        """Checks whose failures explain this one's: a corrupted call corrupts all later ones."""
        return ("in_place", *self.after) if self.order > IN_PLACE else self.after


def question(
    title: str, *, after: str = "", **more: Any
) -> Callable[[Callable[[AuditContext], Check]], Question]:
    """Turn a function into the check of its name; `after` are names, with spaces between."""
    return lambda ask: Question(ask.__name__, title, ask, tuple(after.split()), **more)
