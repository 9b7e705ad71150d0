"""Asked: the run that an exercise is about, where in it, and the numbers that several need."""

from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

import numpy as np
import torch
from jaxtyping import Float

from viz_encoder.analyses.predictions import predictions
from viz_encoder.analyses.step import BlockStep, block_step
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.config import EncoderConfig, Task
from viz_encoder.effects.token_effect import TokenEffect, tokens
from viz_encoder.errors import SelectionError, VizEncoderError
from viz_encoder.inputs import Inputs
from viz_encoder.lesson.contrast import Contrast
from viz_encoder.lesson.grammar import other_word
from viz_encoder.trace import LayerTrace, Trace
from viz_encoder.trace.prediction_heads import masked_tokens
from viz_encoder.trace.recorded_parts import WeightSource

TIED = 0.05  # between probabilities
NOT_HERE = "The model of this run is not loaded here."
MOST_RERUN = 64  # tokens, up to which an exercise runs the model again
MOST_NUMBERS = 8_192  # of a small model's states, up to which it does so with more tokens


@dataclass(frozen=True, eq=False)
class Asked:
    """A run, and the layer, head, query and key in it; seat 0 has the lesson's own numbers.

    source: the model, or the parts of a recorded one; None of a saved run. A part that is asked
    for and not there raises a SelectionError.
    """

    source: WeightSource | None
    entered: Inputs | None
    trace: Trace
    layer: int
    head: int
    query: int
    key: int
    seat: int = 0
    plain: bool = True  # nothing is masked or removed

    @property
    def config(self) -> EncoderConfig:
        """The model's axes."""
        return self.parts.config

    @property
    def parts(self) -> WeightSource:
        """The model or what was read of it."""
        if self.source is None:
            raise SelectionError(NOT_HERE)
        return self.source

    @property
    def encoder(self) -> LoadedEncoder:
        """The model, to run it again."""
        if not isinstance(self.source, LoadedEncoder):
            raise SelectionError(NOT_HERE)
        return self.source

    @property
    def inputs(self) -> Inputs:
        """The model's inputs, to rerun it."""
        if self.entered is None:
            raise SelectionError(NOT_HERE)
        return self.entered

    @property
    def random(self) -> Random:
        """The seat's own numbers, the same each time."""
        return Random(f"lesson {self.seat}")

    @property
    def n_real(self) -> int:
        """The real tokens, without padding."""
        return int(self.trace.valid.sum())

    @property
    def may_rerun(self) -> bool:
        """Whether an exercise may run this input again."""
        here = isinstance(self.source, LoadedEncoder) and self.entered is not None
        n = self.trace.n_tokens
        few = n <= MOST_RERUN or n * self.config.d_model <= MOST_NUMBERS
        return here and self.plain and few

    @property
    def name(self) -> str:
        """The chosen head as the page writes it."""
        return f"{self.layer}.{self.head}"

    def token(self, at: int) -> str:
        """A token's name."""
        return self.trace.tokens[at]

    def apart(self, least: int) -> int:
        """The key, or [CLS] or the last token where the key is less than `least` tokens away."""
        ends = self.key, 0, self.trace.n_tokens - 1
        return next((at for at in ends if abs(at - self.query) >= least), self.key)

    @cached_property
    def scored(self) -> LayerTrace | None:
        """The layer that ran, where its weights are the softmax of scores that can be read."""
        ran = self.trace.layers[self.layer]
        plain = ran.maps is None and ran.sink is None and ran.bias is None and not ran.cross
        return ran if plain else None

    @cached_property
    def row(self) -> Float[np.ndarray, " key"]:
        """The weights of the query's row."""
        return self.row_of(self.query)

    def row_of(self, query: int) -> Float[np.ndarray, " key"]:
        """The weights of one query, in the chosen head."""
        rows = slice(query, query + 1)
        row = self.trace.attention(self.layer, self.head, rows)[0]
        return row.double().cpu().numpy()

    @cached_property
    def way(self) -> BlockStep | None:
        """The query's way through the chosen block; None where it can't be followed."""
        try:
            return block_step(self.parts, self.trace, self.layer, self.query)
        except VizEncoderError:
            return None

    @cached_property
    def at_mask(self) -> "Asked":
        """The same with [MASK] as its query, whatever token is followed; itself without [MASK]."""
        masked = masked_tokens(self.trace.tokens)
        same = not masked or self.query in masked
        return self if same else replace(self, query=masked[0])

    @cached_property
    def answer(self) -> str:
        """The word that the model fills in at the query; "" where it fills nothing."""
        heads = [head.task for head in self.config.prediction_heads]
        if Task.MASKED not in heads or self.query not in masked_tokens(self.trace.tokens):
            return ""
        found = predictions(self.encoder, self.trace, task=Task.MASKED, tokens=[self.query], n=1)
        return found[0].labels[0]

    @cached_property
    def without(self) -> TokenEffect | None:
        """The answer without each token; None where there is none, or the text is long."""
        if not self.answer or not self.may_rerun:
            return None
        return tokens(self.encoder, self.inputs, measure="masked", at=self.query)

    @cached_property
    def turned(self) -> dict[int, float] | None:
        """1 − cosine of the pooled vector without each of the text's tokens.

        None of a model with a prediction head, or where nothing may run again.
        """
        if not self.may_rerun or any(
            head.task is not Task.POOL for head in self.config.prediction_heads
        ):
            return None
        try:
            found = tokens(self.encoder, self.inputs)
        except VizEncoderError:
            return None
        special = self.trace.sample.special
        own = [at for at in range(self.trace.n_tokens) if self.trace.valid[at] and not special[at]]
        return {at: float(found.values[at]) for at in own}

    @cached_property
    def hidden(self) -> TokenEffect | None:
        """What the model says of a picture without each patch; None where it says nothing."""
        if self.trace.grid is None or not self.may_rerun:
            return None
        found = tokens(self.encoder, self.inputs)
        return found if found.untouched[0] else None

    @cached_property
    def contrast(self) -> Contrast | None:
        """The run beside its twin and without heads; None where nothing may run again."""
        if not self.may_rerun:
            return None
        return Contrast(self.encoder, self.inputs, self.trace, self.query, self.answer)

    @cached_property
    def own(self) -> list[int]:
        """The tokens of the text, without the one that is asked about."""
        special = self.trace.sample.special
        return [at for at, made in enumerate(special) if not made and at != self.query]

    @cached_property
    def left(self) -> dict[int, float]:
        """The answer's probability without each of the text's tokens; empty where there is none."""
        found = self.without
        return {} if found is None else {at: float(found.pair[at, 0]) for at in self.own}

    @cached_property
    def tied(self) -> list[int]:
        """The tokens without which least is left of the answer, within TIED of each other."""
        least = min(self.left.values(), default=0.0)
        return [at for at, left in self.left.items() if left <= least + TIED]

    @property
    def deciding(self) -> int | None:
        """The one of these that decides: a word in whose place another asks for another answer.

        Crossing out "to" in "the keys to the cabinet" harms the answer as much as crossing out
        "keys", but only the noun has a number.
        """
        found = [at for at in self.tied if other_word(self.token(at)) is not None]
        return next(iter(found or self.tied), None)

    def said_with(self, mask: torch.Tensor) -> list[str]:
        """The model's predictions at the query under several masks, "batch query key"."""
        encoder, device = self.encoder, self.encoder.device
        ids = self.inputs.values.to(device).expand(len(mask), -1)
        with torch.inference_mode():
            output = encoder.model(ids, mask=mask.to(device)).output[:, self.query]
            best = encoder.model.heads[str(Task.MASKED)](output[:, None])[:, 0].argmax(dim=-1)
        head = next(head for head in self.config.prediction_heads if head.task is Task.MASKED)
        return [encoder.output_name(head, number) for number in best.tolist()]


def asked_of(
    source: WeightSource | None,
    inputs: Inputs | None,
    trace: Trace,
    *,
    layer: int | None = None,
    head: int = 0,
    query: int | None = None,
    key: int | None = None,
    seat: int = 0,
    plain: bool = True,
) -> Asked:
    """A run, and the default place in it: the middle layer, head 0, the [MASK] token.

    Without [MASK] the query is the last token that is the person's own; the key is the one with
    the largest weight.
    """
    layer = trace.n_layers // 2 if layer is None else layer
    if query is None:
        own = [at for at, special in enumerate(trace.sample.special) if not special]
        masked = masked_tokens(trace.tokens)
        query = masked[0] if masked else (own[-1] if own else trace.n_tokens - 1)
    if key is None:
        rows = trace.attention(layer, head, slice(query, query + 1))
        key = int(rows[0].argmax())
    return Asked(source, inputs, trace, layer, head, query, key, seat, plain)
