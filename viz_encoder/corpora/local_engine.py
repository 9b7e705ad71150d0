"""Local engine: chunk after chunk, on this machine's own threads or GPU."""

from collections.abc import Iterable, Iterator

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.corpora.chunk import Chunk, Parts, Settings, measure_items
from viz_encoder.corpora.head_sums import HeadSums
from viz_encoder.corpora.progress import CorpusWatch


def measured_here(
    encoder: LoadedEncoder,
    given: Iterable[Chunk],
    settings: Settings,
    parts: Parts | None,
    watch: CorpusWatch,
) -> Iterator[HeadSums]:
    """The sums of each chunk, in order; those that a folder keeps are not made again."""
    for chunk in given:
        kept = None if parts is None else parts.kept(chunk)
        if kept is not None:
            watch.tell(len(chunk.sources), resumed=True)
        else:
            kept = measure_items(encoder, chunk.numbers, chunk.sources, settings, watch.tell)
            if parts is not None:
                parts.keep(chunk, kept)
        yield kept
