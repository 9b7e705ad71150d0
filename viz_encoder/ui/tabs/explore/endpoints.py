"""Named endpoints of the Explore tab: of its routes that answer in numbers, and a few more."""

from typing import Any

from viz_encoder.analyses.overview import shown_part
from viz_encoder.errors import InputError, TooLong
from viz_encoder.trace.map_view import MapView
from viz_encoder.ui.state.attributed import PURPOSE, outcome_of, runnable
from viz_encoder.ui.state.recipe import as_changes
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.explore.compared_routes import change, compared
from viz_encoder.ui.tabs.explore.explained import attribute
from viz_encoder.ui.tabs.explore.head_effects import (
    flips,
    head_effects,
    token_effects,
    twin_patch,
)
from viz_encoder.ui.tabs.explore.outcomes import outcome_plain, proof_plain
from viz_encoder.ui.tabs.explore.routes import (
    attention_row,
    column,
    findings,
    head_statistics,
    pair,
    role,
    similar,
)
from viz_encoder.ui.wire.arguments import parse_head, parse_index
from viz_encoder.ui.wire.bytes import finite
from viz_encoder.ui.wire.endpoints import Endpoint, in_queue
from viz_encoder.ui.wire.watch import watched

MAX_TOKENS_AS_NUMBERS = 512


def attention(
    runner: Runner, key: str, layer: int, head: str, hide_special: bool = False
) -> list[list[float | None]]:
    """One head's map, rows = queries, columns = keys; head is a number, "mean" or "max".

    Keys that the mask forbids are null.
    """
    trace = runner.store.get(key).trace
    if trace.n_tokens > MAX_TOKENS_AS_NUMBERS:
        raise TooLong(
            f"This run has {trace.n_tokens:,} tokens; a whole map is given as numbers up "
            f"to {MAX_TOKENS_AS_NUMBERS}. Ask /attention_row for one query."
        )
    at = parse_index("layer", layer, trace.n_layers), parse_head(head, trace)
    view = MapView(*at, hide_special=bool(hide_special))
    tile = shown_part(trace, view, slice(None), slice(None), MAX_TOKENS_AS_NUMBERS)
    found: list[list[float | None]] = finite(tile.values)
    return found


def what_if(runner: Runner, key: str, changes: list[str]) -> dict[str, Any]:
    """Run the input of a run with changes: their effect on the answer, and the new run's key.

    changes are codes: "h3.0" removes a head, "l3.0:6-2" cuts the link from query 6 to key 2 in it,
    "t2" hides token 2 from all, "m2" masks it, "d2" deletes its word, "r2:word" replaces its word,
    "p" switches positions off, "c" makes attention causal.
    """
    if not isinstance(changes, list):
        raise InputError('changes must be a list of codes, such as ["h3.0"].')
    made = runner.rerun(key, PURPOSE, changes=as_changes(changes))
    plain = runner.rerun(key, PURPOSE, changes=())
    entry = runner.store.get(made)
    described = {"run": runner.again(made), "plain": plain}
    if not entry.recipe.changes:
        return described
    return {**described, "said": outcome_plain(outcome_of(entry)), "proof": proof_plain(entry)}


def patch_effects(runner: Runner, key: str, twin: str) -> dict[str, Any]:
    """Each head's output taken from the run of a twin text: noising and denoising, as shares."""
    plain = runnable(runner.store.get(key))
    return twin_patch(*plain, str(twin), watched(runner.limits))


LONG: tuple[Endpoint, ...] = (head_effects, token_effects, patch_effects, flips)
ENDPOINTS: tuple[Endpoint, ...] = (
    *(attention, attention_row, head_statistics, column, pair, findings, role, similar),
    *(change, compared, attribute, what_if),
    *map(in_queue("effects"), LONG),
)
