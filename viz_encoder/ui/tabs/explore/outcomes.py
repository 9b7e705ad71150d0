"""Outcomes and proofs of changed runs, as data for the page."""

from typing import Any

from viz_encoder.effects.change import Change
from viz_encoder.effects.outcome import Outcome
from viz_encoder.errors import SelectionError
from viz_encoder.trace import Trace
from viz_encoder.ui.state.attributed import runnable
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


UNCHANGED = "Nothing was changed in this run."


def proof_plain(entry: Entry) -> dict[str, Any]:
    """Whether it holds, in a sentence, with every part."""
    changes, trace = entry.recipe.changes, entry.trace
    if not changes:
        return {"passed": None, "sentence": UNCHANGED, "parts": []}
    parts = [{"passed": trace.proof.passed, "sentence": trace.proof.sentence}]
    said = []
    cut = [change for change in changes if change.kind in "tl"]
    if cut:
        most = max(largest_left(trace, change) for change in cut)
        sentence = "Every cut weight is exactly 0 in the maps that ran."
        if most:
            sentence = f"A link that was cut still has weight {most:.2g} in the maps that ran."
        parts.insert(0, {"passed": most == 0, "sentence": sentence})
        said.append(sentence)
    if any(change.kind == "c" for change in changes):
        most = largest_ahead(trace)
        sentence = "No token attends to a later one: every such weight is exactly 0."
        if most:
            sentence = f"A token still gives weight {most:.2g} to a later one in the maps that ran."
        parts.insert(0, {"passed": most == 0, "sentence": sentence})
        said.append(sentence)
    found = entry.head_proof
    if found is not None:
        parts = [{"passed": p.holds, "sentence": p.sentence} for p in found.parts] + parts
        columns = next((part.largest for part in found.parts if part.claim == "columns"), 0.0)
        said.insert(
            0,
            f"Equals the output with these heads' columns of W_O zeroed (largest difference "
            f"{columns:.1g}); the layer's other heads are bit for bit as before.",
        )
    wrong = next((part for part in parts if not part["passed"]), None)
    sentence = str(wrong["sentence"]) if wrong else " ".join(said) or trace.proof.sentence
    return {"passed": wrong is None, "sentence": sentence, "parts": parts}


def largest_left(trace: Trace, change: Change) -> float:
    """The largest weight that is left where a link was cut, or on a token that was hidden."""
    layers = range(trace.n_layers) if change.layer is None else (change.layer,)
    rows = slice(None) if change.query is None else slice(change.query, change.query + 1)
    most = 0.0
    for layer in layers:
        heads = range(trace.layers[layer].n_heads) if change.head is None else (change.head,)
        for head in heads:  # a map at a time
            most = max(most, float(trace.attention(layer, head, rows=rows)[:, change.key].max()))
    return most


def largest_ahead(trace: Trace) -> float:
    """The largest weight of any query on a key after it, some rows at a time."""
    most = 0.0
    for layer in range(trace.n_layers):
        for rows, weights in trace.blocks(layer):
            most = max(most, float(weights.triu(rows.start + 1).max()))
    return most
