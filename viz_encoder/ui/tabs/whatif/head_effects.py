"""Effects of removing heads, as the page is told them: of one text, of many, and of twins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from viz_encoder.analyses.pair import pair
from viz_encoder.arguments.written import is_digits
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects import Effect, TokenEffect, effect, joint, patch, tokens
from viz_encoder.effects.heads import chosen
from viz_encoder.effects.rerun import Progress
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import Inputs
from viz_encoder.shown import quoted
from viz_encoder.trace import Trace
from viz_encoder.trace.prediction_heads import masked_tokens
from viz_encoder.ui.tabs.whatif.references import reference_of
from viz_encoder.ui.wire.bytes import finite

MOST_TEXTS = 100
MOST_CHARACTERS = 2_000  # per text of many
SMALL = 0.1  # of the largest effect: heads below it change almost nothing
LOOKS = 0.5  # of the query's total: heads above it attend strongly


@dataclass(frozen=True)
class Tokens:
    """How tokens are removed, and which answer is watched where; "" and None: default."""

    measure: str = ""
    how: str = "attention"
    answer: str = ""
    at: int | None = None


def head_effects(
    encoder: LoadedEncoder, inputs: Inputs, trace: Trace, measure: str, how: str, tell: Progress
) -> dict[str, Any]:
    """The effect of removing each head, and the link whose weight may stand beside it."""
    reference = reference_of(encoder) if how == "mean" else None
    found = effect(
        encoder, inputs, how=how, reference=reference, measure=measure or None, progress=tell
    )
    query, key = link_of(found, trace)
    answer, share = found.untouched[0]
    return {
        "sentence": found.sentence,
        "flip": found.flip,
        "second": "" if query is None or key is None else looks_said(found, trace, query, key),
        "measure": found.measures[0],
        "how": found.how,
        "before": finite(found.before[0]),
        "untouched": {"answer": answer, "share": finite(share)},
        "values": finite(found.values[0]),
        "answers": found.answers[0].tolist(),
        "shares": finite(found.shares[0]),
        "forwards": round(found.n_forwards, 1),
        "query": query,
        "key": key,
    }


def link_of(found: Effect, trace: Trace) -> tuple[int | None, int | None]:
    """The queried position, and the token that the most effective head attends to most there."""
    places, ranked = masked_tokens(trace.tokens), found.ranked(1)
    if not places or not ranked:
        return None, None
    (layer, head), query = ranked[0], places[0]
    row = trace.attention(layer, head, rows=slice(query, query + 1))[0].double().cpu().numpy()
    special = np.array(trace.sample.special)
    special[query] = True
    if special.all():
        return query, None
    return query, int(np.argmax(np.where(special, -1.0, np.nan_to_num(row))))


def looks_said(found: Effect, trace: Trace, query: int, key: int) -> str:
    """Heads with a large weight on that token but a tiny effect; "" if none."""
    weights, values = pair(trace, query, key).weights, np.abs(found.values[0])
    most = float(np.nanmax(values))
    idle = np.argwhere((weights > LOOKS) & (values < SMALL * most))
    if not len(idle) or not most:
        return ""
    heads = sorted(idle.tolist(), key=lambda at: -weights[tuple(at)])[:2]
    names = " and ".join(f"{layer}.{head}" for layer, head in heads)
    sizes = " and ".join(f"{weights[tuple(at)]:.2f}" for at in heads)
    one = len(heads) == 1
    return (
        f"{'Head' if one else 'Heads'} {names} {'looks' if one else 'look'} at "
        f"{quoted(trace.tokens[key])} too ({sizes}), and removing {'it' if one else 'either'} "
        "changes almost nothing: a large weight need not have a large effect."
    )


def token_effects(
    encoder: LoadedEncoder, inputs: Inputs, asked: Tokens, tell: Progress
) -> dict[str, Any]:
    """The effect of taking each token away."""
    found = tokens(
        encoder,
        inputs,
        how=asked.how,  # type: ignore[arg-type]
        measure=asked.measure or None,
        answer=asked.answer or None,
        at=asked.at,
        progress=tell,
    )
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


def together(
    encoder: LoadedEncoder, inputs: Inputs, heads: str, measure: str, tell: Progress
) -> dict[str, Any]:
    """Several heads removed at once, beside the sum of their single effects."""
    parts = [part.split(".") for part in heads.split(",")]
    if not all(len(part) == 2 and all(map(is_digits, part)) for part in parts):
        raise SelectionError(f"{heads[:40]!r} is not a list of heads; write them as 3.0,2.1.")
    places = chosen([(int(layer), int(head)) for layer, head in parts], encoder.config)
    single = effect(encoder, inputs, places, measure=measure or None, progress=tell)
    each = [float(single.values[0][place]) for place in places]
    value, answer = joint(encoder, inputs, places, measure=measure or None)
    names = ", ".join(f"{layer}.{head}" for layer, head in places)
    said = f"Heads {names} removed together change the measure by {value:+.3g}"
    sentence = f"{said}; their single effects sum to {sum(each):+.3g}.".replace("-", "−")
    return {
        "sentence": sentence,
        "measure": single.measures[0],
        "together": finite(value),
        "sum": finite(sum(each)),
        "answer": answer,
        "single": finite(each),
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
    """The lines as they were sent; else one after the other."""
    if isinstance(given, list) and len(given) == count and all(type(each) is int for each in given):
        return given
    return range(1, count + 1)
