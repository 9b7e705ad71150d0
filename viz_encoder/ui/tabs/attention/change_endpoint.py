"""The named endpoint /change: how far each head's map moved between two runs."""

from typing import Any

from gradio.events import api

from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.attention.change import changes
from viz_encoder.ui.wire.endpoints import plainly


def add_change_endpoint(runner: Runner) -> None:
    """Register it on the page that is being built; call inside `with gr.Blocks()`."""
    api(_change(runner), api_name="change", concurrency_id="model", concurrency_limit=1)


def _change(runner: Runner) -> Any:
    def change(key: str, reference: str, layer: int) -> list[float | None]:
        """How far each head's map of a layer is from that of the run `reference`.

        0 = the same map, 1 = no key in common: ½ Σ |a − b| of two rows, mean over the real queries.
        """
        return plainly(lambda: changes(runner.store, key, reference, layer))

    return change
