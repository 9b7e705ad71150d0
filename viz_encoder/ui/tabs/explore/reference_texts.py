"""Reference sets: the texts over which a head's output is averaged, to stand in for it."""

from collections.abc import Sequence

from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import SelectionError
from viz_encoder.inputs.items import read_set

MOST = 20
TOPICS = "examples/sets/topics.csv"
GRAMMAR = tuple(
    f"{start} {middle} {end}"
    for start, middle in (("the key to the box", "is"), ("the cats near the bird", "are"))
    for end in ("old", "small", "red")
) + tuple(
    f"the {one} {deed} the {other} {why} {who} was tired"
    for one, other in (("girl", "boy"), ("man", "queen"))
    for deed, why, who in (("saw", "because", "she"), ("called", "so", "he"))
)


def reference_of(encoder: LoadedEncoder) -> Sequence[str]:
    """At most 20 texts for this model: on several topics, or in its own small language.

    Raises:
        SelectionError: a model that reads no text.
    """
    if encoder.kind != "text":
        raise SelectionError(
            "The mean over a reference set is only for texts; choose zero, or give a set in "
            'Python: vz.effect(encoder, picture, how="mean", reference=[…]).'
        )
    if encoder.card.name == "grammar":
        return GRAMMAR
    items = read_set(asset(TOPICS))
    step = max(1, len(items) // MOST)
    return [str(item.source) for item in items[::step]][:MOST]
