"""Sets that open pages compare poolings on, and queries learned from them, by unguessable key."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from viz_encoder.analyses.attention_pooling import AttentionPooling
from viz_encoder.analyses.collection import Collection, Separation
from viz_encoder.analyses.item_weights import ItemWeights
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.ui.state.expiring_store import KeyedStore, StoreEntry
from viz_encoder.ui.state.limits import give_back

MAX_BYTES = 2**30


@dataclass(eq=False)
class SetEntry(StoreEntry):
    """A set by every pooling; `rows` is its table, the best by silhouette first."""

    found: Collection
    encoder: LoadedEncoder
    rows: Sequence[Separation]  # () without labels
    pictures: tuple[bytes, ...]  # each item's as PNG; () of texts

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors and pictures."""
        vectors = sum(each.nbytes for each in self.found.vectors.values())
        return vectors + sum(map(len, self.pictures))


@dataclass(eq=False)
class LearnedEntry(StoreEntry):
    """A query that was learned, and what it weighs the tokens of its own set with."""

    learned: AttentionPooling
    encoder: LoadedEncoder
    items: Sequence[ItemWeights]

    @property
    def nbytes(self) -> int:
        """Bytes of the weights and of the pictures that were read."""
        pictures = (item.sample.picture for item in self.items)
        shown = sum(pixels.nbytes for pixels in pictures if pixels is not None)
        return shown + sum(item.weights.nbytes for item in self.items) + self.learned.losses.nbytes


def pages(owner: str | None) -> set[str]:
    """The pages that show what one of them, or an endpoint, had made."""
    return set() if owner is None else {owner}


class SetStore(KeyedStore[SetEntry]):
    """Sets by key."""

    gone = "This set has expired on the server; press Compare to run it again."


class LearnedStore(KeyedStore[LearnedEntry]):
    """Learned queries by key."""

    gone = "This learned query has expired on the server; press Train to learn it again."


@dataclass(frozen=True)
class Sets:
    """Both stores."""

    compared: SetStore = field(default_factory=lambda: SetStore(MAX_BYTES, dropped=give_back))
    learned: LearnedStore = field(default_factory=lambda: LearnedStore(MAX_BYTES // 4))

    def release(self, owner: str) -> None:
        """Let go of a closed page's sets."""
        self.compared.release(owner)
        self.learned.release(owner)
