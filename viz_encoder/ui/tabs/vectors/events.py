"""Button handlers of the Vectors tab; an error leaves the display unchanged and is reported."""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr

from viz_encoder.errors import VizEncoderError
from viz_encoder.inputs.items import Item
from viz_encoder.ui.state.run_description import for_component
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.vectors.set_items import kind_of
from viz_encoder.ui.tabs.vectors.set_runs import Report, compare, learn, state_after
from viz_encoder.ui.wire.errors import alert
from viz_encoder.ui.wire.watch import watched

NO_MEMORY = "That needs more memory than is available; give fewer or shorter items."
Told = tuple[Any, Any]  # the result's description, and the notice beside it


class PoolingEvents:
    """Compare, Train and Stop; each page has one at a time that can be stopped."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.stops: dict[str, threading.Event] = {}

    def begin(self, request: gr.Request) -> Any:
        """A click, before its turn has come: what this page has running ends, and Stop counts."""
        self.stop(request)
        self.stops[request.session_hash or ""] = threading.Event()
        return gr.update(visible=True)

    def stop(self, request: gr.Request) -> None:
        """End what runs for this page after its present batch."""
        if (stop := self.stops.get(request.session_hash or "")) is not None:
            stop.set()

    def comparing(self, read: Callable[[Any], tuple[Sequence[Item], str]]) -> Callable[..., Told]:
        """Handler that compares poolings on what it is given, read as items with a name."""

        def compare_items(
            given: Any,
            text_model: str,
            picture_model: str,
            request: gr.Request,
            progress: gr.Progress = gr.Progress(),  # noqa: B008  (Gradio finds it in the signature)
        ) -> Told:
            def work() -> dict[str, Any]:
                items, named = read(given)
                model = text_model if kind_of(items) == "text" else picture_model
                report = self._report(request, progress)
                return compare(self.runner, items, model, request.session_hash, report, named=named)

            return self._told(work, request)

        return compare_items

    def learn(
        self,
        shown: str,
        text_model: str,
        blocks: str,
        seeds: float,
        steps: float,
        request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008
    ) -> Told:
        """Learn a query from the set that is shown, if it has labels, or from the built-in one."""
        description = json.loads(shown) if shown else {}
        key = description["key"] if description.get("labels") else ""
        owner, report = request.session_hash, self._report(request, progress)

        def work() -> dict[str, Any]:
            given = self.runner, key, text_model, owner, report
            return learn(*given, layer=state_after(blocks), n_seeds=seeds, steps=steps)

        return self._told(work, request)

    def _told(self, work: Callable[[], dict[str, Any]], request: gr.Request) -> Told:
        try:
            return for_component(work()), ""
        except VizEncoderError as fault:
            return gr.skip(), alert(str(fault))
        except MemoryError:
            return gr.skip(), alert(NO_MEMORY)
        finally:
            self.stops.pop(request.session_hash or "", None)

    def _report(self, request: gr.Request, progress: gr.Progress) -> Report:
        stop = self.stops.setdefault(request.session_hash or "", threading.Event())
        check = watched(self.runner.limits)

        def report(share: float, words: str) -> bool | None:
            if stop.is_set():
                return False
            check()
            progress(share, desc=words)
            return None

        return report
