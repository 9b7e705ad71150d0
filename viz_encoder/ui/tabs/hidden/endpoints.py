"""The named endpoint /hidden_states: every measure of a run's hidden states as plain data."""

from typing import Any

from gradio.events import api

from viz_encoder.export.states import state_arrays
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.hidden.results import measure_states, plain
from viz_encoder.ui.wire.endpoints import plainly


def add_hidden_endpoint(runner: Runner) -> None:
    """Register it on the page that is being built; call inside `with gr.Blocks()`."""
    api(
        _hidden_states(runner),
        api_name="hidden_states",
        concurrency_id="model",
        concurrency_limit=1,
    )


def _hidden_states(runner: Runner) -> Any:
    def hidden_states(
        key: str, what: str, layer: int = 0, token: int = 0, special: bool = True
    ) -> dict[str, Any]:
        """A measure of a run's hidden states, every field by its name; null = not defined.

        what is "likeness", "over_smoothing", "change", "parts", "plane", "nearest" or "lens";
        layer counts blocks passed, 0 = embeddings. Over 512 tokens likeness is of blocks of
        tokens, from one of the edges to the next; over 32, the lens reads those about the token.
        """

        def content() -> dict[str, Any]:
            entry = runner.store.get(key)
            found = measure_states(entry, what, layer=layer, token=token, special=bool(special))
            return {n: plain(values) for n, values in state_arrays(entry.trace, found).items()}

        return plainly(content)

    return hidden_states
