"""Runs: from what a person typed or dropped to a stored trace and its description for the page."""

from collections.abc import Callable
from dataclasses import dataclass, field
from reprlib import repr as shown  # truncates: client input can be of any length
from typing import Any

from viz_encoder.analyses.predictions import tasks
from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, SelectionError, TooLong
from viz_encoder.trace import Trace, capture
from viz_encoder.ui.state.examples import PICTURES
from viz_encoder.ui.state.limits import LOCAL, Limits
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.opening import opening_of
from viz_encoder.ui.state.run_description import RunDescription, describe
from viz_encoder.ui.state.same_run import SameRuns
from viz_encoder.ui.state.saved_run import keep_saved
from viz_encoder.ui.state.sets import Sets
from viz_encoder.ui.state.store import TraceStore

KINDS = ("text", "pair", "image")
MAX_CHARACTERS = 2_000_000  # a request over this is refused unread
MAX_MAPS = 10_000  # heads of all layers, a cell of the atlas each
MAX_TOKENS = 2**17  # a map of more would take minutes
Tell = Callable[[float, str], None]


def silent(share: float, words: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Runner:
    """Runs a model on an input, and keeps the trace where the page's routes find it."""

    models: Models
    store: TraceStore
    first: str | None = None  # the key of the run that the server was started on
    sets: Sets = field(default_factory=Sets)  # for comparing poolings
    same: SameRuns = field(default_factory=SameRuns)
    limits: Limits = LOCAL

    def text(
        self,
        model: str,
        text_a: str,
        text_b: str = "",
        owner: str | None = None,
        tell: Tell = silent,
    ) -> RunDescription:
        """Encode one text, or a pair of texts; returns the run's description."""
        for text in (text_a, text_b):
            if not isinstance(text, str):
                raise InputError(f"The text is {type(text).__name__}, not text; type some text.")
            if len(text) > MAX_CHARACTERS:
                raise TooLong(
                    f"The text has {len(text):,} characters; at most {MAX_CHARACTERS:,} "
                    "are allowed."
                )
        pair = bool(text_b.strip())
        source = (text_a, text_b) if pair else text_a
        kind = "pair" if pair else "text"
        link = {"kind": kind, "model": model, "a": text_a, **({"b": text_b} if pair else {})}
        return self.again(self._key(model, "text", source, link, tell), owner)

    def picture(
        self,
        model: str,
        path: str | bytes | None,
        example: str = "",
        owner: str | None = None,
        tell: Tell = silent,
    ) -> RunDescription:
        """Encode a picture file, or one of the examples by name."""
        if example:
            if example not in PICTURES:
                raise SelectionError(
                    f"There is no example picture {shown(example)}; choose one of "
                    f"{', '.join(PICTURES)}."
                )
            path = str(asset(PICTURES[example]))
        if not path:
            raise InputError("Choose a picture first: drop a PNG, JPEG or WebP file on the box.")
        # A link cannot bring a person's own picture back, so it names the run itself.
        named = {"example": example} if example else {"run": ""}
        link = {"kind": "image", "model": model, **named}
        return self.again(self._key(model, "image", [path], link, tell), owner)

    def release(self, owner: str) -> None:
        """Let go soon of what a closed page showed alone."""
        self.store.release(owner)
        self.sets.release(owner)

    def saved(self, path: str | None, owner: str | None = None) -> RunDescription:
        """Open a trace that was saved to a file, here or on another machine.

        Its model runs it again if it is here: see `keep_saved`.
        """
        if not path:
            raise InputError("Choose a saved run first: a .safetensors file from trace.save(path).")
        trace = Trace.load(path)
        require_few(trace, self.limits.saved_cells)
        require_showable(trace)
        return self.again(keep_saved(self.store, self.models, trace), owner)

    def again(self, key: str, owner: str | None = None) -> RunDescription:
        """The description of a run that is still held."""
        entry = self.store.get(key)
        trace = entry.trace
        if owner is not None:
            self.store.claim(key, owner)
        kind = "image" if trace.grid else "text"
        own = entry.link or {"from": "file", "run": ""}
        link = {"kind": kind, "model": trace.origin.model, **own}
        link = {**link, "run": key} if "run" in link else link
        masked = entry.masked.words if entry.masked else ""
        opening = opening_of(entry)
        changed = None if entry.changed is None else entry.changed.plain_words
        tasks, here = _tasks(entry.encoder), entry.encoder is not None
        return describe(key, trace, link, link["kind"], tasks, masked, opening, changed, here)

    def _key(self, model: str, kind: str, source: Any, link: dict[str, str], tell: Tell) -> str:
        """The key of the run of an input; one that can be told by its link runs only once."""
        words = f"Loading {model} …"
        encoder = self.models.get(model, kind, lambda share: tell(0.1 + 0.4 * share, words))

        def run() -> str:
            tell(0.5, "Encoding …")
            inputs = encoder.read(source)
            key = self.store.put(capture(encoder, inputs)[0], encoder, inputs)
            self.store.get(key).link = link
            return key

        return run() if "run" in link else self.same.key_of(link, encoder, self.store, run)


def _tasks(encoder: LoadedEncoder | None) -> list[str]:
    """Tasks of the model's heads on its runs."""
    return [] if encoder is None else [str(task) for task in tasks(encoder)]


def require_few(trace: Trace, most: int | None) -> None:
    """Refuse a saved run whose maps take long to compute again, on a server for strangers.

    Raises:
        TooLong: its maps have more cells than that together.
    """
    cells = sum(layer.n_heads for layer in trace.layers) * trace.n_tokens**2
    if most is not None and cells > most:
        raise TooLong(
            f"The maps of this run have {cells:,} cells; this server computes up to {most:,} for "
            "a saved run. Open it on your own machine with viz-encoder serve."
        )


def require_showable(trace: Trace) -> None:
    """Refuse what the page has no view for, in a sentence.

    Raises:
        InputError: cross-attention, whose keys are other tokens than its queries, or a run larger
            than a browser could show.
    """
    if any(layer.cross for layer in trace.layers):
        raise InputError(
            "The keys of this run are other tokens than its queries, as in cross-attention; the "
            "page shows only self-attention. Draw it in Python with trace.show()."
        )
    n_maps = sum(layer.n_heads for layer in trace.layers)
    if n_maps > MAX_MAPS or trace.n_tokens > MAX_TOKENS:
        raise TooLong(
            f"This run has {n_maps:,} heads and {trace.n_tokens:,} tokens; the page shows up to "
            f"{MAX_MAPS:,} and {MAX_TOKENS:,}. Look at it in Python with trace.attention."
        )
