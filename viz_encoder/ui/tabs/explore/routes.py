"""Routes of the Explore tab: a run's maps, rows, columns and statistics, as raw bytes.

They stand beside Gradio's own routes, for a click must not wait in its queue, and a map must not
travel as JSON. A run is reached by its unguessable key alone.
"""

from dataclasses import replace
from reprlib import repr as shown  # truncates: client input can be of any length

import numpy as np
from fastapi import APIRouter, Response

from viz_encoder.analyses.findings import role_shares
from viz_encoder.analyses.overview import shown_part
from viz_encoder.analyses.pair import pair as pair_of
from viz_encoder.analyses.similar_heads import similar_layers
from viz_encoder.arguments import Progress
from viz_encoder.errors import SelectionError
from viz_encoder.export.tables import map_row, word_of
from viz_encoder.trace.shown_map import row_of
from viz_encoder.ui.state.run_description import statistics_said
from viz_encoder.ui.tabs.explore.changed_routes import OF_CHANGES
from viz_encoder.ui.tabs.explore.compared_routes import OF_TWO_RUNS
from viz_encoder.ui.tabs.explore.downloads import named_file
from viz_encoder.ui.tabs.explore.explained import asked
from viz_encoder.ui.tabs.explore.head_effects import EFFECTS
from viz_encoder.ui.tabs.explore.pairs import (
    column_of,
    joined,
    kept_thumbnails,
    key_means,
    parse_key,
)
from viz_encoder.ui.tabs.explore.plain_findings import plain_findings
from viz_encoder.ui.tabs.explore.score_routes import OF_A_SCORE
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import (
    MAX_SIDE,
    Given,
    Held,
    KeptView,
    Layer,
    Query,
    Shown,
    parse_index,
    parse_range,
)
from viz_encoder.ui.wire.bytes import finite
from viz_encoder.ui.wire.concurrency import Places, Plain, at_once
from viz_encoder.ui.wire.errors import ErrorRoute

REDUCTIONS = ("max", "mean")
MOST_QUERIES = 512  # sampled evenly from longer texts to compare heads
ROUTER = APIRouter(prefix="/viz/run/{run}", route_class=ErrorRoute)
FOUND = Places(1)  # findings of whole runs
FILES = Places(1)  # files of whole runs, each of which is in memory while it is made


@ROUTER.get("/thumbnails")
def thumbnails(entry: Held, view: KeptView, layer: Layer, reduce: str = "max") -> Response:
    """One layer's heads as float32 "head row col"; NaN = masked, statistics in /statistics.

    With tokens hidden or merged each is the pooled map of what is kept, by max.
    """
    if reduce not in REDUCTIONS:
        raise SelectionError(f"There is no reduction {shown(reduce)}; choose max or mean.")
    if view.words:
        return answers.array(kept_thumbnails(entry.trace, layer, view))
    surveyed = entry.survey(layer, view)
    return answers.array(surveyed.thumbnails_mean if reduce == "mean" else surveyed.thumbnails_max)


@ROUTER.get("/statistics")
@at_once
def head_statistics(entry: Held, layer: Layer, view: KeptView) -> Plain:
    """Every statistic of a layer's heads by name, a number a head; null where there is none.

    Over the tokens that are shown, rows renormalized where that is asked; of tokens, never words.
    """
    surveyed = entry.survey(layer, replace(view, words=False))
    return {name: finite(values) for name, values in surveyed.statistics.items()}


@ROUTER.get("/statistics/said")
def statistics_words(entry: Held, view: KeptView) -> Response:
    """The statistics in words, with what they can be at most, over what is shown."""
    return answers.plain(statistics_said(entry.trace, view))


@ROUTER.get("/map")
def tile(
    entry: Held,
    view: Shown,
    rows: str = "0:",
    keys: str = "0:",
    size: int = MAX_SIDE,
    tops: bool = False,
) -> Response:
    """A part of one map, float32 "query key", pooled by max where it has more than size.

    x-total is the part's whole weight, x-empty how many of its queries have none at all; with
    tops, each row's largest weight on any kept key follows the cells.
    """
    n_kept = len(view.kept(entry.trace))
    places = parse_range(rows, n_kept), parse_range(keys, n_kept)
    part = shown_part(entry.trace, view, *places, min(max(1, size), MAX_SIDE))
    return answers.array(
        *(part.values, part.row_tops if tops else ()),
        step=f"{part.row_step},{part.key_step}",
        total=repr(part.total),
        empty=str(part.empty),
    )


@ROUTER.get("/row")
@at_once
def attention_row(entry: Held, view: Shown, query: Query) -> np.ndarray:
    """One query's weights over all kept keys, float32, exact; NaN (null as JSON) where masked.

    With words, the mean over all queries of its word, and a weight for each word.
    """
    return map_row(entry.trace, view, query)


@ROUTER.get("/column")
@at_once
def column(entry: Held, view: Shown, key: int, tell: Progress) -> np.ndarray:
    """One token's weight from every query, float32, exact; NaN (null as JSON) where masked.

    With words, it is the word that the token is in.
    """
    at = parse_index("key", key, entry.trace.n_tokens)
    return joined(column_of(entry.trace, view, at), tell)


@ROUTER.get("/pair")
@at_once
def pair(entry: Held, query: Query, key: int, view: KeptView, tell: Progress) -> Plain:
    """Weight of a query on a token in every head, one list per layer, as it is shown.

    Returns the "weights", the "means" that the token gets over all shown real queries, and their
    "ratios"; null where the mask forbids the pair.
    """
    at = parse_key(key, entry.trace)
    means = joined(key_means(entry, at, view), tell)
    found = pair_of(entry.trace, query, at, means=means, **view.switches)
    return {name: finite(getattr(found, name)) for name in ("weights", "means", "ratios")}


@ROUTER.get("/findings")
@FOUND
def findings(entry: Held) -> Plain:
    """Findings of a run: a "sentence" to open with, and everything "found", strongest first."""
    return plain_findings(entry.findings())


@ROUTER.get("/role")
@at_once
def role(entry: Held, role: str, layer: Layer, offset: int = 0) -> Plain:
    """The `shares` of each head's attention that a role has in one layer, and of how many queries.

    Roles: previous, next, same, offset, first, delimiter, sink, punctuation, across, a_to_b,
    b_to_a, pronoun, as `viz_encoder.analyses.role_shares` defines them.
    """
    found = role_shares(entry.trace, role, offset=offset, layers=(layer,))
    n_heads = entry.trace.layers[layer].n_heads
    return {"shares": finite(found.shares[0, :n_heads]), "queries": found.n_queries}


@ROUTER.get("/similar")
@at_once
def similar(entry: Held, layer: Layer, head: int, tell: Progress) -> Plain:
    """Jensen–Shannon `distances` of every head's rows from one head's, by layer.

    0 = the same rows, 1 = no key in common; each a mean over that many `queries`; null = unknown.
    """
    trace = entry.trace
    at = parse_index("head", head, trace.layers[layer].n_heads)
    found = joined(similar_layers(trace, layer, at, most_queries=MOST_QUERIES), tell)
    n_queries = min(MOST_QUERIES, int(trace.valid.sum()))
    return {"distances": finite(found), "queries": n_queries}


@ROUTER.get("/rows")
def rows(entry: Held, view: KeptView, layer: Layer, query: Query) -> Response:
    """One query's weights over all kept keys by every head of a layer, float32 "head key"."""
    return answers.array(row_of(entry.trace, layer, word_of(entry.trace, query, view.words), view))


@ROUTER.get("/take/{kind}")
@FILES
def take(
    entry: Held,
    kind: str,
    view: Shown,
    given: Given,
    scale: str = "head",
    query: int | None = None,
    key: int | None = None,
) -> Response:
    """A file of the map; html, with how a score got there, and safetensors are of the whole run."""
    return named_file(entry, kind, replace(view, scale=scale), (query, key), asked(given)[0])


ROUTER.include_router(OF_TWO_RUNS)
ROUTER.include_router(OF_A_SCORE)
ROUTER.include_router(OF_CHANGES)
ROUTER.include_router(EFFECTS)
