"""Attribution: a score split exactly over tokens, blocks, heads and links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float

from viz_encoder.arguments import AnyPath, Most, at_least, public
from viz_encoder.attribution.beside import Beside, beside
from viz_encoder.attribution.frozen_run import TINY, ScorePart, at_columns, unexplained
from viz_encoder.attribution.links import Links, WithLinks
from viz_encoder.attribution.readout import Score
from viz_encoder.attribution.routes import Edge, Routes
from viz_encoder.effects import Effect
from viz_encoder.effects.measure import Measure
from viz_encoder.effects.rerun import HeadPlace, Rerun
from viz_encoder.errors import SelectionError
from viz_encoder.result import ArrayResult, largest
from viz_encoder.result import Columns as Table
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace

FEW = 3  # tokens that the sentence names
ROUNDED = 1e-4  # from here on, as in half precision, the sentence says what is unexplained
CANCELS = 0.5  # below this share of what is added up, a percentage of the sum misleads
UNSIGNED = re.compile(r"^[-+](?=[0.]+%?$)")  # what rounds to 0 has no sign
LayerShares = Float[np.ndarray, "layer token"]


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(WithLinks, ArrayResult, main="tokens"):
    """Where a score came from; everything is in the unit of the score, logits or length.

    Shares are signed and may cancel: a share of 2 beside a score of 0.1 is no error. They tell what
    carried this score on this run with its attention weights held, not what would happen without a
    token or head (see `vz.effect`), nor why the weights are what they are.

    score: the number that is split.
    tokens: the share of each token's input embedding.
    biases: the share of all biases together; tokens and biases add up to the score.
    states: where the score sat after n blocks; states[0] is tokens. A row and the biases of later
        blocks add up to the score.
    heads: what each head brought to the score, its values' biases included.
    unexplained: |tokens + biases − score| ÷ max(|score|, Σ|tokens|).
    names: of the tokens; of two runs "tired/wide" where one stands for the other.
    words: what the score is.
    asked: how the score is read from a run; see `measure`.
    """

    score: float
    tokens: Float[np.ndarray, " token"]
    biases: float
    states: Float[np.ndarray, "state token"]
    heads: Float[np.ndarray, "layer head"]
    unexplained: float
    names: tuple[str, ...]
    words: str
    unit: str
    through: str
    asked: Score
    parts: tuple[ScorePart, ...]

    @property
    def trace(self) -> Trace:
        """The run that was split; the first of two."""
        return self.parts[0].flow.trace

    @property
    def large(self) -> bool:
        """Whether the score is large beside what cancels in it, so that percentages say much."""
        added = abs(self.tokens).sum() + abs(self.biases)
        return bool(abs(self.score) > CANCELS * added)

    @property
    def sentence(self) -> str:
        """What carried the score most, in one sentence."""
        order = np.argsort(-abs(self.tokens), kind="stable")[:FEW]
        most = [f"{self._said(self.tokens[at])} from {quoted(self.names[at])}" for at in order]
        (layer, head), *_ = self.ranked(1)
        brought = f"head {layer}.{head} brings most, {self._said(self.heads[layer, head])}"
        first, rest = self.words[:1].upper(), self.words[1:]
        score = f"{self.score:.2f}".replace("-", "−")
        return f"{first}{rest} is {score}: {', '.join(most)}; {brought}.{self._apart()}"

    def _apart(self) -> str:
        """How far the parts are from the score, where that shows."""
        if self.through != "values":
            return " By AttnLRP, whose parts do not add up to it."
        if self.unexplained < ROUNDED:
            return ""
        return f" Rounding leaves {self.unexplained:.2%} unexplained."

    def _said(self, share: float) -> str:
        said = f"{share / self.score:.0%}" if self.large else f"{share:+.2f}"
        return UNSIGNED.sub("", said).replace("-", "−")

    @public
    def ranked(self, n: Most = 10) -> tuple[HeadPlace, ...]:
        """The n heads that brought most, whatever the sign, as (layer, head)."""
        return largest(abs(self.heads), n)

    @public
    def routes(self, least: Annotated[float, at_least(0)] = 0.02) -> Routes:
        """How the score got to where it was read: tokens across, blocks upward.

        Args:
            least: a link is drawn if its share, over all heads, is at least this part of the score
                or, where shares cancel, of all tokens' shares together.
        """
        bound = max(TINY, least * max(abs(self.score), float(abs(self.tokens).sum())))
        edges = [edge for layer in range(len(self.heads)) for edge in self._edges(layer, bound)]
        own, links, biases = self._incoming()
        return Routes(self.states, own, links, biases, tuple(edges), self.names, self.unit)

    def _edges(self, layer: int, bound: float) -> Iterator[Edge]:
        """Links of a layer, summed over its heads, of at least that share."""
        for rows, links in self._blocks(layer):
            total = links.sum(dim=0)
            for query, key in (total.abs() >= bound).nonzero().tolist():
                each = links[:, query, key]
                share = float(total[query, key])
                head = int((each * (1 if share > 0 else -1)).argmax())
                yield Edge(layer, rows.start + query, key, share, head, float(each[head]))

    def _incoming(self) -> tuple[LayerShares, LayerShares, LayerShares]:
        """What comes into each node after the embeddings: from below, by links, from biases."""
        n_columns = len(self.names)
        links = at_columns(self.parts, "brought", n_columns).sum(axis=1)
        biases = at_columns(self.parts, "after", n_columns)
        return self.states[1:] - links - biases, links, biases

    @public
    def beside(self, effect: Effect) -> Beside:
        """Each head's share beside the effect of removing it, or its mean over several texts.

        Raises:
            SelectionError: the effects are of another input, or of another model's heads.
        """
        if self.trace.sample.tokens not in effect.tokens:
            raise SelectionError(
                "These effects were measured on another input than this score was split on; give "
                "vz.effect(encoder, text) of the same text."
            )
        return beside(self.heads, effect)

    def measure(self, run: Rerun) -> Measure:
        """This score on runs of its input with something removed.

        So it is a measure: `vz.effect(encoder, text, measure=found)` tells what removing each head
        does to the score that was split, and `found.beside(effect)` compares the two.

        Raises:
            SelectionError: a run of another input.
        """
        if run.sample.tokens != self.trace.sample.tokens:
            raise SelectionError(
                "This score was split for another input; give effect() the one it is of."
            )
        return self.asked.measure(run, self.words)

    def save(self, path: AnyPath) -> None:
        """Write it to a safetensors file with its runs, so that links come back; see `load`.

        Raises:
            TraceError: the name has another format's extension, or the file cannot be written.
        """
        raise NotImplementedError  # done by attribution.saved, as viz_encoder/__init__.py says

    @staticmethod
    def load(path: AnyPath) -> "Attribution":
        """Read what `save` wrote, on this or another machine; no model is needed.

        Raises:
            TraceError: it is not a saved attribution, of another version, or damaged.
        """
        raise NotImplementedError  # done by attribution.saved

    def columns(self) -> Table:
        """One line a token."""
        numbers = list(range(len(self.names)))
        return {"number": numbers, "token": list(self.names), "share": self.tokens.tolist()}

    def _layers(self) -> list[tuple[int, int, int]]:
        """Heads, queries and keys of each layer."""
        if self.through != "values":
            raise SelectionError(
                'Links are exact where weights are held; ask with through="values".'
            )
        n_layers, n_heads = self.heads.shape
        return [(n_heads, len(self.names), len(self.names))] * n_layers

    def _links(self, layer: int, heads: slice, rows: slice) -> Links:
        """The links of some columns' queries, over all runs."""
        n_columns = len(self.names)
        first, *rest = (part.links(layer, heads, rows, n_columns) for part in self.parts)
        return sum(rest, start=first)


def put_together(
    score: float,
    parts: tuple[ScorePart, ...],
    names: tuple[str, ...],
    words: str,
    unit: str,
    through: str,
    asked: Score,
) -> Attribution:
    """The result of one run, or of two."""
    n_columns = len(names)
    states = at_columns(parts, "states", n_columns)
    heads = sum(part.sign * part.flow.brought.sum(axis=-1) for part in parts)
    biases = sum(
        part.sign * (part.flow.before.sum() + part.flow.after.sum() + part.flow.read)
        for part in parts
    )
    assert isinstance(heads, np.ndarray)
    tokens, biases = states[0], float(biases)
    missing = unexplained(score, tokens, biases)
    return Attribution(
        score, tokens, biases, states, heads, missing, names, words, unit, through, asked, parts
    )
