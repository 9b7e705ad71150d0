"""python -m benchmarks.gradio_page [run.safetensors] --port N: pages as one writes them with Gradio alone.

An empty page, or the quickest way to a run's heatmaps with stock parts: a button a head, no queue, gr.Plot.
"""

import argparse
from typing import Any

import gradio as gr
import numpy as np
import plotly.graph_objects as go

from viz_encoder.trace import Trace

LAYERS = range(2, 6)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gradio_page", description=__doc__)
    parser.add_argument("run", nargs="?", help="a saved run")
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    page = empty_page() if given.run is None else plot_page(Trace.load(given.run))
    page.launch(server_port=given.port, quiet=True, ssr_mode=False)


def empty_page() -> gr.Blocks:
    with gr.Blocks(analytics_enabled=False) as page:
        gr.HTML('<p id="nothing">Nothing.</p>')
    return page


def plot_page(trace: Trace) -> gr.Blocks:
    maps = {layer: trace.attention(layer).numpy() for layer in LAYERS}
    with gr.Blocks(analytics_enabled=False) as page:
        plot = gr.Plot()
        for layer, weights in maps.items():
            with gr.Row():
                for head in range(trace.n_heads):
                    button = gr.Button(
                        f"{layer}.{head}", elem_id=f"head-{layer}-{head}", min_width=20
                    )
                    draw = _drawer(weights[head], f"Attention {layer}.{head}")
                    button.click(draw, None, plot, queue=False, show_progress="hidden")
    return page


def _drawer(weights: np.ndarray, title: str) -> Any:
    def draw() -> go.Figure:
        figure = go.Figure(go.Heatmap(z=weights, colorscale="Viridis"))
        return figure.update_layout(title=title, width=900, height=860, yaxis_autorange="reversed")

    return draw


if __name__ == "__main__":
    main()
