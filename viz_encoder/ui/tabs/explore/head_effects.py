"""Routes of the effects of heads and tokens: of one text, of many, and of twins."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends

from viz_encoder.arguments import Progress
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects import TokenEffect, effect, patch, tokens
from viz_encoder.effects import flips as fewest
from viz_encoder.errors import InputError
from viz_encoder.inputs import Inputs
from viz_encoder.shown import counted, quoted
from viz_encoder.ui.state.attributed import runnable
from viz_encoder.ui.tabs.explore.stand_ins import reference_of
from viz_encoder.ui.wire.arguments import Held
from viz_encoder.ui.wire.body_limits import json_object, sent
from viz_encoder.ui.wire.bytes import finite
from viz_encoder.ui.wire.concurrency import Places, Plain
from viz_encoder.ui.wire.errors import ToldRoute

EFFECTS = APIRouter(prefix="/whatif", route_class=ToldRoute)
SWEEPING = Places(1)  # effects of all heads keep a processor busy: one at a time
MOST_JSON = 2**19
MOST_TEXTS = 100
MOST_CHARACTERS = 2_000  # per text of many


async def _plain(entry: Held) -> tuple[Any, Any]:
    return runnable(entry)


PlainRun = Annotated[tuple[Any, Any], Depends(_plain)]  # the model, and inputs without changes


@EFFECTS.get("/heads")
@SWEEPING.lines
def head_effects(plain: PlainRun, tell: Progress, measure: str = "", how: str = "zero") -> Plain:
    """The effect of removing each head: values[layer][head], and the answer without it.

    measure is "masked", "logit", "pooled" or "state"; how is "zero" or "mean".
    """
    reference = reference_of(plain[0]) if how == "mean" else None
    found = effect(*plain, how=how, reference=reference, measure=measure or None, progress=tell)
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


@EFFECTS.get("/tokens")
@SWEEPING.lines
def token_effects(
    plain: PlainRun,
    tell: Progress,
    measure: str = "",
    how: str = "attention",
    answer: str = "",
    at: int | None = None,
) -> Plain:
    """The effect of hiding each token from all ("attention"), or of masking it ("mask")."""
    asked: dict[str, Any] = {"how": how, "measure": measure or None, "answer": answer or None}
    found = tokens(*plain, at=at, progress=tell, **asked)
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


@EFFECTS.get("/flips")
@SWEEPING.lines
def flips(plain: PlainRun, tell: Progress, most: int = 3) -> Plain:
    """The fewest tokens, at most 3, whose hiding changes the answer."""
    found = fewest(*plain, most=most, progress=tell)
    tried = f"{counted(found.tries, 'set')} tried"
    whole = "" if found.whole else "; not all of that size"
    answer = quoted(found.untouched[0])
    if found.sets:
        names = " and ".join(quoted(found.tokens[at]) for at in found.sets[0])
        (now, share), count = found.answers[0], len(found.sets[0])
        noun = "token" if count == 1 else "tokens"
        sentence = (
            f"Hiding {count} {noun} is enough to change {answer}: {names} gives {quoted(now)} "
            f"{share:.3f} ({tried}{whole})."
        )
    else:
        number = "any one token" if most == 1 else f"up to {most} tokens"
        sentence = f"Hiding {number} did not change {answer} ({tried}{whole})."
    return {
        "sentence": sentence,
        "sets": [list(each) for each in found.sets],
        "answers": [{"answer": name, "share": finite(share)} for name, share in found.answers],
        "tries": found.tries,
        "whole": found.whole,
    }


def twin_patch(encoder: LoadedEncoder, inputs: Inputs, twin: str, tell: Progress) -> Plain:
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


async def _texts(content: Annotated[bytes, sent(MOST_JSON, "The texts")]) -> dict[str, Any]:
    asked = {"measure": "", "how": "zero", **json_object(content)}
    if not isinstance(asked.get("texts"), list) or not all(
        isinstance(asked[name], str) for name in ("measure", "how")
    ):
        raise InputError('Send the texts as a list: {"texts": ["…", "…"]}.')
    return asked


@EFFECTS.post("/texts")
@SWEEPING.lines
def over_texts(
    plain: PlainRun, asked: Annotated[dict[str, Any], Depends(_texts)], tell: Progress
) -> Plain:
    """The mean effect of removing each head over several texts, with its spread.

    `lines` are those that the texts stand in, counted from 1, which an error names.
    """
    texts, how = asked["texts"], asked["how"]
    kept = [text.strip() for text in texts if isinstance(text, str) and text.strip()]
    if len(kept) != len(texts) or not 2 <= len(kept) <= MOST_TEXTS:
        raise InputError(f"Give 2 to {MOST_TEXTS} texts, one per line; there are {len(kept)}.")
    names = [f"line {number}" for number in _lines(asked.get("lines"), len(kept))]
    for name, text in zip(names, kept, strict=True):
        if len(text) > MOST_CHARACTERS:
            raise InputError(f"L{name[1:]} has over {MOST_CHARACTERS:,} characters; shorten it.")
    reference = reference_of(plain[0]) if how == "mean" else None
    found = effect(
        *(plain[0], kept),
        how=how,
        reference=reference,
        measure=asked["measure"] or None,
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
