"""What a score becomes with a head replaced: by zeros, its mean, or its output for a twin."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from viz_encoder.arguments import Progress
from viz_encoder.arguments.public import is_digits
from viz_encoder.attribution.attribution import Attribution
from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects import effect, joint
from viz_encoder.effects.rerun import HeadPlace, Rerun, chosen
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import Inputs
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
    """At most 20 texts for this model: on several topics, or in its own small language."""
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


MEAN, TWIN = "mean", "patch"


def each_replaced(
    found: Attribution, run: tuple[LoadedEncoder, Inputs], how: str, twin: str, tell: Progress
) -> Float[np.ndarray, "layer head"]:
    """The change of the score with each head alone replaced, by what `how` names.

    Raises:
        SelectionError: no such stand-in, or one that this model does not have.
        InputError: a twin with another number of tokens.
    """
    encoder, inputs = run
    if how == TWIN:
        return _patched(found, encoder, inputs, twin, tell)
    texts = reference_of(encoder) if how == MEAN else None
    each = effect(encoder, inputs, how=how, reference=texts, measure=found, progress=tell)
    return each.values[0]


def together(found: Attribution, run: tuple[LoadedEncoder, Inputs], how: str, names: str) -> float:
    """The change of the score with several heads replaced at once, written as 3.0,3.4.

    Raises:
        SelectionError: that is not a list of heads of this model.
    """
    encoder, inputs = run
    texts = reference_of(encoder) if how == MEAN else None
    heads = chosen(_read(names), encoder.config)
    return joint(encoder, inputs, heads, how=how, reference=texts, measure=found)[0]


def _patched(
    found: Attribution, encoder: LoadedEncoder, inputs: Inputs, twin: str, tell: Progress
) -> Float[np.ndarray, "layer head"]:
    run, donor = (Rerun(encoder, each) for each in (inputs, encoder.read(twin)))
    counts = [each.output.shape[1] for each in (run, donor)]
    if counts[0] != counts[1]:
        raise InputError(
            f"The twin has {counts[1]} tokens and this text {counts[0]}; replace one word with one "
            "that has as many tokens."
        )
    measure = found.measure(run)
    values = np.full((encoder.config.n_layers, encoder.config.n_heads), np.nan)
    for alone in run.each_alone(chosen("all", encoder.config), donor.said.__getitem__):
        values[alone.layer, alone.heads] = measure.read(alone.outputs)
        tell(alone.done)
    return values - float(measure.read(run.output)[0])


def _read(names: str) -> list[HeadPlace]:
    parts = [name.split(".") for name in names.split(",")]
    if not all(len(part) == 2 and all(map(is_digits, part)) for part in parts):
        raise SelectionError(f"{names[:40]!r} is not a list of heads; write them as 3.0,3.4.")
    return [(int(layer), int(head)) for layer, head in parts]
