"""treebank_table: every head over the sentences of a treebank, with its relations beside."""

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from viz_encoder.corpora.corpus import N_EXAMPLES, corpus
from viz_encoder.corpora.engine import Done, TellDone
from viz_encoder.corpora.head_table import HeadTable
from viz_encoder.corpora.relations import hits_of, relations_of, why_none
from viz_encoder.corpora.treebank import TreeSentence, read_treebank
from viz_encoder.errors import TraceError


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
