"""100,000 different texts through vz.corpus: whether memory stays flat, and how many a second."""

import random
from collections.abc import Iterator

import psutil

import viz_encoder as vz
from viz_encoder.corpora import Done
from viz_encoder.corpora.relations import with_random_weights

EARLY, LATE = 10_000, 100_000
WORDS = ("keys", "cabinet", "box", "cat", "dog", "sees", "likes", "runs", "to", "near", "old")


def texts(n: int, seed: int = 0) -> Iterator[str]:
    """Short texts of 4 to 16 words, one after the other; none is kept."""
    rng = random.Random(seed)
    for _ in range(n):
        yield " ".join(rng.choices(WORDS, k=rng.randint(4, 16)))


def held(n: int, early: int) -> float:
    """Resident memory after n texts ÷ after `early`, random weights of 4 layers × 4 heads."""
    grammar = vz.load("grammar", device="cpu")
    process, seen = psutil.Process(), list[int]()

    def watch(done: Done) -> None:
        if (done.n >= early and not seen) or done.n == n:
            seen.append(process.memory_info().rss)

    table = vz.corpus(with_random_weights(grammar, 0), texts(n), progress=watch)
    assert table.n_texts == n
    return seen[-1] / seen[0]


def growth_over_texts(rounds: int) -> float:
    """Resident memory after 100,000 texts ÷ after 10,000."""
    return held(LATE, EARLY)
