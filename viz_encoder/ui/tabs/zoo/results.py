"""The mask zoo as plain data: its specimens, and the audit of each, made once and kept."""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any

import numpy as np

from viz_encoder.audit import MaskReport, Picture, audit_mask
from viz_encoder.audit.arguments import Progress
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.zoo import SPECIMENS, Specimen
from viz_encoder.errors import SelectionError
from viz_encoder.ui.tabs.zoo.own_code import own_code
from viz_encoder.ui.tabs.zoo.pictures import NOTHING, as_it_ran, context_of, real_tokens_in
from viz_encoder.ui.wire.arguments import parse_index
from viz_encoder.ui.wire.bytes import finite

SECTIONS = (
    ("A", "Conventions and types"),
    ("B", "Empty rows, NaN, dtypes"),
    ("C", "Shapes and broadcasting"),
    ("D", "Causal, windows, documents"),
    ("E", "Padding, positions, pooling"),
    ("FH", "Hard ones"),
)
COMMAND = "viz-encoder audit my_model:masks"
# The beginners' quiz, easy ones first, and the bugs of its group that each one's picture rules out.
EASY = {
    "E9-no-mask": ("E3-mean", "E5-last", "E6-left-positions"),
    "D1-triu-2": ("D1-triu-0", "D3-corner", "D5-one-side"),
    "D5-one-side": ("D5-one-too-many", "D1-triu-2", "D6-packed"),
    "D5-one-too-many": ("D5-one-side", "D1-triu-0", "D6-packed"),
    "A1-sdpa": ("A2-sdpa", "A5-after-softmax", "A6-minus-ten"),
    "C2-transposed": ("C4-batch-first", "C6-softmax-axis", "C7-heads-by-view"),
    "D6-packed": ("D1-triu-2", "D5-one-side", "D1-triu-0"),
    "A6-tiny": ("A1-sdpa", "A6-minus-ten", "A1-multihead"),
    "A5-zero-scores": ("A1-sdpa", "A6-minus-ten", "A1-encoder"),
    "C5-one-head": ("C3-batch-is-length", "C4-batch-first", "C6-softmax-axis"),
}
SEEDS = 100
KEPT = 256  # a few hundred KiB in all


def zoo() -> dict[str, Any]:
    """The specimens by section, each with the code that audits one's own model."""
    sections = [
        {"title": title, "specimens": [_plain(one) for one in _of(letters)]}
        for letters, title in SECTIONS
    ]
    easy = [{"identifier": one, "others": list(others)} for one, others in EASY.items()]
    told = {"seeds": SEEDS, "command": COMMAND}
    return {"sections": sections, "easy": easy, **told}


def _of(letters: str) -> Iterator[Specimen]:
    return (one for one in SPECIMENS.values() if one.identifier[0] in letters)


def _plain(one: Specimen) -> dict[str, str]:
    names = ("identifier", "title", "symptom", "story", "wrong", "right", "flagged_by", "missed")
    told = {"expected": one.verdict, "own_code": own_code(one)}
    return {name: getattr(one, name) for name in names} | told


class Audits:
    """The latest audits of the zoo; one at a time, and the same one never twice."""

    def __init__(self, audit: Callable[..., MaskReport] = audit_mask) -> None:
        self._audit = audit
        self._kept: OrderedDict[tuple[str, bool, int], dict[str, Any]] = OrderedDict()
        self._first: dict[tuple[str, int], Picture | None] = {}
        self._lock = threading.RLock()

    def of(
        self,
        identifier: object,
        fixed: object = False,
        seed: object = 0,
        tell: Progress | None = None,
    ) -> dict[str, Any]:
        """The report on a specimen, or on the same model with the corrected line, and pictures.

        What `tell` raises ends the audit, of which nothing is kept then.

        Raises:
            SelectionError: there is no such specimen or seed.
        """
        if not isinstance(identifier, str) or identifier not in SPECIMENS:
            known = ", ".join(SPECIMENS)
            raise SelectionError(
                f"There is no specimen {shown(identifier)}; choose one of {known}."
            )
        if not isinstance(fixed, bool):
            raise SelectionError(f"fixed is {shown(fixed)}; it must be true or false.")
        key = identifier, fixed, parse_index("seed", seed, SEEDS)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = self._made(*key, tell)
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]

    def _made(
        self, identifier: str, fixed: bool, seed: int, tell: Progress | None
    ) -> dict[str, Any]:
        like = self._like(identifier, seed, tell) if fixed else None
        given = SPECIMENS[identifier].build(seed, fixed=fixed)
        report = self._audit(
            given.model, given.intent, given.make_mask, **given.options, progress=tell
        )
        given = SPECIMENS[identifier].build(seed, fixed=fixed)  # as fresh as the audit found it
        context = context_of(given)
        own = [] if report.ok else _distinct(report.pictures)
        if not fixed:
            self._first[identifier, seed] = own[0] if own else None
        pictures = [_picture(context, one, "audit") for one in own]
        if not own:
            pictures = [_picture(context, as_it_ran(context, report, like), "run")]
        return {
            "identifier": identifier,
            "fixed": fixed,
            "seed": seed,
            "report": json.loads(report.to_json()),
            "pictures": pictures,
        }

    def _like(self, identifier: str, seed: int, tell: Progress | None) -> Picture | None:
        """The worst picture of the wrong line, whose place is shown again when it is corrected."""
        if (identifier, seed) not in self._first:
            self.of(identifier, False, seed, tell)
        return self._first.get((identifier, seed))


AUDITS = Audits()


def _distinct(pictures: tuple[Picture, ...]) -> list[Picture]:
    """Each picture once; several checks may draw the same one."""
    found: dict[Any, Picture] = {}
    for one in pictures:
        found.setdefault((one.title, one.intended.tobytes(), one.observed.tobytes()), one)
    return list(found.values())


def _picture(context: AuditContext, one: Picture, source: str) -> dict[str, Any]:
    measured: np.ndarray = np.ones((len(one.intended), 1), dtype=bool)
    if one.observed_is == "gradients":  # padding, and some rows of long texts, have none
        measured = np.asarray(one.observed.any(axis=1, keepdims=True))
    observed = finite(np.where(measured, one.observed, np.nan))
    return {
        "title": one.title,
        "source": source,  # "audit", or "run" where no check drew one
        "layer": one.layer,
        "head": one.head,
        "sample": one.sample,
        "real": real_tokens_in(context, one),
        "intended": one.intended.tolist(),
        "passed": None if one.passed is None else one.passed.tolist(),
        "passed_as": one.passed_as,
        "observed": None if one.observed_is == NOTHING else observed,
        "observed_is": one.observed_is,
        "leaks": one.leaks.tolist(),
        "lost": (one.lost & measured).tolist(),
    }
