"""The mask zoo as plain data: its specimens, and the audit of each, made once and kept."""

import gzip
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any

import numpy as np
import torch

from viz_encoder.arguments import Progress
from viz_encoder.audit import MaskReport, Picture, audit_mask
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.zoo import SPECIMENS, Specimen
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError
from viz_encoder.ui.tabs.masks.own_code import own_code
from viz_encoder.ui.tabs.masks.pictures import (
    NOTHING,
    Like,
    as_it_ran,
    cell_of,
    context_of,
    first_of,
    led_by,
    real_tokens_in,
)
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


def kept(identifier: str) -> dict[str, Any]:
    """The audit of the wrong line with seed 0, as it was kept.

    Raises:
        SelectionError: there is no such specimen.
    """
    return kept_answers()[_known(identifier)]


def _known(identifier: object) -> str:
    if not isinstance(identifier, str) or identifier not in SPECIMENS:
        known = ", ".join(SPECIMENS)
        raise SelectionError(f"There is no specimen {shown(identifier)}; choose one of {known}.")
    return identifier


class Audits:
    """The latest audits of the zoo; one at a time, and the same one never twice."""

    def __init__(self, audit: Callable[..., MaskReport] = audit_mask) -> None:
        self._audit = audit
        self._kept: OrderedDict[tuple[str, bool, int], dict[str, Any]] = OrderedDict()
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
        """
        identifier = _known(identifier)
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
        given = SPECIMENS[identifier].build(seed, fixed=fixed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # a bug may draw, such as dropout
            report = self._audit(
                given.model, given.intent, given.make_mask, **given.options, progress=tell
            )
        given = SPECIMENS[identifier].build(seed, fixed=fixed)  # as fresh as the audit found it
        context = context_of(given)
        found = self._pictures(
            context, report, self._like(identifier, seed, tell) if fixed else None
        )
        return {
            "identifier": identifier,
            "fixed": fixed,
            "seed": seed,
            "kept": False,
            "report": json.loads(report.to_json()),
            "pictures": found,
        }

    def _pictures(
        self, context: AuditContext, report: MaskReport, like: Like | None
    ) -> list[dict[str, Any]]:
        own = [] if report.ok else _distinct(report.pictures)
        check = first_of(report)
        all_of_it = [as_it_ran(context, like)] if like and not own else led_by(check, context, own)
        return [
            _picture(context, one, cell_of(check, one, first=at == 0), drawn=one in own)
            for at, one in enumerate(all_of_it)
        ]

    def _like(self, identifier: str, seed: int, tell: Progress | None) -> Like:
        """The place of the wrong line's first picture, shown again when it is corrected."""
        found = kept_answers()[identifier] if seed == 0 else self.of(identifier, False, seed, tell)
        first = found["pictures"][0]
        place = (first["layer"], first["head"], first["sample"])
        return Like(*place, len(first["intended"][0]), first["observed_is"])


AUDITS = Audits()


def _distinct(pictures: tuple[Picture, ...]) -> list[Picture]:
    """Each picture once; several checks may draw the same one."""
    found: dict[Any, Picture] = {}
    for one in pictures:
        found.setdefault((one.title, one.intended.tobytes(), one.observed.tobytes()), one)
    return list(found.values())


def _picture(
    context: AuditContext, one: Picture, cell: tuple[int, int], *, drawn: bool
) -> dict[str, Any]:
    measured: np.ndarray = np.ones((len(one.intended), 1), dtype=bool)
    if one.observed_is == "gradients":  # padding, and some rows of long texts, have none
        measured = np.asarray(one.observed.any(axis=1, keepdims=True))
    observed = finite(np.where(measured, one.observed, np.nan))
    return {
        "title": one.title,
        "source": "audit" if drawn else "run",  # where no check drew one
        "cell": list(cell),  # which is told of first
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


FILE = "zoo.json.gz"


@cache
def kept_answers() -> dict[str, dict[str, Any]]:
    """By specimen, the audit as it was when the file was made."""
    return {one["identifier"]: one for one in json.loads(gzip.decompress(asset(FILE).read_bytes()))}


def write(answers: Iterable[dict[str, Any]]) -> None:
    """Keep these audits in place of what is in the file."""
    packed = [
        {**one, "kept": True, "pictures": [_rounded(each) for each in one["pictures"]]}
        for one in answers
    ]
    text = json.dumps(packed, ensure_ascii=False, separators=(",", ":"))
    asset(FILE).write_bytes(gzip.compress(text.encode(), mtime=0))


def _rounded(picture: dict[str, Any]) -> dict[str, Any]:
    def short(value: float | None) -> float | None:
        return None if value is None else float(f"{value:.4g}")

    observed = picture["observed"]
    return {**picture, "observed": observed and [[short(one) for one in row] for row in observed]}
