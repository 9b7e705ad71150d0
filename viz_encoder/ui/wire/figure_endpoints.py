"""The named endpoint that gives any view of a run as a Plotly figure."""

import json
from typing import Any

from gradio.events import api

from viz_encoder.errors import SelectionError
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.wire.endpoints import plainly
from viz_encoder.ui.wire.figure_routes import draw_view


def add_figure_endpoints(runner: Runner) -> None:
    """Register it on the page that is being built; call inside `with gr.Blocks()`."""
    api(_figure(runner), api_name="figure", concurrency_id="model", concurrency_limit=1)


def _figure(runner: Runner) -> Any:
    def figure(key: str, view: str, options: dict[str, Any] | None = None) -> dict[str, Any]:
        """A view of a run as plotly.io.from_json reads it: {"data": ..., "layout": ...}.

        options are the keywords of the view, such as {"query": 3, "fuse": "max"}.
        """

        def content() -> dict[str, Any]:
            chosen = draw_view(runner.store.get(key), str(view), _texts(options))
            found: dict[str, Any] = json.loads(chosen.to_json())
            return found

        return plainly(content)

    return figure


def _texts(options: object) -> dict[str, str]:
    """What was sent, as an address would carry it."""
    if options in (None, ""):
        return {}
    if not isinstance(options, dict):
        raise SelectionError('options must be an object, such as {"query": 3}.')
    joined = {
        n: ",".join(map(str, v)) if isinstance(v, list) else str(v) for n, v in options.items()
    }
    return {str(name): text for name, text in joined.items()}
