"""Swept: the survey of one run under each of the switches, layer by layer as it is asked for."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.survey import SIZE, LayerSurvey, swept_layers
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import MapView

Means = Float[np.ndarray, "head key"]
Switches = tuple[bool, bool, bool]


@dataclass(eq=False)
class Swept:
    """Layers in order, each swept once; what was found stays when a sweep fails."""

    trace: Trace
    switches: Switches = (False, False, False)  # hide special tokens, renormalize rows, merge words
    layers: list[LayerSurvey] = field(default_factory=list)
    nbytes: int = 0  # size of the results so far
    _means: list[Means] = field(default_factory=list)
    _sweep: Iterator[tuple[LayerSurvey, Means]] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def layer(self, number: int) -> tuple[LayerSurvey, Means]:
        """Thumbnails and statistics of one layer, and the mean weight that each key gets."""
        with self._lock:
            while len(self.layers) <= number:
                if self._sweep is None:
                    every = swept_layers(self.trace, SIZE, *self.switches)
                    self._sweep = islice(every, len(self.layers), None)
                try:
                    surveyed, means = next(self._sweep)
                except BaseException:
                    self._sweep = None  # a generator that raised would be at its end for ever
                    raise
                self.layers.append(surveyed)
                self._means.append(means)
                self.nbytes += surveyed.nbytes + means.nbytes
            return self.layers[number], self._means[number]


class Surveys:
    """The surveys of one run, one for each way to set the switches."""

    def __init__(self, trace: Trace) -> None:
        self.as_it_ran = Swept(trace)
        self._all = {self.as_it_ran.switches: self.as_it_ran}

    @property
    def nbytes(self) -> int:
        """Bytes of all of them."""
        return sum(swept.nbytes for swept in list(self._all.values()))

    def of(self, view: MapView) -> Swept:
        """The survey of what a view keeps."""
        switches = view.hide_special, view.renormalize, view.words
        return self._all.setdefault(switches, Swept(self.as_it_ran.trace, switches))
