"""The run that a page opens on: made once, and kept for as long as the server lives."""

import contextlib
import threading

from viz_encoder.errors import VizEncoderError
from viz_encoder.ui.state.examples import opening_of
from viz_encoder.ui.state.run_description import RunDescription
from viz_encoder.ui.state.runner import Runner


class FirstRun:
    """The run that the server was started on, or the first example; it needs no queue."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._lock = threading.Lock()
        self._description: RunDescription | None = None

    def description(self) -> RunDescription:
        """Description of the first run for the page.

        Raises:
            VizEncoderError: the example's model cannot be loaded.
        """
        with self._lock:
            if self._description is None:
                self._description = self._made()
            return self._description

    def warm(self) -> None:
        """Make the run and load every listed model, before the first request."""
        with contextlib.suppress(VizEncoderError):  # the error is shown to whoever asks for it
            self.description()
        for name in self._runner.models.names():
            with contextlib.suppress(VizEncoderError):
                self._runner.models.get(name)

    def _made(self) -> RunDescription:
        runner = self._runner
        if runner.first is not None:
            return runner.again(runner.first)
        first, *others = runner.models.names("text")
        try:
            made = runner.text(first, opening_of(first).text)
        except VizEncoderError:  # an encoder of one's own may take ids alone
            if not others:
                raise
            made = runner.text(others[0], opening_of(others[0]).text)
        runner.store.hold(made["key"])
        return made
