"""Tables of heads for the page: measured here or opened, as plain data with their words."""

import math
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from viz_encoder.arguments import Progress
from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.corpora import Done, HeadTable, TreeSentence, corpus, read_treebank, treebank_table
from viz_encoder.corpora.corpus import MEASURES
from viz_encoder.corpora.corpus_items import TREES, TextColumns, Unreadable
from viz_encoder.corpora.statistics import STATISTICS, carried_shares
from viz_encoder.corpora.table_files import as_data
from viz_encoder.errors import SelectionError, TooLong, VizEncoderError
from viz_encoder.shown import continued, counted
from viz_encoder.trace.head_statistics import Statistic
from viz_encoder.ui.state.readable import printable
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.corpus import sources
from viz_encoder.ui.tabs.corpus.pictures import ZIP, Named, sent_pictures, zipped_pictures

FILES = (".csv", ".parquet", ".npz", ".json")
GRAMMAR = "grammar"
LOOK = "heads that look "
SHARED = 40  # texts, each of which takes some forward passes more
LOADED, READ = 0.05, 0.1  # the shares of the work that loading and counting are


def measured(
    runner: Runner,
    name: str,
    content: bytes,
    model: str,
    column: str,
    tell: Progress,
    second: str = "",
) -> dict[str, Any]:
    """The table of a file's texts or pictures; a file that is a table is opened, and nothing runs.

    With a column `second`, rows are pairs.

    Raises:
        InputError: a file that cannot be read.
        TooLong: more texts, pictures or tokens than this server takes.
        SelectionError: no such model, or one that reads something else.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = sources.named_file(folder, name, content, runner.limits)
        if sources.is_table(path):
            _check_size(content, runner)
            return described(sources.opened_table(path))
        if path.suffix == TREES:
            trees = sources.sentences_of(path, runner.limits)
            return described(over_trees(runner, trees, printable(name), model, tell))
        if path.suffix == ZIP:
            found = zipped_pictures(folder, path, runner.limits)
            return over_pictures(runner, found, printable(name), model, tell)
        columns = TextColumns(column or "text", second or None)
        texts = sources.texts_of(path, columns, runner.limits)
    return described(over(runner, texts, printable(name), model, tell))


def measured_pictures(runner: Runner, content: bytes, model: str, tell: Progress) -> dict[str, Any]:
    """The table of several pictures; see `sent_pictures`.

    Raises:
        InputError: something else, or a file that is no picture.
        TooLong: more pictures or patches than this server takes.
        SelectionError: no such model, or one of texts.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = sent_pictures(folder, content, runner.limits)
        source = found[0][0] if len(found) == 1 else f"{len(found):,} uploaded pictures"
        return over_pictures(runner, found, source, model, tell)


def over(
    runner: Runner, texts: Sequence[Any], source: str, model: str, tell: Progress, k: int = 10
) -> HeadTable:
    """The table of these texts, with what heads carried of the pooled vector of some of them."""
    given = list(texts)

    def work(encoder: LoadedEncoder, progress: Callable[[Done], None]) -> HeadTable:
        shared = ("share",) * _carries(encoder, given)
        sample = min(1.0, SHARED / max(1, len(given)))
        measures = (*MEASURES, *shared)
        return corpus(encoder, given, n=k, measures=measures, sample=sample, progress=progress)

    return _counted(runner, given, source, model, tell, work)


def _carries(encoder: LoadedEncoder, texts: Sequence[Any]) -> bool:
    """Whether a model's pooled vector can be shared out among heads; its first text tells."""
    first = next((one for one in texts if not isinstance(one, Unreadable)), None)
    if first is None:
        return False
    try:
        carried_shares(encoder, encoder.read(first))
    except VizEncoderError:
        return False
    return True


def over_pictures(
    runner: Runner, found: Named, source: str, model: str, tell: Progress
) -> dict[str, Any]:
    """Results over images, as plain data; `names` are the example files' names."""
    names, paths = zip(*found, strict=True) if found else ((), ())
    work = partial(corpus, items=paths)
    table = _counted(runner, paths, source, model, tell, work, kind="image")
    told = {one.item for one in table.examples}
    return described(table) | {"names": {str(item): names[item] for item in sorted(told)}}


def over_trees(
    runner: Runner, trees: Sequence[TreeSentence], source: str, model: str, tell: Progress
) -> HeadTable:
    """The table of a treebank's sentences, with its relations."""
    texts = [one.text for one in trees]
    return _counted(runner, texts, source, model, tell, partial(treebank_table, sentences=trees))


def _counted(
    runner: Runner,
    texts: Sequence[Any],
    source: str,
    model: str,
    tell: Progress,
    work: Callable[..., HeadTable],
    kind: str = "text",
) -> HeadTable:
    """Run the work on the texts with the named model, under its source's name."""
    encoder = runner.models.get(model, kind, lambda share: tell(LOADED * share))
    _check_tokens(encoder, texts, runner.limits.set_tokens, tell)

    def progress(done: Done) -> None:
        tell(READ + (1 - READ) * done.n / max(1, done.total or 1))

    table = work(encoder, progress=progress)
    return replace(table, about=replace(table.about, source=source))


def example_trees(runner: Runner, tell: Progress) -> dict[str, Any]:
    """The treebank that ships, on the model whose rules it follows."""
    trees = list(read_treebank(GRAMMAR))
    return described(over_trees(runner, trees, sources.TREEBANK, GRAMMAR, tell))


@cache
def example() -> dict[str, Any]:
    """The table that ships: the example sentences on the built-in model."""
    table = HeadTable.load(asset(sources.TABLE))
    return described(replace(table, about=replace(table.about, source=sources.EXAMPLE)))


def described(table: HeadTable) -> dict[str, Any]:
    """The table as `HeadTable.load` reads it, with each statistic in words and its first head."""
    words = {name: _words(name) for name in table.statistics}
    says = {name: said(table, name) for name in table.statistics}
    return as_data(table) | {"words": words, "says": says, "sentence": table.sentence}


def said(table: HeadTable, name: str) -> str:
    """The head that leads by a statistic, with its mean and standard deviation over texts."""
    ranked, spread = table.ranked(name, 1), table[name]
    what = "picture" if table.about.kind == "image" else "text"
    if not ranked or not spread.n_texts or spread.mean[ranked[0]] != spread.mean[ranked[0]]:
        return f"None of these {what}s has this statistic: {_title(name).lower()}."
    (layer, head), known = ranked[0], STATISTICS.get(name)
    mean, sd = spread.mean[layer, head], spread.sd[layer, head]
    digits = 4 if 0 < sd < 0.0005 else 3 if 0 < sd < 0.005 else 2  # so that sd is seen
    number = f"{mean:.{digits}f}" if math.isnan(sd) else f"{mean:.{digits}f} ± {sd:.{digits}f}"
    n, whole = spread.n_texts, table.n_texts
    many = counted(n, what) if n == whole else f"{n:,} of the {counted(whole, what)}"
    over_texts = f"Over {many}, head {layer}.{head}"
    if known is not None and known.meaning.startswith(LOOK):
        where = known.meaning.removeprefix(LOOK).partition(";")[0]
        return f"{over_texts} looks {where} more than any other head: {number} of its attention."
    unit = "" if known is None or known.unit == "share" else f" {known.unit}"
    return f"{over_texts} is highest in {continued(_title(name))}: {number}{unit}."


def file_of(table: HeadTable, kind: str) -> bytes:
    """The table as a file of that ending."""
    if kind not in FILES:
        raise SelectionError(f"There is no file {kind[:20]!r}; choose one of {', '.join(FILES)}.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table{kind}")
        table.save(path)
        return path.read_bytes()


def _check_size(content: bytes, runner: Runner) -> None:
    if len(content) > runner.limits.table_bytes:
        raise TooLong(
            f"The table has {len(content):,} bytes; this server opens up to "
            f"{runner.limits.table_bytes:,}."
        )


def _check_tokens(
    encoder: LoadedEncoder, texts: Sequence[Any], most: int | None, tell: Progress
) -> None:
    """Refuse more tokens, or patches, than this server takes before any is run."""
    if most is None:
        return
    count = 0
    for number, text in enumerate(texts, 1):
        tell(LOADED + (READ - LOADED) * number / len(texts))
        with suppress(VizEncoderError):  # the table will list it
            if not isinstance(text, Unreadable):
                count += len(encoder.read(text).samples[0].tokens)
        if count > most:
            what, tokens = (
                ("texts", "tokens") if encoder.kind == "text" else ("pictures", "patches")
            )
            raise TooLong(
                f"The {what} are too long for this server: over {most:,} {tokens} after "
                f"{number:,} of {len(texts):,} {what}. Give fewer or "
                f"{'shorter' if what == 'texts' else 'smaller'} ones."
            )


def _words(name: str) -> dict[str, str]:
    what = STATISTICS.get(name) or Statistic(name, "", "")
    return {each: getattr(what, each) for each in ("title", "unit", "meaning", "edge", "over")}


def _title(name: str) -> str:
    return STATISTICS[name].title if name in STATISTICS else name
