"""The named endpoint /hidden_states: every measure of a run's hidden states as plain data."""

from typing import Any

from viz_encoder.export.states import state_arrays
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.hidden.results import Asked, measure_states, plain


def hidden_states(
    runner: Runner, key: str, what: str, layer: int = 0, token: int = 0, special: bool = True
) -> dict[str, Any]:
    """A measure of a run's hidden states, every field by its name; null = not defined.

    what is "cosine_similarity", "over_smoothing", "change", "attention_vs_mlp", "pca", "nearest"
    or "logit_lens"; layer counts blocks passed, 0 = embeddings. Over 512 tokens cosine_similarity
    is of blocks of tokens, from one of the edges to the next; over 32, logit_lens reads those
    about the token.
    """
    entry = runner.store.get(key)
    found = measure_states(entry, what, Asked(layer, token, bool(special)))
    return {name: plain(values) for name, values in state_arrays(entry.trace, found).items()}


ENDPOINTS = (hidden_states,)
