"""The named endpoint /hidden_states: every measure of a run's hidden states as plain data."""

from typing import Any

from viz_encoder.export.states import state_arrays
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.vectors.states import ResultSettings, measure_states, plain


def hidden_states(
    runner: Runner,
    key: str,
    what: str,
    layer: int = 0,
    token: int = 0,
    hide_special: bool = False,
) -> dict[str, Any]:
    """A measure of a run's hidden states, every field by its name; null = not defined.

    what is "token_similarity", "over_smoothing", "hidden_change", "residual_change", "projection",
    "nearest_tokens" or "logit_lens"; layer counts blocks passed, 0 = embeddings. Over 512 tokens
    token_similarity is of blocks of tokens, from one of the edges to the next; over 32, logit_lens
    reads those about the token. hide_special leaves out tokens such as [CLS].
    """
    entry = runner.store.get(key)
    asked = ResultSettings(layer, token, hide_special=bool(hide_special))
    found = measure_states(entry, what, asked)
    return {name: plain(values) for name, values in state_arrays(entry.trace, found).items()}
