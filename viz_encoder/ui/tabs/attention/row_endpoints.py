"""Named endpoints of what shades the words and the picture: a key's column, and other measures."""

from typing import Any

from gradio.events import api

from viz_encoder.analyses.column import column as column_of
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.attention.row_measures import Measures
from viz_encoder.ui.wire.endpoints import plainly
from viz_encoder.ui.wire.numbers import finite, parse_head, parse_index


def add_measured_endpoints(runner: Runner) -> None:
    """Register them on the page that is being built; call inside `with gr.Blocks()`."""
    for endpoint in (_column(runner), _measured(runner)):
        api(endpoint, api_name=endpoint.__name__, concurrency_id="model", concurrency_limit=1)


def _column(runner: Runner) -> Any:
    def column(key: str, layer: int, head: str, token: int) -> list[float | None]:
        """Who looks at one token: its weight from every query; null where the mask forbids it."""

        def numbers() -> list[float | None]:
            trace = runner.store.get(key).trace
            place = parse_index("layer", layer, trace.n_layers), parse_head(head, trace)
            return finite(column_of(trace, *place, parse_index("token", token, trace.n_tokens)))

        return plainly(numbers)

    return column


def _measured(runner: Runner) -> Any:
    measures = Measures()

    def measured(key: str, measure: str, layer: int, head: str, query: int) -> dict[str, Any]:
        """One query's row of "weight", "value" (‖α·v·W_O‖), "rollout" or "relevance".

        Returns the values, one a key, and the answer that relevance is of.
        """

        def numbers() -> dict[str, Any]:
            entry = runner.store.get(key)
            place = (
                parse_index("layer", layer, entry.trace.n_layers),
                parse_head(head, entry.trace),
                parse_index("query", query, entry.trace.n_tokens),
            )
            found = measures.of(entry, measure, *place)
            return {"values": finite(found.values), "answer": found.answer}

        return plainly(numbers)

    return measured
