"""Pooling of one run, and its drift with padding, as plain data for the page and clients."""

import threading
from dataclasses import asdict
from typing import Any

import numpy as np

from viz_encoder.analyses.collection import Separation
from viz_encoder.analyses.padding_drift import CASES, Drift, padding_drift
from viz_encoder.analyses.pooled import PooledInput, pooled
from viz_encoder.arguments import Count, read_argument
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.inputs import TextReader
from viz_encoder.model.pooling import METHODS
from viz_encoder.shown import after_blocks
from viz_encoder.ui.state.readable import printable
from viz_encoder.ui.state.sets import LearnedEntry
from viz_encoder.ui.state.store import Entry
from viz_encoder.ui.wire.arguments import parse_index
from viz_encoder.ui.wire.bytes import finite

NO_TEXT = (
    "Padding makes the texts of a batch equally long. This run is of a picture, and the "
    "pictures of a batch all have the same size, so there is no padding."
)
UNTRAINED = "Attention pooling needs a learned query; train one under “A dataset”."
one_at_a_time = threading.Lock()  # padding runs the model, beside the queue that runs stand in


def pooled_plain(
    entry: Entry, layer: object = -1, learned: LearnedEntry | None = None
) -> dict[str, Any]:
    """Every method after one layer: norms, cosines and shares; null = not defined.

    Args:
        entry: the run.
        layer: 0 = embeddings, -1 = the output.
        learned: a query; attention pooling is there at the layer where it was learned.

    Raises:
        SelectionError: no such layer, the model is not here, or a query of another model.
    """
    encoder, trace = entry.model(), entry.trace
    at = _state(encoder, layer)
    queries, reason = _query(encoder, at, learned)
    found = pooled(encoder, trace, states=[at], queries=queries)
    looks = found.pooler_weights
    return {
        "layer": at,
        "layers": encoder.config.n_layers + 1,
        "width": encoder.config.d_model,
        "methods": _methods(found, own_words(encoder)),
        "own": own_words(encoder),
        "cosines": finite(found.cosines[0]),
        "shares": {name: finite(shares[0]) for name, shares in found.shares.items()},
        "weights": None if found.weights is None else finite(found.weights[0]),
        "looks": None if looks is None else finite(looks[0].mean(axis=0)),
        "wins": np.rint(found.shares["max"][0] * encoder.config.d_model).astype(int).tolist(),
        "leftOut": {**_printable(found.left_out), **({"attention": reason} if reason else {})},
        **_room(entry, encoder),
    }


def padding_plain(entry: Entry, padding: object = 16, layer: object = -1) -> dict[str, Any]:
    """Drift of each method in every case of padding; "worst" is the row that moved most.

    Raises:
        InputError: no whole number of padding tokens, or no room for them.
        SelectionError: a run of a picture, or the model is not here.
    """
    encoder, texts = entry.model(), entry.trace.sample.texts
    if not texts or not isinstance(encoder.reader, TextReader):
        raise SelectionError(NO_TEXT)
    n_padding: int = read_argument("padding", padding, Count, InputError)
    at = _state(encoder, layer)
    source = texts[0] if len(texts) == 1 else (texts[0], texts[1])
    with one_at_a_time:
        found = padding_drift(encoder, source, n_padding=n_padding, state=at)
    moved = [row for row in found.rows if row.relative == row.relative]
    worst = max(moved, key=lambda row: row.relative) if moved else None
    return {
        "layer": found.state,
        "tokens": found.n_tokens,
        "padding": found.n_padding,
        "cases": CASES,
        "rows": [plain_row(row) for row in found.rows],
        "worst": [worst.method, worst.case] if worst else None,
    }


def item_plain(entry: LearnedEntry, item: object) -> dict[str, Any]:
    """The learned weights over one item's tokens."""
    chosen = entry.items[parse_index("item", item, len(entry.items))]
    sample = chosen.sample
    grid = sample.grid
    return {
        "tokens": [printable(token) for token in sample.tokens],
        "weights": finite(chosen.weights),
        "grid": grid and {"rows": grid.n_rows, "cols": grid.n_cols, "prefix": grid.n_prefix},
    }


def plain_row(row: Drift | Separation) -> dict[str, Any]:
    """A row of a table for JSON: null where there is no number."""
    return {name: None if value != value else value for name, value in asdict(row).items()}


def _state(encoder: LoadedEncoder, layer: object) -> int:
    """The hidden state that was asked for, by its number from 0; -1 = the output."""
    last = encoder.config.n_layers
    return last if layer == -1 else parse_index("layer", layer, last + 1)


def own_words(encoder: LoadedEncoder) -> str:
    """The model's own pooling in words; "" where it declares none that is computed here."""
    declared = encoder.declared
    return "" if declared is None or declared.problem else printable(declared.words)


def _methods(found: PooledInput, own: str) -> list[dict[str, Any]]:
    place = found.methods.index("mean")
    return [
        {
            "name": name,
            "what": own if name == "declared" else METHODS[name],
            "numbers": found.vectors[name].shape[1],
            "norm": finite(found.norms[0, number]),
            "toMean": finite(found.cosines[0, number, place]),
        }
        for number, name in enumerate(found.methods)
    ]


def _query(
    encoder: LoadedEncoder, layer: int, learned: LearnedEntry | None
) -> tuple[dict[int, np.ndarray] | None, str]:
    """The query for this layer, or why there is none."""
    if learned is None:
        return None, UNTRAINED
    found = learned.learned
    if learned.encoder is not encoder:
        return None, (
            f"The query below was learned on {printable(learned.encoder.card.name)}, but this "
            f"run is of {printable(encoder.card.name)}; train one on a set that this model has "
            "read."
        )
    if layer != found.state:
        learned_on = f"The query below was learned on the states {after_blocks(found.state)}"
        return None, f"{learned_on}; choose those."
    return {layer: found.query}, ""


def _room(entry: Entry, encoder: LoadedEncoder) -> dict[str, Any]:
    """Number of padding tokens that still fit, and why if none does."""
    if not isinstance(encoder.reader, TextReader) or not entry.trace.sample.texts:
        return {"room": 0, "noRoom": NO_TEXT}
    most = encoder.reader.max_tokens
    room = max(0, most - int(entry.trace.valid.sum()))
    full = f"The text fills all {most:,} tokens that this model reads, so no padding fits after it."
    return {"room": room, "noRoom": "" if room else full}


def _printable(reasons: dict[str, str]) -> dict[str, str]:
    return {name: printable(why) for name, why in reasons.items()}
