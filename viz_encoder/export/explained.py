"""What carried a score, as the page draws it: its parts, and its routes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz_encoder.attribution.attribution import Attribution
from viz_encoder.attribution.routes import Routes
from viz_encoder.figures.routes import MOST_COLUMNS, MOST_CURVES
from viz_encoder.result import finite
from viz_encoder.trace import Trace


def split(found: Attribution) -> dict[str, Any]:
    """A score and its parts, and how they are told."""
    return split_plain(found) | {"large": found.large, "apart": apart(found)}


def apart(found: Attribution) -> str:
    """What two runs differ by; "" of one run."""
    if len(found.parts) < 2:
        return ""
    return "distance" if found.unit == "length" else "difference"


def drawn(trace: Trace, routes: Routes) -> dict[str, Any]:
    """The graph as it is drawn: columns, what each holds, and the strongest links between them."""
    n_tokens = len(routes.names)
    groups = routes.groups(n_tokens if trace.grid is not None else MOST_COLUMNS)
    return {
        "groups": groups,
        "nodes": finite(routes.folded(groups)),
        "edges": [edge._asdict() for edge in routes.between(groups)[:MOST_CURVES]],
    }


def looks(trace: Trace, routes: Routes, names: Sequence[str]) -> dict[str, Any]:
    """Where heads look, of a run that needs no model here; what is drawn of it adds up to 1."""
    return {
        "score": 1.0,
        "unit": routes.unit,
        "large": True,
        "names": list(names),
        "tokens": finite(routes.nodes[0]),
        "biases": 0.0,
        "heads": [],
        **drawn(trace, routes),
    }


def routes_drawn(told: Mapping[str, Any], measure: str) -> go.Figure:
    """The numbers of a picture of how it got there: its nodes, and a point for each link."""
    names, whole = [f"{at} {name}" for at, name in enumerate(told["names"])], told["score"]
    columns = [", ".join(names[at] for at in tokens) for tokens in told["groups"]]
    nodes = np.array(told["nodes"], float)
    title = "Attention rollout: the weight of each state, by attention alone"
    if measure == "effect":
        nodes[1:] = np.nan  # words are hidden from the input on
        title = (
            f"Change of {told['words']} ({whole:.6g} in {told['unit']}) by hiding each token "
            "from all others, and by cutting each link in all heads of its block"
        )
    figure = go.Figure(go.Heatmap(z=nodes, x=columns, y=list(range(len(nodes)))))
    edges = told["edges"]
    links = [f"block {e['layer']}: {names[e['query']]} → {names[e['key']]}" for e in edges]
    figure.add_scatter(x=links, y=[edge["share"] for edge in edges], name="query → key")
    figure.update_layout(title_text=title, xaxis_title="Token", yaxis_title="After n blocks")
    return figure


def split_plain(found: Attribution) -> dict[str, Any]:
    """A score and its parts over tokens and heads, for JSON."""
    return {
        "sentence": found.sentence,
        "words": found.words,
        "score": found.score,
        "unit": found.unit,
        "names": list(found.names),
        "tokens": finite(found.tokens),
        "biases": found.biases,
        "heads": finite(found.heads),
        "unexplained": found.unexplained,
    }


def kept(found: Attribution) -> dict[str, Any]:
    """What a document keeps of it: its sentence, and what is drawn, in six digits."""
    told = split(found)
    token = {} if found.asked.token is None else {"token": found.asked.token}
    names = {} if found.names == found.trace.tokens else {"names": told["names"]}
    said = {name: told[name] for name in ("sentence", "words", "score", "unit", "large", "apart")}
    graph: dict[str, Any] = _short(drawn(found.trace, found.routes()))
    return said | token | names | graph


def _short(values: Any) -> Any:
    if isinstance(values, dict):
        return {name: _short(each) for name, each in values.items()}
    if isinstance(values, list | tuple):
        return [_short(each) for each in values]
    return float(f"{values:.6g}") if isinstance(values, float) else values
