"""How all figures look: no web fonts, colors that read on light and dark, text that stays text."""

import html

import plotly.graph_objects as go

FONT = "system-ui, sans-serif"
INK = "#64748b"
# Light to dark, after seaborn's "mako"; lightness falls all the way.
WEIGHTS = [
    *("#fafdfb", "#def5e5", "#a0dfb9", "#54c9ad", "#38aaac", "#348ba6"),
    *("#366a9f", "#40498e", "#3b2f5e", "#28192f", "#0b0405"),
]
MASKED = "#d8cfc4"


def apply(figure: go.Figure, title: str) -> go.Figure:
    """The common layout."""
    figure.update_layout(
        title={"text": title, "font": {"size": 15}},
        font={"family": FONT, "color": INK, "size": 12},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor=MASKED,  # masked cells are holes, through which this shows
        margin={"l": 90, "r": 20, "t": 90, "b": 30},
        template="none",
    )
    return figure


def plain(text: str) -> str:
    """A user's text for Plotly, which would read <b> and <a> as markup."""
    return html.escape(text, quote=False)


def weight_bar(
    title: str = "Attention weight<br>(share of the query's total)",
) -> dict[str, object]:
    """The color scale with its units."""
    return {"title": {"text": title, "side": "right"}, "thickness": 14, "outlinewidth": 0}
