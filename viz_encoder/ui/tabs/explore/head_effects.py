"""Effects of heads and tokens as plain data: of one text, of many, and of twins."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from viz_encoder.arguments import Progress
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects import TokenEffect, effect, patch, tokens
from viz_encoder.errors import InputError
from viz_encoder.inputs import Inputs
from viz_encoder.shown import quoted
from viz_encoder.ui.tabs.explore.stand_ins import reference_of
from viz_encoder.ui.wire.bytes import finite

MOST_TEXTS = 100
MOST_CHARACTERS = 2_000  # per text of many


def head_effects(
    encoder: LoadedEncoder, inputs: Inputs, measure: str, how: str, tell: Progress
) -> dict[str, Any]:
    """The effect of removing each head."""
    reference = reference_of(encoder) if how == "mean" else None
    found = effect(
        encoder, inputs, how=how, reference=reference, measure=measure or None, progress=tell
    )
    answer, share = found.untouched[0]
    return {
        "sentence": found.sentence,
        "flip": found.flip,
        "measure": found.measures[0],
        "how": found.how,
        "before": finite(found.before[0]),
        "untouched": {"answer": answer, "share": finite(share)},
        "values": finite(found.values[0]),
        "answers": found.answers[0].tolist(),
        "shares": finite(found.shares[0]),
        "forwards": round(found.n_forwards, 1),
    }


def token_effects(
    encoder: LoadedEncoder, inputs: Inputs, tell: Progress, **asked: Any
) -> dict[str, Any]:
    """The effect of taking each token away; `asked` is as in `tokens`, "" for a default."""
    given: dict[str, Any] = {name: None if value == "" else value for name, value in asked.items()}
    found = tokens(encoder, inputs, progress=tell, **given)
    answer, share = found.untouched
    return {
        "sentence": _token_sentence(found),
        "measure": found.measure,
        "before": finite(found.before),
        "untouched": {"answer": answer, "share": finite(share)},
        "values": finite(found.values),
        "answers": found.answers.tolist(),
        "shares": finite(found.shares),
        "labels": list(found.labels),
        "pair": finite(found.pair),
    }


def _token_sentence(found: TokenEffect) -> str:
    answer = found.untouched[0]
    done = "hidden from every token" if found.how == "attention" else "masked"
    known = [at for at, value in enumerate(found.values) if np.isfinite(value)]
    if not known:
        return "No token can be removed here."
    if answer:
        names = [quoted(found.tokens[at]) for at in known if found.answers[at] != answer]
        listed = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
        what = f"{len(names)} of {len(known)} tokens change the answer {quoted(answer)} when {done}"
        return f"{what}: {listed}." if names else f"{what}."
    most = max(known, key=lambda at: abs(found.values[at]))
    size = f"{found.values[most]:.3g}"
    return f"{quoted(found.tokens[most])}, {done}, changes the measure most: by {size}."


def twin_patch(encoder: LoadedEncoder, inputs: Inputs, twin: str, tell: Progress) -> dict[str, Any]:
    """Each head's output from the run of a twin text: both directions, as shares of the way."""
    sample = inputs.samples[0]
    if len(sample.texts) != 1:
        raise InputError("Patching from a twin takes one text, not a pair or a picture.")
    if not twin.strip() or len(twin) > MOST_CHARACTERS * 10:
        raise InputError("Type the twin: the same text with one word changed.")
    noising = patch(encoder, inputs, twin, progress=lambda share: tell(share / 2))
    denoising = patch(
        encoder, inputs, twin, direction="denoising", progress=lambda share: tell(0.5 + share / 2)
    )
    (layer, head), *_ = noising.ranked(1)
    to, back = (float(each.shares[0, layer, head]) for each in (noising, denoising))
    return {
        "sentence": (
            f"Patching head {layer}.{head} alone from the twin moves the measure {to:.0%} of the "
            f"way to the twin's; patching it into the twin's run restores {back:.0%}."
        ),
        "measure": noising.measures[0],
        "clean": finite(noising.clean[0]),
        "other": finite(noising.other[0]),
        "noising": finite(noising.shares[0]),
        "denoising": finite(denoising.shares[0]),
        "texts": [sample.texts[0], twin],
    }


def over_texts(
    encoder: LoadedEncoder,
    texts: Sequence[Any],
    measure: str,
    how: str,
    tell: Progress,
    lines: object = None,
) -> dict[str, Any]:
    """The mean effect of removing each head over several texts, with its spread.

    `lines` are those that the texts stand in, counted from 1, which an error names.
    """
    kept = [text.strip() for text in texts if isinstance(text, str) and text.strip()]
    if len(kept) != len(texts) or not 2 <= len(kept) <= MOST_TEXTS:
        raise InputError(f"Give 2 to {MOST_TEXTS} texts, one per line; there are {len(kept)}.")
    names = [f"line {number}" for number in _lines(lines, len(kept))]
    for name, text in zip(names, kept, strict=True):
        if len(text) > MOST_CHARACTERS:
            raise InputError(f"L{name[1:]} has over {MOST_CHARACTERS:,} characters; shorten it.")
    reference = reference_of(encoder) if how == "mean" else None
    found = effect(
        *(encoder, kept),
        how=how,
        reference=reference,
        measure=measure or None,
        names=names,
        progress=tell,
    )
    return {
        "sentence": found.sentence,
        "measure": found.measures[0] if len(set(found.measures)) == 1 else "each text's own",
        "n": len(kept),
        "mean": finite(found.mean),
        "spread": finite(found.spread),
    }


def _lines(given: object, count: int) -> Sequence[int]:
    if isinstance(given, list) and len(given) == count and all(type(each) is int for each in given):
        return given
    return range(1, count + 1)
