"""Outcomes of changed runs and smallest sets, as data for the page."""

from typing import Any

from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects import flips
from viz_encoder.effects.measures import available
from viz_encoder.effects.outcome import Outcome
from viz_encoder.effects.rerun import Progress
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Inputs
from viz_encoder.shown import counted, quoted
from viz_encoder.ui.state.changed import runnable
from viz_encoder.ui.state.examples import swap_of
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire.bytes import finite

TITLES = {
    "masked": "the answer at [MASK]",
    "logit": "the label",
    "pooled": "the pooled vector",
    "state": "the tokens' last states",
}

ABOUT = {  # in addition to the answers
    "pooled": "One vector for the whole input. “Declared” is the pooling that the model's own "
    "files declare; a model that declares none is pooled by the mean over its tokens.",
    "state": "The tokens' vectors after the last block; a mean over the tokens.",
}


def offered(entry: Entry) -> dict[str, Any]:
    """What can be measured here, a twin where one is known, and why nothing can be run again."""
    try:
        encoder, inputs = runnable(entry)
    except SelectionError as fault:
        nothing = {"measures": [], "usual": "", "twin": "", "text": ""}
        return {
            "fixed": str(fault) if entry.reading is None else "",
            "missing": str(fault),
            **nothing,
        }
    names = available(encoder, inputs.samples[0])
    text = inputs.samples[0].texts[0] if len(inputs.samples[0].texts) == 1 else ""
    swap = swap_of(text)
    return {
        "fixed": "",
        "missing": "",
        "measures": [
            {"name": name, "title": TITLES[name], "about": ABOUT.get(name, "")} for name in names
        ],
        "usual": names[0],
        "twin": text.replace(*swap) if swap else "",
        "text": text,
    }


def outcome_plain(found: Outcome) -> dict[str, Any]:
    """Effect of a change on the output."""
    before, after = found.shares
    return {
        "sentence": found.sentence,
        "measure": found.measure,
        "labels": list(found.labels),
        "before": finite(list(before)),
        "after": finite(list(after)),
        "flips": found.flips,
        "value": finite(found.before),
        "changed": None if found.after is None else finite(found.after),
        "cosine": finite(found.cosine),
        "moved": None if found.moved is None else finite(found.moved),
    }


def flips_plain(
    encoder: LoadedEncoder, inputs: Inputs, most: int, tell: Progress
) -> dict[str, Any]:
    """The fewest tokens whose hiding changes the answer, and how many sets were tried."""
    found = flips(encoder, inputs, most=most, progress=tell)
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
