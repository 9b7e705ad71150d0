"""What changes without each head, word and link: the effect measure of the Explore tab."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from viz_encoder.arguments import Progress
from viz_encoder.attribution.attribution import Attribution
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.effects.link_effect import effect_of
from viz_encoder.effects.measure import MeasureArguments
from viz_encoder.effects.without_links import WithoutLinks
from viz_encoder.effects.without_tokens import WithoutTokens
from viz_encoder.errors import SelectionError
from viz_encoder.export.explained import drawn, split
from viz_encoder.inputs import Inputs
from viz_encoder.trace.map_change import MeasuredRow
from viz_encoder.trace.map_view import MapView
from viz_encoder.trace.token_selection import shown_tokens
from viz_encoder.ui.state.attributed import attribution_of, runnable
from viz_encoder.ui.state.expiring_store import Kept
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.tabs.explore.explained import asked
from viz_encoder.ui.tabs.explore.stand_ins import each_replaced, together
from viz_encoder.ui.wire.bytes import finite

CHANGED = "Effects are measured on the run without changes; take the changes back to see them."
MOST_KEYS = 64  # of one query that are cut: those with the largest weight
PARTS = 0.5, 0.7  # of the work that is done after the heads, and after the words
ROWS: Kept[dict[int, float]] = Kept(64)
RUNS: Kept[WithoutLinks] = Kept(1, runs=4)  # each holds more than its run does
WHOLE: Kept[dict[str, Any]] = Kept(2)


def removed(entry: Entry, given: Mapping[str, str], tell: Progress) -> dict[str, Any]:
    """What the score becomes without each head, each word that stands alone, and each drawn link.

    Each is that of the run with it removed, minus that of the run as it was.
    """
    key = str((asked(given), given.get("how", "zero"), given.get("twin", "")))
    return WHOLE.of(entry, key, lambda: _removed(entry, given, tell))


def _removed(entry: Entry, given: Mapping[str, str], tell: Progress) -> dict[str, Any]:
    found, encoder, inputs = _ready(entry, given)
    _, options = asked(given)
    graph = drawn(entry.trace, found.routes(**options))
    heads_done, words_done = PARTS
    how, twin = given.get("how", "zero"), given.get("twin", "")
    heads = each_replaced(
        *(found, (encoder, inputs), how, twin), lambda part: tell(part * heads_done)
    )
    words = _words(found, encoder, inputs, graph["groups"])
    tell(words_done)
    cut = [(edge["layer"], None, edge["query"], edge["key"]) for edge in graph["edges"]]
    values = _links(entry, cut, found)
    edges = [
        edge | {"share": value, "by_head": None}
        for edge, value in zip(graph["edges"], finite(values), strict=True)
        if value is not None
    ]
    known = [0.0 if value is None else value for value in finite(words)]
    nodes = [[known[tokens[0]] if len(tokens) == 1 else 0.0 for tokens in graph["groups"]]]
    above = [[0.0] * len(nodes[0])] * entry.trace.n_layers
    return {
        **split(found),
        "adds": False,
        "tokens": known,
        "heads": finite(heads),
        "groups": graph["groups"],
        "nodes": nodes + above,
        "edges": sorted(edges, key=lambda edge: -abs(edge["share"])),
    }


def removed_together(entry: Entry, given: Mapping[str, str]) -> dict[str, Any]:
    """What the score becomes without several heads at once, minus that of the run as it was."""
    found, encoder, inputs = _ready(entry, given)
    how, heads = given.get("how", "zero"), given.get("heads", "")
    value = together(found, (encoder, inputs), how, heads)
    return {"together": finite(value)}


def removed_row(
    entry: Entry,
    given: Mapping[str, str],
    view: MapView,
    query: int,
    most: int = MOST_KEYS,
    tell: Progress | None = None,
) -> MeasuredRow:
    """The map of what cutting each link of one query changes; the other rows are not measured.

    At most so many are cut, the strongest first; those that are known already are there, too.
    """
    found, _, _ = _ready(entry, given)
    if not isinstance(view.head, int):
        raise SelectionError("Choose one head: its links are cut one by one.")
    if most < 1:
        raise SelectionError(f"most is {most}; it must be 1 or more.")
    if view.words:
        raise SelectionError("Links of tokens are cut, not of words; show sub-words to see them.")
    head = view.head
    question, _ = asked(given)

    values = ROWS.of(entry, (*question.items(), view.layer, head, query), dict)
    weights = entry.trace.attention(view.layer, head, rows=slice(query, query + 1))[0]
    order = np.argsort(-np.nan_to_num(weights.float().cpu().numpy()), kind="stable")
    wanted = [int(key) for key in order[: min(most, MOST_KEYS)] if weights[key] > 0]
    new = [key for key in wanted if key not in values]
    cut = [(view.layer, head, query, key) for key in new]
    values.update(zip(new, _links(entry, cut, found, tell).tolist(), strict=True))
    kept = [token for (token,) in shown_tokens(entry.trace, hide_special=view.hide_special)]
    return MeasuredRow(query, dict(values), kept)


def _ready(entry: Entry, given: Mapping[str, str]) -> tuple[Attribution, LoadedEncoder, Inputs]:
    """The split score, and what runs again."""
    if entry.recipe.changes:
        raise SelectionError(CHANGED)
    question, _ = asked(given)
    return attribution_of(entry, question), *runnable(entry)


def _words(
    found: Attribution, encoder: LoadedEncoder, inputs: Inputs, groups: Sequence[Sequence[int]]
) -> np.ndarray:
    """Each token that stands in a column alone, hidden from all others; NaN for the rest."""
    one = WithoutTokens(encoder, inputs, "attention", found, MeasureArguments())
    here = found.parts[0].columns
    alone = {tokens[0] for tokens in groups if len(tokens) == 1}
    places = [at for at in one.removable() if int(here[at]) in alone]
    values = np.full(len(found.names), np.nan)
    for away in one.without([(at,) for at in places]):
        values[here[away.places[0]]] = away.value - one.before
    return values


def _links(
    entry: Entry, cut: Sequence[Any], found: Attribution, tell: Progress | None = None
) -> np.ndarray:
    if not cut:
        return np.zeros(0)
    ran = RUNS.of(entry, "", lambda: WithoutLinks(*runnable(entry)))
    return effect_of(ran, cut, found, MeasureArguments(), tell).values
