"""Outcomes of changed runs and smallest sets, as data for the page."""

from typing import Any

from viz_encoder.arguments import Progress
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects import flips
from viz_encoder.effects.outcome import Outcome
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Inputs
from viz_encoder.shown import counted, quoted
from viz_encoder.ui.state.changed import runnable
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire.bytes import finite


def offered(entry: Entry) -> dict[str, str]:
    """Why nothing can be changed, and why no effects can be measured; "" where they can."""
    try:
        runnable(entry)
    except SelectionError as fault:
        return {"fixed": str(fault) if entry.reading is None else "", "missing": str(fault)}
    return {"fixed": "", "missing": ""}


def outcome_plain(found: Outcome) -> dict[str, Any]:
    """Effect of a change on the output."""
    before, after = found.shares
    return {
        "sentence": found.sentence,
        "became": found.became,
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
