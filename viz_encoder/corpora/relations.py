"""Relations: which head looks along which relation of a treebank, beside what needs no head."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from viz_encoder.arguments import public
from viz_encoder.checkpoints import LoadedEncoder, as_loaded, load
from viz_encoder.corpora.treebank import Hits, TreeSentence, read_treebank
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.result import Columns, TableResult
from viz_encoder.shown import counted

DIRECTIONS = ("to_head", "to_dependent")
AT_ONCE = 256  # sentences
LEAST = 10  # arcs of a relation, where it is not said
TellCount = Callable[[int], bool | None]


@dataclass(frozen=True, eq=False, repr=False)
class Relations(TableResult):
    """How often each head follows each relation, with fixed-offset and random-weight baselines.

    The best head is chosen on the sentences it is measured on, and so are the best offset and the
    best head with random weights; a head that is not clearly above both says nothing about syntax
    (Htut et al., 2019, arXiv:1911.12246).

    accuracy: share of the arcs of a relation for which, of all other words of the sentence, the
        head gives the most to the right one.
    random: the same of this encoder with random weights.
    offsets: the fixed offset in words that is right most often; offset_accuracy: how often.
    n_arcs: arcs of each relation; n_left_out counts those cut off or not seen by the tokenizer.
    """

    relations: tuple[str, ...]
    n_arcs: tuple[int, ...]
    accuracy: Float[np.ndarray, "relation layer head"]
    random: Float[np.ndarray, "relation layer head"]
    offsets: tuple[int, ...]
    offset_accuracy: tuple[float, ...]
    direction: str
    n_sentences: int
    n_left_out: int

    @public
    def best(self, relation: str) -> tuple[int, int]:
        """The head that is right most often, as (layer, head).

        Raises:
            SelectionError: no such relation.
        """
        if relation not in self.relations:
            names = ", ".join(self.relations)
            raise SelectionError(f"There is no relation {relation!r}; choose one of {names}.")
        return _best(self.accuracy[self.relations.index(relation)])

    def columns(self) -> Columns:
        """One line per relation, the most frequent first."""
        best, random = ([_best(one) for one in array] for array in (self.accuracy, self.random))
        return {
            "relation": list(self.relations),
            "arcs": list(self.n_arcs),
            "layer": [layer for layer, _ in best],
            "head": [head for _, head in best],
            "accuracy": self.accuracy.max(axis=(1, 2)).tolist(),
            "offset": list(self.offsets),
            "offset_accuracy": list(self.offset_accuracy),
            "random_layer": [layer for layer, _ in random],
            "random_head": [head for _, head in random],
            "random_accuracy": self.random.max(axis=(1, 2)).tolist(),
        }


def relations(
    encoder: Any,
    sentences: str | Path | Iterable[TreeSentence],
    *,
    direction: str = "to_head",
    least: int | None = None,
    seed: int = 0,
    progress: TellCount | None = None,
) -> Relations:
    """Find which head follows which relation (after Clark et al., 2019, arXiv:1906.04341).

    From a word to a word, attention is the mean over the one's tokens of the sum over the other's;
    special tokens do not count. The encoder runs twice: as it is, and with random weights.

    Args:
        encoder: what `vz.load` returned, with its tokenizer.
        sentences: a CoNLL-U file, "grammar" (built in, for the model of that name), or sentences.
        direction: "to_head", from a word to the one it depends on, or "to_dependent", back.
        least: relations with fewer arcs are left out; if not given, 10, or the arcs of the most
            frequent one if none has 10.
        seed: of the random weights.
        progress: called with the number of sentences done; if it returns False, what was done
            so far is the result.

    Raises:
        InputError: no sentence, a file that is not CoNLL-U, or an encoder without a tokenizer.
        SelectionError: no such direction, or no relation with so many arcs.
    """
    return relations_of(hits_of(encoder, sentences, direction, seed, progress), least)


def hits_of(
    encoder: Any,
    sentences: str | Path | Iterable[TreeSentence],
    direction: str = "to_head",
    seed: int = 0,
    progress: TellCount | None = None,
) -> Hits:
    """The counts behind `relations`."""
    loaded = as_loaded(encoder)
    if loaded is None or loaded.kind != "text" or loaded.reader is None:
        raise InputError("relations needs an encoder of texts with its tokenizer: vz.load(name).")
    if direction not in DIRECTIONS:
        raise SelectionError(f"direction is {direction!r}; choose one of {', '.join(DIRECTIONS)}.")
    given = read_treebank(sentences) if isinstance(sentences, str | Path) else iter(sentences)
    hits = Hits(loaded, with_random_weights(loaded, seed), direction)
    while part := tuple(islice(given, AT_ONCE)):
        hits.add(part)
        if progress is not None and progress(hits.n_sentences) is False:
            break
    return hits


def relations_of(hits: Hits, least: int | None = None) -> Relations:
    """The relations with at least so many arcs, the most frequent first."""
    if not hits.n_sentences:
        raise InputError("The treebank holds no sentence.")
    counts = {name: found.total() for name, found in hits.offsets.items()}
    most = max(counts.values(), default=0)
    least = min(LEAST, most) if least is None else least
    names = sorted(counts, key=lambda name: (-counts[name], name))
    names = [name for name in names if counts[name] >= least]
    if not names:
        if not most:
            raise SelectionError(why_none(hits.n_sentences, hits.n_left_out))
        raise SelectionError(
            f"No relation has {least:,} arcs; the most frequent has {most:,}. Give more "
            f"sentences, or least={most}."
        )
    shares = [np.stack([of[name] / counts[name] for name in names]) for of in hits.right]
    common = [min(hits.offsets[name].items(), key=lambda one: (-one[1], one)) for name in names]
    return Relations(
        relations=tuple(names),
        n_arcs=tuple(counts[name] for name in names),
        accuracy=shares[0],
        random=shares[1],
        offsets=tuple(offset for offset, _ in common),
        offset_accuracy=tuple(n / counts[name] for name, (_, n) in zip(names, common, strict=True)),
        direction=hits.direction,
        n_sentences=hits.n_sentences,
        n_left_out=hits.n_left_out,
    )


def why_none(n_sentences: int, n_left_out: int) -> str:
    """Why a treebank has no arc that can be counted, as a sentence with its cure."""
    if not n_left_out:
        return (
            f"In {counted(n_sentences, 'sentence')}, no word depends on another; give a treebank "
            "whose seventh column (HEAD) is filled in."
        )
    return (
        f"All {n_left_out:,} arcs are of words that were cut off or that the tokenizer "
        "does not see; give shorter sentences, or a model that reads longer ones."
    )


def with_random_weights(encoder: LoadedEncoder, seed: int) -> LoadedEncoder:
    """Copy of the encoder and reader with seeded random weights."""
    random = load(encoder.config, seed=seed, device=str(encoder.device), dtype=encoder.dtype)
    return replace(encoder, model=random.model, card=random.card, declared=None)


def _best(shares: Float[np.ndarray, "layer head"]) -> tuple[int, int]:
    layer, head = np.unravel_index(int(shares.argmax()), shares.shape)
    return int(layer), int(head)
