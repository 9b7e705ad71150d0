"""The command `corpus`: what every head does over a set of texts or pictures of any size."""

import argparse
import math
import sys
from pathlib import Path

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.commands.terminal import add_model, opened, tell
from viz_encoder.corpora import Done, HeadTable, Relations, corpus, relations, treebank_table
from viz_encoder.corpora.corpus import MEASURES
from viz_encoder.corpora.spread import VectorSpread
from viz_encoder.corpora.statistics import STATISTICS
from viz_encoder.corpora.table_files import KINDS
from viz_encoder.corpora.vector_rows import require_parquet
from viz_encoder.errors import SelectionError
from viz_encoder.result import csv_text
from viz_encoder.shown import counted
from viz_encoder.whole_file import kind_of, require_writable, write_whole

N_SHOWN, N_EXAMPLES = 5, 10  # heads, and examples of the first


def add_corpus(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of viz-encoder."""
    command = commands.add_parser("corpus", help="what every head does over a corpus")
    command.add_argument(
        "source",
        help=".txt (one text per line), .csv, .tsv, .jsonl, .parquet, a folder, or a .conllu",
    )
    command.add_argument(
        "-o", "--output", required=True, help="ends in .parquet, .npz, .json or .csv"
    )
    command.add_argument("--column", default="text", help="the column of the texts (%(default)s)")
    command.add_argument("--second", help="the column of text B, where rows are pairs")
    command.add_argument(
        "--measures",
        default=",".join(MEASURES),
        help="some of these (%(default)s), effect, share, similarity and vectors",
    )
    command.add_argument(
        "--vectors", metavar="FILE", help="each text's pooled vector too; ends in .parquet"
    )
    command.add_argument(
        "--pooling", help="of the vectors: what the model declares if not given, or else mean"
    )
    command.add_argument(
        "--sample",
        type=float,
        default=0.1,
        help="part for effect, share and similarity (%(default)s)",
    )
    command.add_argument(
        "--examples", type=int, default=10, help="strongest examples of each head (%(default)s)"
    )
    command.add_argument(
        "--resume", metavar="FOLDER", help="keep finished parts there, and resume from them"
    )
    command.add_argument("--on", default="local", help="local, or ray for Ray Data (%(default)s)")
    command.add_argument("--workers", type=int, help="for ray: how many, each with the model")
    command.add_argument("--gpus", type=float, default=0.0, help="for ray: GPUs a worker takes")
    command.add_argument("--address", help="for ray: the address of a cluster")
    command.add_argument(
        "--rank", default="previous", help="the statistic by which heads are listed (%(default)s)"
    )
    add_model(command)
    command.set_defaults(run=_corpus)


def _corpus(given: argparse.Namespace) -> None:
    kind = kind_of(given.output, KINDS)
    require_writable(given.output)
    _require_vectors(given)
    encoder = opened(given)
    if given.source.endswith(".conllu"):
        _trees(given, encoder, kind)
        return
    table = corpus(
        encoder,
        given.source,
        measures=given.measures.split(","),
        n=given.examples,
        sample=given.sample,
        column=given.column,
        second=given.second,
        on=given.on,
        workers=given.workers,
        gpus=given.gpus,
        address=given.address,
        folder=given.resume,
        vectors=given.vectors,
        pooling=given.pooling,
        progress=_tell,
    )
    if sys.stderr.isatty():
        print(file=sys.stderr)
    size = table.save(given.output)
    print(f"{given.output}: {table.sentence} {size:,} bytes.")
    if table.vectors is not None:
        print(_said(table.vectors, given.vectors))
    for failure in table.failures:
        print(f"Item {failure.item}: {failure.reason}", file=sys.stderr)
    if given.rank in table.statistics:
        _show(table, given.rank)


def _require_vectors(given: argparse.Namespace) -> None:
    if given.vectors is None:
        return
    require_parquet(given.vectors)
    if given.source.endswith(".conllu"):
        raise SelectionError(
            "--vectors is for texts, and this is a treebank: save its sentences as .txt, one on a "
            "line."
        )
    if Path(given.vectors).resolve() == Path(given.output).resolve():
        raise SelectionError(
            "The table (-o) and the vectors (--vectors) cannot be one file; give them two names."
        )


def _said(found: VectorSpread, path: str | None) -> str:
    where = f"{path}: " if path else ""
    many = f"{counted(found.n_texts, 'vector')} of {counted(len(found.mean), 'number')}"
    alike = (
        f"; the mean cosine of two texts is {found.mean_cosine:.2f}" if found.n_texts > 1 else ""
    )
    return f"{where}{many} ({found.pooling}){alike}."


def _trees(given: argparse.Namespace, encoder: LoadedEncoder, kind: str) -> None:
    """The relations of a treebank as CSV, or in a table of its sentences."""
    if kind == ".csv":
        found = relations(encoder, given.source)
        write_whole([csv_text(found.columns()).encode()], given.output)
        _show_relations(found, given.output)
        return
    table = treebank_table(encoder, given.source, k=given.examples, progress=_tell)
    table.save(given.output)
    if table.relations is None:
        print(f"{given.output}: no relations. {table.about.no_relations}")
    else:
        _show_relations(table.relations, given.output)


def _show_relations(found: Relations, output: str) -> None:
    many = counted(len(found.relations), "relation")
    print(f"{output}: {many} of {counted(found.n_sentences, 'sentence')}.")
    print(f"{'relation':12}{'arcs':>6}  {'best head':>14}  {'best offset':>12}  {'random':>6}")
    rows = zip(*found.columns().values(), strict=True)
    for name, n, layer, head, share, at, by_offset, *_, random in rows:
        best, offset = f"{layer}.{head} {share:.0%}", f"{at:+d} {by_offset:.0%}"
        print(f"{name[:12]:12}{n:6,}  {best:>14}  {offset:>12}  {random:6.0%}")


def _show(table: HeadTable, name: str) -> None:
    ranked, spread = table.ranked(name, N_SHOWN), table[name]
    print(f"{STATISTICS[name].title}, mean over {counted(spread.n_texts, 'text')}:")
    for layer, head in ranked:
        mean, sd = spread.mean[layer, head], spread.sd[layer, head]
        print(f"  {layer}.{head}  {mean:.3f}" + ("" if math.isnan(sd) else f" ± {sd:.3f}"))
    for one in table.of_head(*ranked[0])[:N_EXAMPLES] if ranked else ():
        print(f"  {one.score:.3f}  {one.query_token} → {one.key_token}  {one.marked}")


def _tell(done: Done) -> None:
    tell(done.sentence)
