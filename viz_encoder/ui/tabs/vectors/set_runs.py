"""Compare poolings on a set, or learn a query from one: kept by key, and described for the page."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from viz_encoder.analyses.attention_pooling import STEPS, attention_pooling
from viz_encoder.analyses.collection import Collection, Separation, collection
from viz_encoder.analyses.item_weights import item_weights
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, SelectionError, TraceError
from viz_encoder.inputs.items import Item
from viz_encoder.model.pooling import METHODS
from viz_encoder.shown import after_blocks, counted
from viz_encoder.ui.state.readable import printable, shortened
from viz_encoder.ui.state.run_description import MAX_NOTE, MAX_NOTES
from viz_encoder.ui.state.runner import Runner, silent
from viz_encoder.ui.state.sets import LearnedEntry, SetEntry, pages
from viz_encoder.ui.tabs.vectors.results import own_words, plain_row
from viz_encoder.ui.tabs.vectors.set_items import (
    BUILT_IN,
    check_count,
    check_tokens,
    example,
    kind_of,
)
from viz_encoder.ui.wire.bytes import finite, png

Report = Callable[[float, str], bool | None]  # share done, and in words; False stops
MAX_SEEDS, MAX_STEPS = 10, 1000
ALL = "all"  # blocks
SAME = 1e-6  # what rounding does to a cosine, or to a silhouette of normalized vectors
MAX_NAME = 300  # characters of an item's text on the page
WORD = "the mean over the tokens of each item's word"
COLUMN_NAMES = {
    "silhouette": "silhouette",
    "centroid_accuracy": "nearest-centroid accuracy",
    "recall_at_1": "recall@1",
}


def compare(
    runner: Runner,
    items: Sequence[Item],
    model: str,
    owner: str | None = None,
    report: Report = silent,
    *,
    named: str = "",
) -> dict[str, Any]:
    """Pool every item by every method at every layer; returns the set's description.

    `named` is what the page calls the set.

    Raises:
        TraceError: `report` returned False; nothing is kept then.
        TooLong: more items or tokens than this server takes.
        InputError: an item that cannot be read, by its number.
    """
    check_count(items, runner.limits.set_items)
    encoder = _model(runner, model, kind_of(items), report)
    check_tokens(encoder, items, runner.limits.set_tokens)
    found = collection(encoder, items, progress=_counted(report, "items", 0.2, 0.9))
    _tell(report, 0.9, "Comparing the vectors …")
    rows = found.table() if found.labels else ()
    pictures = tuple(_png(encoder, item) for item in items) if encoder.kind == "image" else ()
    _tell(report, 1.0, "Done")
    entry = SetEntry(found, encoder, rows, pictures, owners=pages(owner))
    return describe_set(runner.sets.compared.keep(entry), entry, named)


def learn(
    runner: Runner,
    key: str,
    model: str,
    owner: str | None = None,
    report: Report = silent,
    *,
    layer: float = -1,
    n_seeds: float = 3,
    steps: float = STEPS,
) -> dict[str, Any]:
    """Learn a query from the labeled set of that key, or from the built-in one where it is ""."""
    _check_training(layer, n_seeds, steps)
    if key:
        entry = runner.sets.compared.get(key)
        items, encoder = entry.found.items, entry.encoder
    else:
        items, encoder = example(BUILT_IN), _model(runner, model, "text", report)
    found = attention_pooling(
        encoder,
        items,
        state=int(layer),
        seeds=range(int(n_seeds)),
        steps=int(steps),
        progress=_counted(report, "steps", 0.2, 0.9),
    )
    weights = item_weights(
        encoder,
        [item.source for item in items],
        found.query,
        state=found.state,
        progress=_counted(report, "items weighed", 0.9, 1.0),
    )
    kept = LearnedEntry(found, encoder, weights, owners=pages(owner))
    whose = "the set above" if key else f"the built-in set, {BUILT_IN}"
    return describe_learned(runner.sets.learned.keep(kept), kept, items, whose)


def state_after(typed: str) -> int:
    """The hidden states that the form's field names: a number of blocks, or -1 for all of them."""
    wanted = typed.strip().lower()
    if wanted in ("", ALL):
        return -1
    if not (wanted.isascii() and wanted.isdigit()):
        raise SelectionError(
            f"There is no state after {shortened(typed, MAX_NAME)!r} blocks; give a whole number, "
            f"or “{ALL}”."
        )
    return int(wanted[:9])


def describe_set(key: str, entry: SetEntry, named: str) -> dict[str, Any]:
    """As plain data: its name, the items, labels and the table; vectors have routes."""
    found = entry.found
    return {
        "key": key,
        "set": shortened(named, MAX_NAME),
        "model": printable(found.model),
        "pictures": bool(entry.pictures),
        "names": [shortened(name, MAX_NAME) for name in found.names],
        "labels": [shortened(label) for label in found.labels],
        "methods": {name: METHODS.get(name, WORD) for name in found.methods},
        "own": own_words(entry.encoder),
        "layers": list(found.states),
        "leftOut": {name: printable(why) for name, why in found.left_out.items()},
        "notes": [shortened(note, MAX_NOTE) for note in found.notes[:MAX_NOTES]],
        "table": [plain_row(row) for row in entry.rows],
        "answer": answer(entry.rows) if found.labels else nearest_said(found),
    }


def describe_learned(
    key: str, entry: LearnedEntry, items: Sequence[Item], whose: str
) -> dict[str, Any]:
    """As plain data: losses, accuracies and the items' names; weights have a route."""
    found = entry.learned
    return {
        "key": key,
        "model": printable(entry.encoder.card.name),
        "set": whose,
        "layer": found.state,
        "groups": [shortened(label) for label in found.labels],
        "folds": found.n_folds,
        "seeds": list(found.seeds),
        "losses": finite(found.losses),
        "accuracy": {name: finite(shares) for name, shares in found.accuracy.items()},
        "chance": found.chance,
        "names": [shortened(item.name, MAX_NAME) for item in items],
        "labels": [shortened(item.label) for item in items],
    }


def answer(rows: Sequence[Separation]) -> str:
    """The best pooling and layer in a sentence with numbers."""
    known = [row for row in rows if row.silhouette == row.silhouette]
    if not known:
        why = Counter(row.why for row in rows).most_common(1)[0][0]
        return f"No pooling can be compared: {why}"
    best, last = known[0], max(row.state for row in rows)
    if best.silhouette <= 0:
        where = f"{_called(best.method)} {after_blocks(best.state)}, {best.silhouette:.3f}"
        return f"No pooling tells these labels apart: the highest silhouette is {where}."
    own = next((row for row in known if row.method == "declared" and row.state == last), None)
    others = [
        f"{title} {getattr(best, name):.3f}{_better(known, name, best, own)}"
        for name, title in COLUMN_NAMES.items()
        if name != "silhouette" and getattr(best, name) == getattr(best, name)
    ]
    more = f"; {', '.join(others)}" if others else ""
    if own is not None and best.silhouette - own.silhouette > SAME:
        more += f". The model's own pooling {after_blocks(last)}: {_in_numbers(own)}"
    elif own is not None:
        more += " (as the model's own pooling)"
    where = f"{_called(best.method)} {after_blocks(best.state)}, {best.silhouette:.3f}"
    return f"Best by silhouette: {where}{more}."


def nearest_said(found: Collection) -> str:
    """Whether the pooling changes who is nearest to whom, at the output; "" of less than three."""
    n, last = len(found.items), found.states[-1]
    if n < 3:
        return ""
    reference = "declared" if "declared" in found.methods else "mean"
    cosines = {method: found.cosine(method, last) for method in found.methods}
    each = {method: _of_others(cosine) for method, cosine in cosines.items()}
    kept, near = each[reference].max(axis=1), each[reference].argmax(axis=1)
    moved = {}
    for method, cosine in each.items():
        top, here = cosine.max(axis=1), cosine[np.arange(n), near]
        moved[method] = int(((top - here > SAME) & (kept > -2) & (top > -2)).sum())
    most = max(moved, key=lambda method: moved[method])
    whose, after = _called(reference), after_blocks(last)
    if not moved[most]:
        return (
            f"Every pooling gives every item the same nearest neighbor as {whose} does, or one "
            f"that is equally near, {after}."
        )
    others = sum(not count for count in moved.values()) - 1
    rest = f" {counted(others, 'other')} {'changes' if others == 1 else 'change'} none."
    return (
        f"The pooling matters here: {most} gives {moved[most]} of {n} items another nearest "
        f"neighbor than {whose}, {after}.{rest if others else ''}"
    )


def _of_others(cosine: Float[np.ndarray, "item item"]) -> Float[np.ndarray, "item item"]:
    """The cosines of different items; -2 where there is none."""
    return np.where(np.eye(len(cosine), dtype=bool) | np.isnan(cosine), -2, cosine)


def _called(method: str) -> str:
    return "the model's own pooling" if method == "declared" else method


def _in_numbers(row: Separation) -> str:
    found = {title: getattr(row, name) for name, title in COLUMN_NAMES.items()}
    return ", ".join(f"{title} {value:.3f}" for title, value in found.items() if value == value)


def _better(rows: Sequence[Separation], name: str, best: Separation, own: Separation | None) -> str:
    """The better method by that column, if any; of equals the model's own is named."""
    value = max(np.nan_to_num(getattr(row, name), nan=-2) for row in rows)
    if value <= getattr(best, name):
        return ""
    equals = [row for row in rows if getattr(row, name) == value]
    top = own if own in equals and own is not None else equals[0]
    more = f" and {len(equals) - 1} more" if len(equals) > 1 else ""
    return f" (best: {_called(top.method)} {after_blocks(top.state)}{more}, {value:.3f})"


def _check_training(layer: float, n_seeds: float, steps: float) -> None:
    for name, value, most in (("seeds", n_seeds, MAX_SEEDS), ("steps", steps, MAX_STEPS)):
        if not isinstance(value, int | float) or not 1 <= value <= most or value != int(value):
            raise InputError(f"The number of {name} is {value!r}; give 1 to {most:,}.")
    if not isinstance(layer, int | float) or layer != int(layer):
        raise SelectionError(
            f"There is no state after {layer!r} blocks; give a whole number, or -1 for all."
        )


def _model(runner: Runner, model: str, kind: str, report: Report) -> LoadedEncoder:
    def tell(share: float) -> None:
        _tell(report, 0.2 * share, f"Loading {model} …")

    tell(0.0)
    return runner.models.get(model, kind, tell)


def _counted(report: Report, what: str, start: float, stop: float) -> Callable[[int, int], Any]:
    """Progress of so many of all, as a share between start and stop."""

    def progress(done: int, total: int) -> bool | None:
        words = f"{done:,} of {total:,} {what}"
        return report(start + (stop - start) * done / total, words)

    return progress


def _tell(report: Report, share: float, words: str) -> None:
    if report(share, words) is False:
        raise TraceError("Stopped; nothing was kept.")


def _png(encoder: LoadedEncoder, item: Item) -> bytes:
    """The picture as the model reads it."""
    return png(encoder.read(item.source).samples[0].picture)
