"""TraceStore: the runs that open pages look at, by unguessable key, within a budget of bytes."""

import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.findings import Findings, findings
from viz_encoder.analyses.survey import LayerSurvey
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects import AblationProof
from viz_encoder.errors import Expired, SelectionError
from viz_encoder.inputs import Inputs
from viz_encoder.trace import Trace
from viz_encoder.trace.map_view import AS_IT_RAN, MapView
from viz_encoder.trace.recorded_parts import WeightSource
from viz_encoder.ui.state.built import Built
from viz_encoder.ui.state.expiring_store import KeyedStore, StoreEntry
from viz_encoder.ui.state.painted_mask import Masked
from viz_encoder.ui.state.recipe import Ran, Reading, Recipe
from viz_encoder.ui.state.swept import Surveys

NOT_HERE = "The model of this run is not loaded here"
NOT_PLAIN = (
    "The model must run again for this, without the mask or the changes that this run was made "
    "with; look at the run without them."
)


HEAD_REMOVED = (
    "A head was removed from this run, and this is computed from what all heads of the model add; "
    "look at the run without the removal."
)


@dataclass(eq=False)
class Entry(StoreEntry):
    """One stored run, with its layers' thumbnails as they are computed."""

    trace: Trace
    recipe: Recipe
    encoder: LoadedEncoder | None = None  # the model that ran, if it is ours, for its heads
    inputs: Inputs | None = None  # what was given to it
    reading: Reading | None = None  # for other runs of the same source
    why_alone: str = ""  # why a saved run has no model here; without full stop
    weight_bytes: int = 0  # of a model only this run holds
    _finding: threading.Lock = field(default_factory=threading.Lock)
    _findings: Findings | None = None
    _surveys: Surveys = field(init=False)
    _n_run: int = field(init=False)  # bytes of what ran, which stays as it is

    @property
    def plain(self) -> bool:
        """Whether it ran as the model is: without a painted mask, and with nothing taken away."""
        return self.recipe.mask is None and not self.recipe.changes

    @cached_property
    def masked(self) -> Masked | None:
        """The mask that it ran with, if somebody gave one."""
        mask, trace = self.recipe.mask, self.trace
        if mask is None:
            return None
        return mask.over(trace.n_tokens, trace.n_layers, trace.n_heads)

    @cached_property
    def head_proof(self) -> AblationProof | None:
        """Proof that only the removed heads were removed; None if no head was."""
        if self.reading is None or self.encoder is None or self.inputs is None:
            return None
        return self.recipe.proof(self.reading, Ran(self.trace, self.encoder, self.inputs))

    @property
    def changes_said(self) -> list[dict[str, str]]:
        """Its changes, each as code and words."""
        if self.reading is None:
            return []
        tokens = self.recipe.untouched(self.reading).samples[0].tokens
        return [{"code": each.code, "words": each.words(tokens)} for each in self.recipe.changes]

    @property
    def removed(self) -> list[tuple[int, int]]:
        """The heads that were removed from it, as (layer, head)."""
        return list(self.trace.removed)

    @property
    def nbytes(self) -> int:
        """Bytes of what ran, of its mask, and of what was computed from it so far."""
        mask = 0 if self.recipe.mask is None else self.trace.n_tokens**2
        return self._n_run + self.weight_bytes + mask + self._surveys.nbytes

    def read(self, purpose: str) -> Reading:
        """The model and what it read, for another run."""
        if self.reading is None:
            raise SelectionError(self.model_gone(purpose))
        return self.reading

    def model(self, purpose: str = "see this") -> LoadedEncoder:
        """The model that ran."""
        if self.encoder is None:
            raise SelectionError(self.model_gone(purpose))
        return self.encoder

    def model_gone(self, purpose: str) -> str:
        """The sentence for what needs the model of a run that came without one."""
        sample = self.trace.sample
        if sample.texts or sample.picture is not None:
            return f"{self.why_alone or NOT_HERE}; run the text or picture again to {purpose}."
        # Somebody recorded it, or ran it on ids or vectors.
        why = self.why_alone or f"{NOT_HERE}, and the run holds no text or picture"
        return f"{why}; to {purpose}, run the model in Python."

    @property
    def weights(self) -> WeightSource | None:
        """The model that ran, or what was read of a recorded one; None of a saved run."""
        return self.trace.parts if self.encoder is None else self.encoder

    def source(self, purpose: str) -> WeightSource:
        """The model, or else the weights kept with the run.

        Raises:
            SelectionError: the model is not loaded here, and the run keeps no weights.
        """
        return self.model(purpose) if self.weights is None else self.weights

    @property
    def loads_as(self) -> str:
        """Argument of vz.load for its model; "" if there is none, or it was built here."""
        if self.encoder is None or isinstance(self.recipe.model, Built):
            return ""
        card = self.encoder.card
        return card.source if Path(card.source).is_dir() else card.name

    def whole_source(self, purpose: str = "see this") -> WeightSource:
        """Like `source`, but only if every head of the model ran."""
        if self.removed:
            raise SelectionError(HEAD_REMOVED)
        return self.source(purpose)

    def __post_init__(self) -> None:
        """Its survey, of which nothing is swept yet."""
        self._surveys = Surveys(self.trace)
        self._n_run = self.trace.nbytes + (0 if self.inputs is None else self.inputs.nbytes)

    @property
    def surveyed(self) -> list[LayerSurvey]:
        """The layers that are swept so far, as they ran."""
        return self._surveys.as_it_ran.layers

    def survey(self, layer: int, view: MapView = AS_IT_RAN) -> LayerSurvey:
        """Thumbnails and statistics of one layer, of what a view keeps; swept once, in order."""
        return self._surveys.of(view).layer(layer)[0]

    def key_means(self, layer: int, view: MapView = AS_IT_RAN) -> Float[np.ndarray, "head key"]:
        """The mean weight that each shown key gets over the shown real queries, or words."""
        return self._surveys.of(view).layer(layer)[1]

    def findings(self) -> Findings:
        """Findings of this run, computed once while the survey continues."""
        with self._finding:
            if self._findings is None:
                self._findings = findings(self.trace)
            return self._findings


class TraceStore(KeyedStore[Entry]):
    """Runs by key."""

    gone = "This run has expired on the server; press Run to compute it again."
    fault = Expired

    def key_of(self, recipe: Recipe, encoder: LoadedEncoder) -> str | None:
        """The key of the run that a recipe made with this very model, if it is held."""

        def found(entry: Entry) -> bool:
            reading = entry.reading
            return reading is not None and reading.encoder is encoder and entry.recipe == recipe

        return self.find(found)
