"""Restoring: the run that a link asks for, or that a page opens on, as it is held or made again."""

import contextlib
import threading

from viz_encoder.errors import InputError, SelectionError, VizEncoderError
from viz_encoder.ui.state.examples import opening_of
from viz_encoder.ui.state.recipe import Recipe
from viz_encoder.ui.state.run_description import RunDescription
from viz_encoder.ui.state.runner import Runner, TellStage, silent

# Parts of a link, the first of which it needs, and how a note ends that says they are left out.
PARTS = {
    ("pad",): "the run is shown without padding.",
    # Both count the tokens of the padded text, so they are not for the text alone.
    ("ran", "mistake", "scope", "pad"): "the run is shown without a mask.",
    ("cut", "pad"): "the run is shown unchanged.",
}
NOT_AS_LINKED = tuple(PARTS.values())
PURPOSE = "see it as the link has it"
KEPT = "the model and the link's other choices are kept."
GONE = {
    "image": "a link cannot hold a picture of your own; drop it again and press Run",
    "file": "a link cannot hold a saved run; open its file again",
    "text": "its text was too long for a link; paste it again and press Run",
}


def restore(
    runner: Runner, query: dict[str, str], owner: str | None = None, tell: TellStage = silent
) -> RunDescription:
    """The description of the run that a link asks for; without one, of the first example.

    A run that is held is shown; one that has expired is made again, with its mask and changes. What
    of these cannot be made is left out, and a note says why.

    Raises:
        SelectionError: it has expired, and the link does not hold its input; or no such model.
    """
    asked = query.get("run") or (runner.first if "kind" not in query else None)
    if asked:
        try:
            return runner.again(asked, owner)
        except SelectionError:
            if "kind" not in query or asked == runner.first:
                raise
            _require_input(query)
    made_from = {name for names in PARTS for name in names}
    link = {name: part for name, part in query.items() if name not in made_from}
    if not link.get("model"):
        link["model"] = runner.models.names("image" if link.get("kind") == "image" else "text")[0]
    key, notes = runner.run(Recipe.from_link(link), tell=tell), []
    for names, without in PARTS.items():
        if not query.get(names[0]):
            continue
        more = {name: query[name] for name in names if query.get(name)}
        try:
            made = Recipe.from_link(link | more)
            parts = {"mask": made.mask, "pad": made.pad, "changes": made.changes}
            key = runner.rerun(key, PURPOSE, **parts)
            link |= more
        except (SelectionError, InputError) as fault:
            notes.append(f"{str(fault).rstrip('.')}; {without}")
    described = runner.again(key, owner)
    return {**described, "notes": [*described["notes"], *notes]}


def _require_input(query: dict[str, str]) -> None:
    """Refuse a link whose run is gone and whose input it cannot hold, in a sentence."""
    image = query["kind"] == "image"
    if "example" in query if image else "a" in query:
        return
    why = GONE["file" if query.get("from") == "file" else "image" if image else "text"]
    raise SelectionError(f"The run of this link has expired on the server, and {why}; {KEPT}")


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
