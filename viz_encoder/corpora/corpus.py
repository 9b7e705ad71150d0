"""corpus: every head of an encoder over a set of any size, or over the sentences of a treebank."""

import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from viz_encoder.arguments import AnyPath, Count, OneOf, above, at_least, at_most, public
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.corpora.chunk import Parts, Settings, chunks, model_digest, pooling_digest
from viz_encoder.corpora.corpus_items import CorpusItems, TextColumns
from viz_encoder.corpora.engine import CorpusWatch, Done, TellDone, measured_here
from viz_encoder.corpora.head_sums import HeadSums
from viz_encoder.corpora.head_table import About, HeadTable
from viz_encoder.corpora.measured_batch import pooling_of
from viz_encoder.corpora.ray_engine import Cluster, is_dataset, measured_dataset, measured_on_ray
from viz_encoder.corpora.relations import hits_of, relations_of, why_none
from viz_encoder.corpora.statistics import OF_MEASURE
from viz_encoder.corpora.treebank import TreeSentence, read_treebank
from viz_encoder.corpora.vector_rows import VectorFile
from viz_encoder.errors import InputError, SelectionError, TraceError

MEASURES = ("statistics", "roles", "examples")
ON_REQUEST = ("effect", "share", "similarity", "vectors")
ENGINES = ("local", "ray")
MeasureName = Annotated[str, OneOf((*MEASURES, *ON_REQUEST))]
N_EXAMPLES = 10


@public
def corpus(
    encoder: LoadedEncoder,
    items: Any,
    *,
    measures: Sequence[MeasureName] = MEASURES,
    n: Count = N_EXAMPLES,
    sample: Annotated[float, above(0), at_most(1)] = 0.1,
    column: str = "text",
    second: str | None = None,
    on: Annotated[str, OneOf(ENGINES)] = "local",
    workers: Count | None = None,
    gpus: Annotated[float, at_least(0)] = 0.0,
    address: str | None = None,
    folder: AnyPath | None = None,
    vectors: AnyPath | None = None,
    pooling: str | None = None,
    progress: TellDone | None = None,
) -> HeadTable:
    """Measure every head over a corpus: statistics, roles, and strongest examples.

    Everything comes from each batch's queries and keys; no map is kept, and memory does not grow
    with the corpus. Statistics are those of `vz.analyses.survey` and `vz.analyses.role_shares`,
    averaged over texts (after Clark et al., 2019, arXiv:1906.04341; confidence after Voita et al.,
    2019, arXiv:1905.09418). They say where heads look, not what the model's answers rest on.

    Args:
        encoder: what `vz.load` returned, or a vz.Encoder.
        items: the path of a .txt file (one text a line), .csv, .tsv, .jsonl or .parquet file, or of
            a folder of pictures; or any iterable of what `capture` takes, or of rows, such as a
            `datasets.Dataset`; with on="ray" also a `ray.data.Dataset`, which the cluster reads
            itself, with a column "item" of numbers.
        measures: any of "statistics", "roles" (offsets −8 … 8, delimiters, punctuation, the other
            text of a pair) and "examples"; these take 1.1 to 1.6 times as long as the forward
            passes alone, for texts of 10 to 500 tokens. On request, on a sample: "effect" (of
            removing each head, on the pooled vector; 16 to 36 forward passes a text), "share" (what
            each head carried of that vector's length, up or down; 2 to 4 forward passes) and
            "similarity" (Jensen–Shannon distances between all heads; about 2 forward passes). On
            request, of all items: "vectors" (mean, deviation and mean cosine of the pooled ones).
        n: how many examples per head.
        sample: the part of the items for "effect", "share" and "similarity", by their numbers.
        column: the column of the texts, where there are columns.
        second: that of text B, where rows are pairs.
        on: "local", or "ray" for Ray Data (`pip install "viz-encoder[ray]"`). With the same number
            of threads a worker, the tables are equal to float64's rounding.
        workers: for Ray, how many, each with the model; as many as the cluster has CPUs (or GPUs,
            with gpus=) if not given.
        gpus: for Ray, how many GPUs each worker takes; 0.5 puts two workers on one.
        address: for Ray, the address of a cluster; one is started on this machine if not given.
        folder: where parts that are done are kept, so that the same call resumes after it was
            stopped. Parts are found by digests of items, model and measures.
        vectors: a .parquet file for each item's own vector, one row an item, in their order:
            item, text, text_b, method, layer and vector (float32, after the last layer). It turns
            "vectors" on, and needs twice its size on the disk while it is made.
        pooling: how a vector is made, a method of `vz.pool`; if not given, the model's declared
            one, or else the mean. For "declared", texts are cut and prompted as declared.
        progress: called with a `Done` after each batch; if it returns False, the run stops.

    Raises:
        InputError: no item, or a file that cannot be read. An item that cannot be read does not
            stop the run; it is listed in the table's failures.
        SelectionError: no such measure or pooling.
        TraceError: stopped by `progress`.
    """
    asked = _checked((*measures, *("vectors",) * (vectors is not None)))
    if "vectors" not in asked and pooling is not None:
        raise SelectionError('pooling= is for the measure "vectors"; ask for it, or leave it out.')
    method = pooling_of(encoder, pooling) if "vectors" in asked else ""
    settings = Settings(asked, n if "examples" in asked else 0, sample, method, vectors is not None)
    cluster, columns = _cluster(on, workers, gpus, address), TextColumns(column, second)
    digest, source = model_digest(encoder), ""
    if cluster is not None and is_dataset(items):
        if folder is not None:
            raise SelectionError(
                "A run over a ray.data.Dataset cannot be resumed; leave out folder=."
            )
        watch = CorpusWatch(None, progress, None)
        found = measured_dataset(encoder, items, columns, settings, watch, cluster)
    else:
        given = CorpusItems(items, columns)
        source = given.source
        made_by = digest + pooling_digest(encoder, method)
        parts = None if folder is None else Parts(folder, made_by, settings)
        watch = CorpusWatch(given.total, progress, folder)
        if cluster is None:
            found = measured_here(encoder, chunks(given), settings, parts, watch)
        else:
            found = measured_on_ray(encoder, chunks(given), settings, parts, watch, cluster)
    return _table(encoder, found, _about(encoder, settings, source, digest), settings.k, vectors)


def _table(
    encoder: LoadedEncoder,
    parts: Iterable[HeadSums],
    about: About,
    k: int,
    vectors: str | Path | None,
) -> HeadTable:
    """The sum of all parts; each text's vector goes into a file, if one is named."""
    config = encoder.config
    sums = HeadSums.empty(config.n_layers, config.n_heads, k=k)
    with nullcontext() if vectors is None else VectorFile(vectors) as file:
        for part in parts:
            if file is not None:
                file.keep(part.rows)
            sums.merge(part)
        if not sums.n_texts:
            raise InputError(_nothing(sums))
        if file is not None:
            file.write(about.model, about.pooling, config.n_layers)
    return sums.finish(about)


def _checked(given: tuple[str, ...]) -> tuple[str, ...]:
    if not set(given) & set(OF_MEASURE):
        some = ", ".join(OF_MEASURE)
        raise SelectionError(f"A table needs at least one of the measures {some}.")
    return tuple(name for name in (*MEASURES, *ON_REQUEST) if name in given)


def _cluster(on: str, workers: int | None, gpus: float, address: str | None) -> Cluster | None:
    if on == "ray":
        return Cluster(workers, gpus, address)
    if workers is not None or gpus or address is not None:
        raise SelectionError(
            'workers=, gpus= and address= are for on="ray"; on this machine torch\'s own threads '
            "share the work."
        )
    return None


def _nothing(sums: HeadSums) -> str:
    if not sums.n_failed:
        return "The corpus is empty; give at least one item."
    item, reason = sums.failures[0]
    return f"None of {sums.n_failed:,} items could be measured. Item {item}: {reason}"


def _about(encoder: LoadedEncoder, settings: Settings, source: str, digest: str) -> About:
    statistics = tuple(name for one in settings.measures for name in OF_MEASURE.get(one, ()))
    card, kind = encoder.card, encoder.kind
    about = settings.measures, statistics, source, digest, kind, card.untrained, settings.pooling
    return About(card.name, *about)


def treebank_table(
    encoder: Any,
    sentences: str | Path | Iterable[TreeSentence],
    *,
    k: int = N_EXAMPLES,
    progress: TellDone | None = None,
) -> HeadTable:
    """The table of `vz.corpus` over the sentences, with their `relations` as table.relations.

    Relations with fewer than 10 arcs are left out; where none has 10, only the most frequent are
    kept. Where no word depends on another, or no arc is of two words that the model sees,
    table.relations is None, and table.about.no_relations says which.

    Args:
        encoder: what `vz.load` returned, with its tokenizer.
        sentences: a CoNLL-U file, "grammar" (built in, for the model of that name), or sentences.
        k: how many examples per head.
        progress: called with a `Done`, in which each sentence counts twice.

    Raises:
        InputError: no sentence, a file that is not CoNLL-U, or an encoder without a tokenizer.
        TraceError: stopped by `progress`.
    """
    named = str(sentences) if isinstance(sentences, str | Path) else ""
    found = read_treebank(sentences) if isinstance(sentences, str | Path) else sentences
    given = list(found)
    total, start = 2 * len(given), time.monotonic()

    def tell(n: int) -> None:
        done = Done(n, total, 0, time.monotonic() - start)
        if progress is not None and progress(done) is False and n != total:
            raise TraceError(f"Stopped after {done.sentence}; nothing was kept.")

    texts = [one.text for one in given]
    table = corpus(encoder, texts, n=k, progress=lambda done: tell(done.n))
    table = replace(table, about=replace(table.about, source=named))
    if not any(one.arcs for one in given):
        return _without(table, len(given), 0)
    hits = hits_of(encoder, given, progress=lambda n: tell(len(given) + n))
    if not hits.offsets:
        return _without(table, hits.n_sentences, hits.n_left_out)
    return replace(table, relations=relations_of(hits))


def _without(table: HeadTable, n_sentences: int, n_left_out: int) -> HeadTable:
    why = why_none(n_sentences, n_left_out)
    return replace(table, about=replace(table.about, no_relations=why))
