"""What carried an answer, as the page draws it: the split, and the graph by which it came."""

from collections.abc import Mapping
from typing import Any

from viz_encoder.figures.attributed import parted
from viz_encoder.figures.options import read_options
from viz_encoder.figures.routes import MOST_COLUMNS, MOST_CURVES
from viz_encoder.figures.views import VIEWS
from viz_encoder.ui.state.attributed import attribution_of
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire.attributions import split_plain
from viz_encoder.ui.wire.bytes import finite


def explained(entry: Entry, given: Mapping[str, str]) -> dict[str, Any]:
    """The answer to a question, and its routes; the question's words are those of `vz.attribute`.

    nodes are "state column"; groups are the tokens of each column, one a token of a picture.
    """
    question, options = parted(read_options(VIEWS["routes"], given))
    found = attribution_of(entry, question)
    routes = found.routes(**options)
    n_tokens = len(found.names)
    groups = routes.groups(n_tokens if entry.trace.grid is not None else MOST_COLUMNS)
    return split_plain(found) | {
        "large": found.large,
        "groups": groups,
        "nodes": finite(routes.folded(groups)),
        "edges": [edge._asdict() for edge in routes.between(groups)[:MOST_CURVES]],
    }
