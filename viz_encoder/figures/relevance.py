"""What raised a label's score, as a layer × key heatmap of gradient-weighted attention."""

import plotly.graph_objects as go

from viz_encoder.analyses.relevance import Relevance
from viz_encoder.analyses.relevance import relevance as compute
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.figures.theme import WEIGHTS, apply, caption, plain, weight_bar
from viz_encoder.figures.view import Control, View
from viz_encoder.inputs import Inputs

BAR = "Relevance added by attention<br>(no fixed unit; compare within this figure)"
CAPTION = (
    "Measured: to first order, through which attention weights this label's score would rise, "
    "multiplied through the layers; the 1 that a read token starts with is taken off. Not "
    "measured: what lowers the score, what values and feed-forward networks do, and whether the "
    "answer would change without a token."
)


def draw(
    encoder: LoadedEncoder,
    inputs: Inputs,
    *,
    label: int | str | None = None,
    token: int | None = None,
) -> go.Figure:
    """Relevance of each input token after each layer (Chefer, Gur & Wolf, 2021, arXiv:2103.15679).

    Args:
        encoder: a model with a head that answers.
        inputs: one sequence of at most 1,024 tokens, from `encoder.read`.
        label: its number or name; the most likely one where not given.
        token: where the label stands, for heads that speak of tokens.

    Raises:
        SelectionError: no such head, label or token.
        InputError: several sequences, or too long a one.
        TraceError: the run with gradients differs from the ordinary run.
    """
    found = compute(encoder, inputs, label=label, token=token)
    tokens = inputs.samples[0].tokens
    figure = go.Figure(
        go.Heatmap(
            z=found.rows - found.reads,
            x=[f"{number} {plain(name)}" for number, name in enumerate(tokens)],
            y=list(range(len(found.rows))),
            colorscale=WEIGHTS,
            zmin=0,
            colorbar=weight_bar(BAR),
            hovertemplate="after layer %{y}<br>key %{x}<br>%{z:.4g}<extra></extra>",
        )
    )
    apply(figure, _title(found, tokens))
    caption(figure, CAPTION)
    axis = {"showgrid": False, "zeroline": False}
    figure.update_xaxes(
        title="Key (which input token)", side="top", tickangle=-60, type="category", **axis
    )
    figure.update_yaxes(title="After layer", autorange="reversed", dtick=1, **axis)
    return figure


def _title(found: Relevance, tokens: tuple[str, ...]) -> str:
    """Which label, where it stands, and whose row this is."""
    where = "" if found.token is None else f" at {found.token} “{plain(tokens[found.token])}”"
    read = found.reads.nonzero()[0].tolist()
    whose = f"{read[0]} “{plain(tokens[read[0]])}”" if len(read) == 1 else f"{len(read)} tokens"
    return f"Relevance to “{plain(found.label)}”{where}, read at {whose}"


CONTROLS = Control("label", "Label"), Control("token", "Token")
VIEW = View("relevance", "Relevance to an answer", draw, CONTROLS, takes=("encoder", "inputs"))
