"""Routes of the Explore tab: a run's maps, rows, columns and statistics, as raw bytes.

They stand beside Gradio's own routes, for a click must not wait in its queue, and a map must not
travel as JSON. A run is reached by its unguessable key alone.
"""

from dataclasses import replace
from reprlib import repr as shown  # truncates: client input can be of any length

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from viz_encoder.analyses.overview import overview, row
from viz_encoder.errors import SelectionError
from viz_encoder.trace.token_selection import shown_tokens
from viz_encoder.ui.state.run_description import statistics_said
from viz_encoder.ui.tabs.explore.changed_routes import OF_CHANGES
from viz_encoder.ui.tabs.explore.compared_routes import OF_TWO_RUNS
from viz_encoder.ui.tabs.explore.downloads import named_file
from viz_encoder.ui.tabs.explore.pairs import (
    column_of,
    key_means,
    pair_of,
    parse_key,
    plain_pair,
    while_wanted,
)
from viz_encoder.ui.tabs.explore.plain_results import (
    distances,
    plain_findings,
    role_plain,
    similar_plain,
)
from viz_encoder.ui.tabs.explore.row_measures import kept_thumbnails, rows_of
from viz_encoder.ui.tabs.explore.score_routes import OF_A_SCORE
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import (
    MAX_SIDE,
    Held,
    KeptView,
    Layer,
    Query,
    Shown,
    parse_index,
    parse_range,
)
from viz_encoder.ui.wire.bytes import finite
from viz_encoder.ui.wire.concurrency import GIVEN_UP, Places
from viz_encoder.ui.wire.errors import ErrorRoute

REDUCTIONS = ("max", "mean")
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
def statistics(entry: Held, view: KeptView, layer: Layer) -> Response:
    """One layer's head statistics by name, a number a head; null where there is none.

    Over the tokens that are shown, rows renormalized where that is asked; of tokens, never words.
    """
    surveyed = entry.survey(layer, replace(view, words=False))
    return answers.plain({k: finite(v) for k, v in surveyed.statistics.items()})


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
    kept = shown_tokens(entry.trace, hide_special=view.hide_special, words=view.words)
    part = overview(
        *(entry.trace, view.layer, view.head),
        rows=parse_range(rows, len(kept)),
        keys=parse_range(keys, len(kept)),
        size=min(max(1, size), MAX_SIDE),
        tokens=kept if view.hide_special or view.words else None,
        renormalize=view.renormalize,
    )
    return answers.array(
        *(part.values, part.row_tops if tops else ()),
        step=f"{part.row_step},{part.key_step}",
        total=repr(part.total),
        empty=str(part.empty),
    )


@ROUTER.get("/row")
def exact_row(entry: Held, view: Shown, query: Query) -> Response:
    """One query's weights over all kept keys, float32, exact; NaN = masked.

    With words, the mean over all queries of its word, and a weight for each word.
    """
    trace = entry.trace
    kept = shown_tokens(trace, hide_special=view.hide_special, words=view.words)
    merged = next(each for each in shown_tokens(trace, words=view.words) if query in each)
    found = row(*(trace, view.layer, view.head, merged), tokens=kept, renormalize=view.renormalize)
    return answers.array(found.weights)


@ROUTER.get("/column")
async def key_column(entry: Held, view: Shown, key: int, request: Request) -> Response:
    """One key's weight from every query, float32, exact; NaN = masked.

    With words, the key is the word that it is in. Whoever asks and goes away stops the work.
    """
    at = parse_index("key", key, entry.trace.n_tokens)
    return answers.array(await while_wanted(column_of(entry.trace, view, at), request))


@ROUTER.get("/pair")
async def pair_links(
    entry: Held, view: KeptView, query: Query, key: int, request: Request
) -> Response:
    """One cell in every head: its weights, the key's means and their ratios, a list a layer.

    As the view shows it: of words, over rows that are renormalized, over the queries shown.

    The means come from the survey, each layer's once; whoever goes away stops that.
    """
    at = parse_key(key, entry.trace)
    means = await while_wanted(key_means(entry, at, view), request)
    if len(means) < entry.trace.n_layers:
        return Response(status_code=GIVEN_UP)
    found = await run_in_threadpool(pair_of, entry, query, at, view, means)
    return answers.plain(plain_pair(found))


@ROUTER.get("/findings")
@FOUND
def findings(entry: Held) -> Response:
    """Findings of this run, strongest first, and the sentence to open with."""
    return answers.plain(plain_findings(entry.findings()))


@ROUTER.get("/role")
def role(entry: Held, layer: Layer, role: str, offset: int = 0) -> Response:
    """The share that a role, such as punctuation, has of each head's attention in one layer."""
    return answers.plain(role_plain(entry.trace, role, offset, layer))


@ROUTER.get("/similar")
async def similar(entry: Held, layer: Layer, head: int, request: Request) -> Response:
    """Distance of every head's rows from one head's, 0 … 1, a list per layer; null = unknown.

    Whoever asks and goes away stops the work.
    """
    at = parse_index("head", head, entry.trace.layers[layer].n_heads)
    found = await while_wanted(distances(entry.trace, layer, at), request)
    if len(found) < entry.trace.n_layers:
        return Response(status_code=GIVEN_UP)
    return answers.plain(similar_plain(found, entry.trace))


@ROUTER.get("/rows")
def rows(entry: Held, view: KeptView, layer: Layer, query: Query) -> Response:
    """One query's weights over all kept keys by every head of a layer, float32 "head key"."""
    return answers.array(rows_of(entry.trace, layer, query, view))


@ROUTER.get("/take/{kind}")
@FILES
def take(entry: Held, kind: str, view: Shown, query: int | None = None) -> Response:
    """A file of the map, or of one query's row; html is the whole run, safetensors too."""
    return named_file(entry, kind, view, query)


ROUTER.include_router(OF_TWO_RUNS)
ROUTER.include_router(OF_A_SCORE)
ROUTER.include_router(OF_CHANGES)
