"""Runs: from what a person typed or dropped to a stored trace and its description for the page."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, TooLong
from viz_encoder.trace import Trace
from viz_encoder.ui.state.attributed import PURPOSE
from viz_encoder.ui.state.built import Built, as_listed, built_encoder
from viz_encoder.ui.state.limits import LOCAL, Limits
from viz_encoder.ui.state.models import Models
from viz_encoder.ui.state.recipe import ONE_PASS, Reading, Recipe
from viz_encoder.ui.state.run_description import RunDescription, describe
from viz_encoder.ui.state.saved_run import keep_saved
from viz_encoder.ui.state.sets import Sets
from viz_encoder.ui.state.source import Source
from viz_encoder.ui.state.store import Entry, TraceStore

MAX_MAPS = 10_000  # heads of all layers, a cell of the atlas each
MAX_TOKENS = 2**17  # a map of more would take minutes
TellStage = Callable[[float, str], None]


def silent(share: float, words: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Runner:
    """Runs a model on an input, and keeps the trace where the page's routes find it."""

    models: Models
    store: TraceStore
    first: str | None = None  # the key of the run that the server was started on
    sets: Sets = field(default_factory=Sets)  # for comparing poolings
    limits: Limits = LOCAL

    def text(
        self,
        model: str,
        text_a: str,
        text_b: str = "",
        owner: str | None = None,
        tell: TellStage = silent,
    ) -> RunDescription:
        """Encode one text, or a pair of texts; returns the run's description."""
        recipe = Recipe(Source.text(text_a, text_b), as_listed(model))
        return self.again(self.run(recipe, tell=tell), owner)

    def picture(
        self,
        model: str,
        path: str | bytes | None,
        example: str = "",
        owner: str | None = None,
        tell: TellStage = silent,
    ) -> RunDescription:
        """Encode a picture file, or one of the examples by name."""
        recipe = Recipe(Source.picture(example), as_listed(model))
        if not (example or path):
            raise InputError("Choose a picture first: drop a PNG, JPEG or WebP file on the box.")
        return self.again(self.run(recipe, [path], tell), owner)

    def run(self, recipe: Recipe, content: Any = None, tell: TellStage = silent) -> str:
        """The key of a recipe's run: of the one that is held, or of a new one.

        `content` is what is read where the recipe's source does not hold it.
        """
        source, model = recipe.source, recipe.model
        if isinstance(model, Built):
            require_kind(model, source)
            most, device = self.limits.built_weights, self.models.device
            encoder = built_encoder(model, " ".join(source.texts), most, device)
            own_bytes = encoder.card.n_parameters * 4
        else:
            kind, words = "image" if source.kind == "image" else "text", f"Loading {model} …"
            encoder = self.models.get(model, kind, lambda share: tell(0.1 + 0.4 * share, words))
            own_bytes = 0

        def read() -> Reading:
            tell(0.5, "Encoding …")
            own = source.content
            return Reading(encoder, encoder.read(content if own is None else own))

        return self._made(recipe, encoder, read, weight_bytes=own_bytes)

    def rerun(self, key: str, purpose: str, **parts: Any) -> str:
        """The key of a run like this one but for some parts of its recipe, for the same pages.

        Raises:
            SelectionError: no such run, its model is not here, or a part does not fit it.
            TooLong: more tokens than the model reads.
        """
        entry = self.store.get(key)
        recipe = replace(entry.recipe, **parts)
        if recipe == entry.recipe:
            return key
        reading = entry.read(purpose)
        return self._made(recipe, reading.encoder, lambda: reading, entry.owners)

    def _made(
        self,
        recipe: Recipe,
        encoder: LoadedEncoder,
        read: Callable[[], Reading],
        owners: Collection[str] = (),
        weight_bytes: int = 0,
    ) -> str:
        key = self.store.key_of(recipe, encoder)
        if key is None:
            with ONE_PASS:
                key = self.store.key_of(recipe, encoder)  # somebody else asked meanwhile
                if key is None:
                    reading = read()
                    trace, ran, inputs = recipe.run(reading)
                    require_showable(trace)
                    entry = Entry(trace, recipe, ran, inputs, reading, weight_bytes=weight_bytes)
                    key = self.store.keep(entry)
        for owner in tuple(owners):
            self.store.claim(key, owner)
        return key

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
        if owner is not None:
            self.store.claim(key, owner)
        plain = self.rerun(key, PURPOSE, changes=()) if entry.recipe.changes else ""
        return describe(key, entry, plain, self.store.get(plain) if plain else None)


def require_kind(built: Built, source: Source) -> None:
    """Refuse a text for an untrained encoder of pictures, and a picture for one of texts."""
    if (built.reads == "image") != (source.kind == "image"):
        other = "pictures" if built.reads == "image" else "texts"
        raise InputError(f"{built.name} reads {other}; run one of those first.")


def require_few(trace: Trace, most: int | None) -> None:
    """Refuse a saved run whose maps take long to compute again, on a server for strangers."""
    cells = sum(layer.n_heads for layer in trace.layers) * trace.n_tokens**2
    if most is not None and cells > most:
        raise TooLong(
            f"The maps of this run have {cells:,} cells; this server computes up to {most:,} for "
            "a saved run. Open it on your own machine with viz-encoder serve."
        )


def require_showable(trace: Trace) -> None:
    """Refuse what the page has no view for, in a sentence."""
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
