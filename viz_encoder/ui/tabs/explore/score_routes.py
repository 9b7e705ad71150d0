"""Routes of a score: what carried it, where heads look, and what changes without them."""

from functools import partial

import numpy as np
from fastapi import APIRouter, Response

from viz_encoder.arguments import Progress
from viz_encoder.attribution.link_map import LinkMap
from viz_encoder.errors import SelectionError
from viz_encoder.export.explained import routes_drawn
from viz_encoder.export.figure_tables import figure_csv, figure_npz
from viz_encoder.trace.map_change import Signed, signed_tile
from viz_encoder.ui.state.attributed import attribution_of
from viz_encoder.ui.tabs.explore.downloads import effect_code, share_code, signed_file
from viz_encoder.ui.tabs.explore.explained import asked, explained
from viz_encoder.ui.tabs.explore.removed import MOST_KEYS, removed, removed_row, removed_together
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import MAX_SIDE, Given, Held, Query, Shown, parse_range
from viz_encoder.ui.wire.concurrency import Places, Plain
from viz_encoder.ui.wire.errors import ToldRoute

OF_A_SCORE = APIRouter(prefix="/attribution", route_class=ToldRoute)
PLACES = Places(1)
FEW = 4  # links, which a pointer that rests on a head may ask for while all of another are cut
# Effects keep a processor busy: one at a time.
REMOVING = Places(1, small=lambda given: given.get("most", MOST_KEYS) <= FEW)


@OF_A_SCORE.get("")
@PLACES
def attribution(entry: Held, given: Given) -> Response:
    """What carried an answer, a state or the vector; the question is in the query's parameters."""
    return answers.plain(explained(entry, given))


@OF_A_SCORE.get("/effect")
@REMOVING.lines
def effect(entry: Held, given: Given, tell: Progress) -> Plain:
    """What the score becomes without each head, word and drawn link, as lines of JSON."""
    return removed(entry, given, tell)


@OF_A_SCORE.get("/joint")
@PLACES
def together(entry: Held, given: Given) -> Response:
    """What the score becomes without several heads at once, given as heads=3.0,3.4."""
    return answers.plain(removed_together(entry, given))


@OF_A_SCORE.get("/map")
@PLACES
def share_map(
    entry: Held, view: Shown, given: Given, rows: str = "0:", keys: str = "0:"
) -> Response:
    """Each link's share of the score, float32 "query key", over what is shown.

    NaN where there is no such number. Over 512 cells a side, the number of the largest amount of
    each block; otherwise x-about names the rows that have none.
    """
    return _part(LinkMap(attribution_of(entry, asked(given)[0]), view), rows, keys)


@OF_A_SCORE.get("/effect/map")
@REMOVING
def effect_map(
    entry: Held,
    view: Shown,
    query: Query,
    given: Given,
    tell: Progress,
    most: int = MOST_KEYS,
    rows: str = "0:",
    keys: str = "0:",
) -> Response:
    """What cutting each link of one query changes, in the same form: of its `most` strongest."""
    return _part(removed_row(entry, given, view, query, most, tell), rows, keys)


@OF_A_SCORE.get("/map/{kind}")
@PLACES
def share_map_file(entry: Held, view: Shown, given: Given, kind: str) -> Response:
    """The whole map as csv or npz, or as the code that gives it (py)."""
    question = asked(given)[0]
    found, code = attribution_of(entry, question), partial(share_code, entry, question, view)
    said = f"share of {found.words} by each link"
    return signed_file("share", said, LinkMap(found, view), found, code).answer(entry, kind, view)


@OF_A_SCORE.get("/effect/map/{kind}")
@REMOVING
def effect_map_file(entry: Held, view: Shown, query: Query, given: Given, kind: str) -> Response:
    """The row that is measured, in the same files."""
    question = asked(given)[0]
    found = attribution_of(entry, question)
    said = f"change of {found.words} by cutting each link of query {query}"
    code = partial(effect_code, entry, question, view, query)
    row = removed_row(entry, given, view, query)
    return signed_file("effect", said, row, found, code).answer(entry, kind, view)


@OF_A_SCORE.get("/routes/{kind}")
@REMOVING
def routes_file(entry: Held, given: Given, kind: str) -> Response:
    """The picture of where heads look, or of effects, as csv or npz."""
    answers.require_kind(kind, ("csv", "npz"))
    measure, model = given.get("measure", ""), entry.trace.origin.model
    if measure not in ("attention", "effect"):  # those of a score are the figure's
        raise SelectionError(
            f"There are no such routes of {measure[:20]!r}; choose attention or effect."
        )
    told = removed(entry, given, lambda _: None) if measure == "effect" else explained(entry, given)
    figure = routes_drawn(told, measure)
    made = figure_csv(figure, model) if kind == "csv" else figure_npz(figure, model)
    return answers.download(made, f"{answers.plain_name(model)}-routes-{measure}.{kind}")


def _part(signed: Signed, rows: str, keys: str) -> Response:
    part = parse_range(rows, signed.n_shown), parse_range(keys, signed.n_shown)
    tile = signed_tile(signed, *part, MAX_SIDE)
    step = f"{tile.row_step},{tile.key_step}"
    empty = np.isnan(tile.values).all(axis=1) if step == "1,1" else np.zeros(0, bool)
    about = {"rows": [part[0].start + int(at) for at in empty.nonzero()[0]]}
    return answers.array(tile.values, step=step, about=about)
