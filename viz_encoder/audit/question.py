"""Question: what a check of masks is, which data it declares, and the order that follows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import IntEnum, auto
from graphlib import TopologicalSorter
from typing import Any

from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.report import Check


class Evidence(IntEnum):
    """What a failure of a check proves, the strongest first."""

    CALL = auto()  # a call cannot be trusted
    PASSED = auto()  # what is passed is wrong by itself, before anything runs
    SPOILED = auto()  # all that looks at tokens is spoiled: samples mix, closed keys keep a weight
    WEIGHTS = auto()  # a head looks where it may not
    LINKS = auto()  # an output depends on a token that it may not know of
    BESIDE = auto()  # a memory is looked at, or a bias added, otherwise than is meant
    COMPANY = auto()  # an output changes with what stands beside it: padding, other samples
    SWITCHES = auto()  # it changes with gradients, or not with the mask
    BATCHES = auto()  # batches of another kind are wrong: other padding, other lengths
    WAYS = auto()  # what is to give the same does not: documents alone, other implementations
    USE = auto()  # it is wrong as it will be used: step by step, in another dtype, in training


@dataclass(frozen=True)
class Question:
    """A check: what it is called, how it is answered, what it proves and what it needs.

    Names in `after` are those of checks, and of kinds of evidence: each check that proves that.
    """

    name: str
    title: str
    ask: Callable[[AuditContext], Check]
    proves: Evidence
    of: str = (
        "made"  # of batches that the audit makes, "own": of one of the caller's, or "made own"
    )
    after: tuple[str, ...] = ()  # if one of these failed, this failure follows from it
    needs: tuple[str, ...] = ()  # it reads the answers of these, too
    before: tuple[str, ...] = ()  # it is asked before these, of which it tells nothing
    corrupts: bool = False  # if it fails, nothing that any other run shows can be trusted
    runs_nothing: bool = False  # it is asked even where the model does not run
    one_sided: bool = False  # its answer is the same on whichever side padding stands
    other_side: bool = False  # if both sides are judged, it tells the worst of the other one
    part: str = ""  # what of a model it judges, such as "layers" or "memory"
    judges: bool = False  # it sees where tokens attend; without any such check there is no PASS
    compares: bool = False  # it compares outputs, which also differ where samples share a capacity
    needs_numbers: bool = False  # it can tell nothing of NaN; no check that compares can
    suspects: bool = False  # it sees a likely cause, whose effect another check may find
    explained_by: tuple[str, ...] = ()  # the checks that `after` names, the strongest first


def question(
    title: str, proves: Evidence, *, after: str = "", needs: str = "", before: str = "", **more: Any
) -> Callable[[Callable[[AuditContext], Check]], Question]:
    """Turn a function into the check of its name; names have spaces between."""
    names = {"after": after, "needs": needs, "before": before}
    more |= {key: tuple(given.split()) for key, given in names.items()}
    return lambda ask: Question(ask.__name__, title, ask, proves, **more)


def _explained(questions: list[Question]) -> tuple[Question, ...]:
    """Each with the checks whose failures explain its own, the strongest evidence first."""
    ranked = sorted(questions, key=lambda one: one.proves)
    corrupts = [one.name for one in ranked if one.corrupts]
    found = []
    for one in questions:
        spoils = () if one.corrupts or one.proves is Evidence.PASSED else corrupts
        found.append(
            replace(one, explained_by=tuple(dict.fromkeys((*spoils, *_named(one, ranked)))))
        )
    return tuple(found)


def _named(one: Question, questions: Iterable[Question]) -> list[str]:
    """Those of the checks that its `after` names."""
    found = [other for other in questions if {other.name, other.proves.name} & {*one.after}]
    return [other.name for other in found if other.name != one.name]


def in_order(questions: Iterable[Question]) -> tuple[Question, ...]:
    """Each after what it needs and follows from; of those left, the strongest evidence, by name."""
    known = {one.name: one for one in questions}
    order: TopologicalSorter[str] = TopologicalSorter()
    for one in known.values():
        order.add(one.name, *known.keys() & {*one.needs, *_named(one, known.values())})
        for later in known.keys() & {*one.before}:
            order.add(later, one.name)
    order.prepare()
    ready: list[str] = []
    found: list[Question] = []
    while order.is_active():
        ready += order.get_ready()
        ready.sort(key=lambda name: (known[name].proves, name))
        found.append(known[ready.pop(0)])
        order.done(found[-1].name)
    return _explained(found)
