"""HeadTable: what every head of an encoder does over a corpus."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from viz_encoder.arguments import AnyPath, Most, public, read_index
from viz_encoder.corpora.examples import Example, Examples
from viz_encoder.corpora.relations import Relations
from viz_encoder.corpora.spread import Spread, VectorSpread
from viz_encoder.errors import SelectionError
from viz_encoder.result import Columns, TableResult, largest, long_columns
from viz_encoder.shown import OneLine, counted

SUFFIXES = {"mean": "", "sd": "_sd", "least": "_least", "most": "_most"}


class Failure(NamedTuple):
    """A text that could not be measured: its number in the corpus, from 0, and the reason."""

    item: int
    reason: str


@dataclass(frozen=True, repr=False)
class About(OneLine):
    """The table's model, its settings, and what is known of the data.

    digest: of the model's weights, config and tokenizer.
    kind: what the items are: "text", "image" or "vector".
    pooling: how their vectors were made, where "vectors" was asked for.
    no_relations: why the table of a treebank has no relations, as a sentence.
    """

    model: str
    measures: tuple[str, ...]
    statistics: tuple[str, ...]
    source: str = ""
    digest: str = ""
    kind: str = "text"
    untrained: bool = False
    pooling: str = ""
    no_relations: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class HeadTable(TableResult):
    """Every head over a corpus: each statistic with its spread over texts, and examples.

    As a table (with pandas): `table.to_frame().nlargest(4, "previous")`; and
    `table.examples.to_frame()`.

    statistics: by name; `viz_encoder.corpora.statistics` says each in words. Every text counts
        once: a statistic's mean is the mean of what `vz.analyses.survey` and
        `vz.analyses.role_shares` give for each text that has it.
    examples: of each head, the texts in which its weight is strongest.
    failures: texts that could not be measured, at most 1,000 of them; n_failed counts all.
    distances: where "similarity" was asked for, the mean Jensen–Shannon distance of each head to
        each, over n_sampled texts: 0 (the same rows) … 1 (no key in common).
    relations: those of a treebank; None of other texts. See `viz_encoder.corpora.treebank`.
    vectors: where "vectors" was asked for, the pooled vectors' mean, deviation and mean cosine.
    """

    about: About
    n_texts: int
    n_tokens: int
    statistics: Mapping[str, Spread]
    examples: Examples
    failures: tuple[Failure, ...] = ()
    n_failed: int = 0
    distances: Float[np.ndarray, "layer head layer head"] | None = None
    n_sampled: int = 0
    relations: Relations | None = None
    vectors: VectorSpread | None = None

    @property
    def n_layers(self) -> int:
        """Layers of the model."""
        return len(next(iter(self.statistics.values())).mean)

    @property
    def n_heads(self) -> int:
        """Heads of a layer."""
        return next(iter(self.statistics.values())).mean.shape[1]

    def __getitem__(self, name: str) -> Spread:
        """Look up one statistic: table["previous"].mean."""
        if name not in self.statistics:
            names = ", ".join(self.statistics)
            raise SelectionError(f"There is no statistic {name!r}; choose one of {names}.")
        return self.statistics[name]

    @public
    def ranked(self, name: str, n: Most = 10) -> tuple[tuple[int, int], ...]:
        """The n heads with the largest mean, as (layer, head).

        Raises:
            SelectionError: no such statistic.
        """
        return largest(self[name].mean, n)

    @public
    def of_head(self, layer: int, head: int) -> tuple[Example, ...]:
        """A head's examples, the strongest first.

        Raises:
            SelectionError: no such head.
        """
        read_index("layer", layer, self.n_layers)
        read_index("head", head, self.n_heads)
        return tuple(one for one in self.examples if (one.layer, one.head) == (layer, head))

    @property
    def sentence(self) -> str:
        """Describe the table in one sentence."""
        what = {"text": "text", "image": "picture"}.get(self.about.kind, "input")
        failed = f"; {self.n_failed:,} could not be measured" if self.n_failed else ""
        heads = f"{counted(self.n_layers, 'layer')} × {counted(self.n_heads, 'head')}"
        over = f"{counted(self.n_texts, what)}, {counted(self.n_tokens, 'token')}{failed}"
        return f"{heads} of {self.about.model} over {over}."

    @property
    def arrays(self) -> dict[str, Float[np.ndarray, "layer head"]]:
        """Each statistic's mean by its name; its spread by name_sd, name_least and name_most."""
        return {
            f"{name}{suffix}": getattr(spread, part)
            for name, spread in self.statistics.items()
            for part, suffix in SUFFIXES.items()
        }

    def columns(self) -> Columns:
        """One line per layer and head; the columns are those of `arrays`."""
        axes = {"layer": range(self.n_layers), "head": range(self.n_heads)}
        return long_columns(axes, self.arrays)

    def save(self, path: AnyPath) -> int:
        """Write the table, and give the file's size in bytes.

        Args:
            path: ends in .parquet (needs pyarrow; opens in DuckDB and pandas), .npz or .json, which
                `load` reads, or .csv.

        Raises:
            SelectionError: no such kind of file.
            TraceError: pyarrow is missing, or the file cannot be written.
        """
        raise NotImplementedError  # done by table_files, as viz_encoder/__init__.py says

    @staticmethod
    def load(path: AnyPath) -> "HeadTable":
        """A table from a file that `save` wrote, every number as it was.

        Raises:
            SelectionError: no such kind of file.
            TraceError: a file that holds no table, or that cannot be read.
        """
        raise NotImplementedError  # done by table_files
