"""The command `pool`: one vector for each text or picture of a set, and how well labels divide."""

import argparse
import re
import sys
from pathlib import Path

from viz_encoder.analyses.collection import Collection, collection
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.commands.terminal import add_model, opened, tell
from viz_encoder.errors import SelectionError
from viz_encoder.inputs.items import read_set
from viz_encoder.model.pooling import METHODS
from viz_encoder.whole_file import kind_of, require_writable

NUMBERS = re.compile(r"-\d+(,-?\d+)*$")


def add_pool(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of viz-encoder."""
    pool = commands.add_parser("pool", help="one vector for each text or picture of a set")
    pool._negative_number_matcher = NUMBERS  # argparse would take -2,-1 for an option
    pool.add_argument(
        "source", help=".txt, one text per line; .csv or .jsonl (text, label); or a folder"
    )
    pool.add_argument("-o", "--output", required=True, help="ends in .csv, .npz, .arrow, .parquet")
    pool.add_argument(
        "--methods",
        help=f"all, or some of {', '.join(METHODS)}; by default what the model declares, or "
        "else mean",
    )
    pool.add_argument(
        "--prompt", help="the name of one of the model's prompts, which goes before each text"
    )
    pool.add_argument(
        "--states",
        default="-1",
        help="after how many blocks, 0 = embeddings: all, or numbers: --states -2,-1 (%(default)s)",
    )
    pool.add_argument(
        "--table",
        help="also write a table of how well each pooling separates the labels: table.csv",
    )
    add_model(pool)
    pool.set_defaults(run=_pool)


def _pool(given: argparse.Namespace) -> None:
    from viz_encoder.export.vectors import KINDS, save_vectors

    kind_of(given.output, KINDS)
    for path in filter(None, (given.output, given.table)):
        require_writable(path)
    items = read_set(Path(given.source))
    encoder = opened(given)
    methods = None if given.methods == "all" else _methods(given.methods, encoder)
    states = None if given.states == "all" else _states(given.states)
    read = {"prompt": given.prompt, "progress": _tell}
    found = collection(encoder, items, methods=methods, states=states, **read)
    if given.table:
        _save_table(found, Path(given.table))
    size = save_vectors(found, given.output)
    by, at = ", ".join(found.methods), ", ".join(map(str, found.states))
    blocks = "block" if found.states == (1,) else "blocks"
    done = f"{len(items):,} items, by {by}{_chosen(given.methods, encoder)}, after {at} {blocks}"
    print(f"{given.output}: {done}: {size:,} bytes.")
    for note in found.notes:
        print(note, file=sys.stderr)


def _methods(text: str | None, encoder: LoadedEncoder) -> list[str]:
    """The methods asked for; where none is, the model's own."""
    if text is None:
        return ["mean" if encoder.declared is None else "declared"]
    return text.split(",")


def _chosen(text: str | None, encoder: LoadedEncoder) -> str:
    """The default method if none was given, with its origin."""
    if text is not None:
        return ""
    if encoder.declared is None:
        return " (the model declares none)"
    return f" (the model's own: {encoder.declared.words})"


def _states(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SelectionError(
            f"--states is {text[:40]!r}; give numbers such as 0,-1, or all."
        ) from None


def _save_table(found: Collection, path: Path) -> None:
    from viz_encoder.export.vectors import save_table

    rows = found.table()
    save_table(rows, path)
    print(f"{'method':12}{'state':>6}{'silhouette':>12}{'centroid':>10}{'recall@1':>10}")
    for row in rows[:10]:
        scores = f"{row.silhouette:12.3f}{row.centroid_accuracy:10.3f}{row.recall_at_1:10.3f}"
        print(f"{row.method:12}{row.state:6}{scores} {row.why}".rstrip())


def _tell(done: int, total: int) -> None:
    tell(f"{done:,} of {total:,}", last=done == total)
