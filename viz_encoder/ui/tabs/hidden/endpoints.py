"""The named endpoint /hidden_states: every measure of a run's hidden states as plain data."""

from typing import Any

from viz_encoder.export.states import state_arrays
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.hidden.results import FORMER, Asked, measure_states, plain

GOES = "The old name will be removed in the next version."


def hidden_states(
    runner: Runner,
    key: str,
    what: str,
    layer: int = 0,
    token: int = 0,
    special: bool = True,
    hide_special: bool = False,
) -> dict[str, Any]:
    """A measure of a run's hidden states, every field by its name; null = not defined.

    what is "cosine_similarity", "over_smoothing", "change", "attention_vs_mlp", "pca", "nearest"
    or "logit_lens"; layer counts blocks passed, 0 = embeddings. Over 512 tokens cosine_similarity
    is of blocks of tokens, from one of the edges to the next; over 32, logit_lens reads those
    about the token. hide_special leaves out tokens such as [CLS]; special=False is its former name.
    Where a former name was sent, "note" says what to write.
    """
    entry = runner.store.get(key)
    asked = Asked(layer, token, hide_special=bool(hide_special) or not special)
    found = measure_states(entry, what, asked)
    answer = {name: plain(values) for name, values in state_arrays(entry.trace, found).items()}
    notes = [] if special else ["special=False is deprecated; use hide_special=True."]
    if what in FORMER:
        notes.append(f"{what} is deprecated; use {FORMER[what]}.")
    return answer | ({"note": f"{' '.join(notes)} {GOES}"} if notes else {})


ENDPOINTS = (hidden_states,)
