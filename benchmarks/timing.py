"""Timing: two things alternated in one process, and the ratio of their medians."""

import statistics
import time
from collections.abc import Callable

import torch

Work = Callable[[], object]
MIN_SECONDS, MAX_ROUNDS = 5.0, 60  # short runs are noisy, so they get more rounds


def ratio(measured: Work, against: Work, rounds: int) -> float:
    """Median seconds of `measured` over median seconds of `against`, alternated, warmed up."""
    seconds: tuple[list[float], list[float]] = ([], [])
    measured(), against()  # the first calls allocate
    enough = round(MIN_SECONDS / (clock(measured) + clock(against)))
    n_rounds = 1 if rounds == 1 else max(rounds, min(enough, MAX_ROUNDS))
    for number in range(n_rounds + 1):
        for work, kept in zip((measured, against), seconds, strict=True):
            took = clock(work)
            if number:  # the first round warms up
                kept.append(took)
    return statistics.median(seconds[0]) / statistics.median(seconds[1])


def clock(work: Work) -> float:
    """Seconds of one call: of processor time, which other programs don't add to; on a GPU, of wall time."""
    now = time.perf_counter if torch.cuda.is_available() else time.process_time
    _finish()
    start = now()
    work()
    _finish()
    return now() - start


def _finish() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
