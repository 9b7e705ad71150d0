"""TellDone: how far a corpus is, who is told, and how it is stopped."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from viz_encoder.errors import TraceError


@dataclass(frozen=True)
class Done:
    """Progress of a corpus: items done, the total if known, and the start time."""

    n: int
    total: int | None
    resumed: int  # of n, finished in an earlier run
    seconds: float

    @property
    def rate(self) -> float:
        """Items a second, without those that were done before."""
        return (self.n - self.resumed) / self.seconds if self.seconds > 0 else 0.0

    @property
    def sentence(self) -> str:
        """Such as "1,200 of 2,000, 310 a second"."""
        of = "" if self.total is None else f" of {self.total:,}"
        return f"{self.n:,}{of}, {self.rate:,.0f} a second"


TellDone = Callable[[Done], bool | None]  # False stops


class CorpusWatch:
    """Reports progress, and stops the work when told to."""

    def __init__(
        self, total: int | None, progress: TellDone | None, folder: str | Path | None
    ) -> None:
        self._total, self._progress, self._folder = total, progress, folder
        self._n = self._resumed = 0
        self._start = time.monotonic()

    def tell(self, n: int, resumed: bool = False) -> None:
        """Count n more items.

        Raises:
            TraceError: `progress` returned False.
        """
        self._n += n
        self._resumed += n if resumed else 0
        if self._progress is None:
            return
        done = Done(self._n, self._total, self._resumed, time.monotonic() - self._start)
        if self._progress(done) is False and self._n != self._total:
            kept = "nothing was kept" if self._folder is None else f"{self._folder} keeps the parts"
            raise TraceError(f"Stopped after {done.sentence}; {kept}.")
