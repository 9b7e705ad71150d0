"""Runs: from what a person typed or dropped to a stored trace and its description for the page."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viz_encoder.bundled import asset
from viz_encoder.errors import InputError, SelectionError, TooLong
from viz_encoder.trace import Trace, capture
from viz_encoder.ui.models import Models
from viz_encoder.ui.store import TraceStore
from viz_encoder.ui.summary import describe

KINDS = ("text", "pair", "image")
SENTENCES = (
    "The animal didn't cross the street because it was too tired",
    "The bank approved the loan",
)
PICTURES = {"a digit": "examples/digit.png", "a wide scene": "examples/wide.png"}
MAX_CHARACTERS = 2_000_000  # a request over this is refused unread
Tell = Callable[[float, str], None]


def _silent(share: float, words: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Runner:
    """Runs a model on an input, and keeps the trace where the page's routes find it."""

    models: Models
    store: TraceStore
    first: str | None = None  # the key of the run that the server was started on

    def text(
        self,
        model: str,
        text_a: str,
        text_b: str = "",
        owner: str | None = None,
        tell: Tell = _silent,
    ) -> str:
        """Encode one text, or a pair of texts; returns the run's description."""
        for text in (text_a, text_b):
            if not isinstance(text, str):
                raise InputError(f"The text is {type(text).__name__}, not text; type some text.")
            if len(text) > MAX_CHARACTERS:
                raise TooLong(
                    f"The text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are taken."
                )
        pair = bool(text_b.strip())
        trace = self._capture(model, "text", (text_a, text_b) if pair else text_a, tell)
        kind = "pair" if pair else "text"
        link = {"kind": kind, "model": model, "a": text_a, **({"b": text_b} if pair else {})}
        return describe(self.store.put(trace, owner), trace, link, kind)

    def picture(
        self,
        model: str,
        path: str | bytes | None,
        example: str = "",
        owner: str | None = None,
        tell: Tell = _silent,
    ) -> str:
        """Encode a picture file, or one of the examples by name."""
        if example:
            if example not in PICTURES:
                raise SelectionError(f"There is no example picture {example!r}.")
            path = str(asset(PICTURES[example]))
        if not path:
            raise InputError("Choose a picture first: drop a PNG, JPEG or WebP file on the box.")
        trace = self._capture(model, "image", [path], tell)
        key = self.store.put(trace, owner)
        link = {"kind": "image", "model": model, **({"example": example} if example else {})}
        return describe(key, trace, link if example else {**link, "run": key}, "image")

    def saved(self, path: str | None, owner: str | None = None) -> str:
        """Open a trace that was saved to a file, here or on another machine."""
        if not path:
            raise InputError("Choose a saved run first: a .safetensors file from trace.save(path).")
        return self.show(Trace.load(path), owner)

    def show(self, trace: Trace, owner: str | None = None) -> str:
        """The description of a run that was captured elsewhere."""
        require_showable(trace)
        return self.again(self.store.put(trace, owner))

    def again(self, key: str, owner: str | None = None) -> str:
        """The description of a run that is still held."""
        trace = self.store.get(key).trace
        if owner is not None:
            self.store.claim(key, owner)
        kind = "image" if trace.grid else "text"
        link = {"kind": kind, "model": trace.origin.model, "run": key}
        return describe(key, trace, link, kind)

    def _capture(self, model: str, kind: str, source: Any, tell: Tell) -> Trace:
        if not self.models.is_loaded(model):
            tell(0.1, f"Loading {model} …")
        encoder = self.models.get(model, kind)
        tell(0.5, "Encoding …")
        result: Trace | list[Trace] = capture(encoder, source)
        return result[0] if isinstance(result, list) else result


def require_showable(trace: Trace) -> None:
    """Refuse what the page has no view for yet, in a sentence.

    Raises:
        InputError: cross-attention, whose keys are other tokens than its queries.
    """
    if any(layer.cross or layer.k.shape[1] != trace.n_tokens for layer in trace.layers):
        raise InputError(
            "This run is of cross-attention; the page shows self-attention. Draw it in Python "
            "with viz_encoder.figures.attention_map."
        )


def restore(runner: Runner, query: dict[str, str], owner: str | None, tell: Tell = _silent) -> str:
    """The run that a link describes; without one, the first example."""
    asked = query.get("run") or (runner.first if "kind" not in query else None)
    if asked:
        return runner.again(asked, owner)
    if query.get("kind") == "image":
        model = query.get("model") or runner.models.names("image")[0]
        example = query.get("example", next(iter(PICTURES)))
        return runner.picture(model, None, example, owner, tell)
    model = query.get("model") or runner.models.names("text")[0]
    texts = query.get("a", SENTENCES[0]), query.get("b", "")
    return runner.text(model, *texts, owner, tell)
