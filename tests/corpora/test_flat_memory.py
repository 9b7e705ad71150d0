"""Memory that does not grow with the corpus: what is held after 1,024 texts is what 256 left."""

import gc
import random
import tracemalloc
from collections.abc import Iterator

import viz_encoder as vz
from tests.shape_checks import shapes_checked
from viz_encoder.corpora import chunk
from viz_encoder.corpora.relations import with_random_weights

EARLY, LATE, CHUNK = 256, 1_024, 128  # whole chunks: what came before is measured by then
WORDS = ("keys", "cabinet", "box", "cat", "dog", "near", "old")
GROWTH = 30_000  # bytes; the texts alone are twice as many


def held_by_us() -> int:
    """Bytes allocated below the package: a browser of an earlier test may still be at work."""
    gc.collect()
    ours = tracemalloc.Filter(True, "*/viz_encoder/*", all_frames=True)
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([ours]).traces)


def test_nothing_of_a_text_is_held_once_it_is_measured(grammar, monkeypatch):
    monkeypatch.setattr(chunk, "CHUNK_ITEMS", CHUNK)
    held = []

    def texts() -> Iterator[str]:
        rng = random.Random(0)
        for number in range(LATE + 1):
            if number in (EARLY, LATE):
                held.append(held_by_us())
            yield f"{' '.join(rng.choices(WORDS, k=3))} {number}"

    tracemalloc.start(12)  # frames: enough to reach the package
    try:
        with shapes_checked(False):  # which other tests do, and which allocates most of all
            vz.corpus(with_random_weights(grammar, 0), texts(), n=2)
    finally:
        tracemalloc.stop()
    early, late = held
    assert late - early < GROWTH, f"{late - early:,} bytes for {LATE - EARLY:,} texts"
