"""Named endpoints of poolings: all that the page shows of them, as plain data."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from viz_encoder.errors import InputError
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.vectors.results import plain_row
from viz_encoder.ui.tabs.vectors.routes import padding_drift, pooled
from viz_encoder.ui.tabs.vectors.set_items import (
    check_count,
    given_items,
    given_name,
    named_pictures,
)
from viz_encoder.ui.tabs.vectors.set_runs import compare, learn
from viz_encoder.ui.tabs.vectors.two_texts import token_pairs_plain
from viz_encoder.ui.wire.arguments import parse_index
from viz_encoder.ui.wire.bytes import finite, plain_name
from viz_encoder.ui.wire.endpoints import decoded, in_queue
from viz_encoder.ui.wire.watch import watched


def token_pairs(
    runner: Runner, key: str, other: str = "", method: str = "mean", layer: int = -1
) -> dict[str, Any]:
    """Why a run's text and another are alike: the cosine as a sum over pairs of tokens.

    Without another, the texts of a pair are each read alone. `special` is what pairs with special
    tokens add, `top` the largest pairs of words, `matches` each token's nearest in the other text.
    All parts are in /figure "token_pairs".
    """
    return token_pairs_plain(runner.store.get(key), other, method, layer)


@in_queue("set")
def compare_set(runner: Runner, content: str, model: str = "all-MiniLM-L6-v2") -> dict[str, Any]:
    """Pool texts, one a line or a CSV with the columns text and label, in every way.

    Returns the set's key, and the table of all methods and layers where labels are given.
    """
    report = watched(runner.limits)
    return compare(runner, given_items(content), model, report=report, named=given_name())


@in_queue("set")
def compare_pictures(
    runner: Runner, pictures: dict[str, Any], model: str = "scene"
) -> dict[str, Any]:
    """Compare poolings on images: {"pictures": {name: base64}}; cat_1.png has the label cat."""
    files = pictures.get("pictures") if isinstance(pictures, dict) else None
    if not isinstance(files, dict) or not files:
        raise InputError('Send {"pictures": {name: file as base64}}.')
    check_count(list(files), runner.limits.set_items)
    return _pictures(runner, files, model)


def set_table(runner: Runner, key: str, by: str = "silhouette") -> list[dict[str, Any]]:
    """Every method at every layer of a set, sorted by a column, the best first."""
    return [plain_row(row) for row in runner.sets.compared.get(key).found.table(by)]


def set_cosine(runner: Runner, key: str, method: str, layer: int = -1) -> list[list[float | None]]:
    """Cosine of every two items of a set, in the order in which they were given."""
    found: list[list[float | None]]
    found = finite(runner.sets.compared.get(key).found.cosine(method, layer))
    return found


def set_plane(runner: Runner, key: str, method: str, layer: int = -1) -> dict[str, Any]:
    """All items of a set along two principal components: `points`, and `shares` of the variance."""
    found = runner.sets.compared.get(key).found.plane(method, layer)
    return {"points": finite(found.points), "shares": finite(found.shares)}


def set_neighbors(
    runner: Runner, key: str, method: str, item: int, layer: int = -1, k: int = 5
) -> list[dict[str, Any]]:
    """The k items of the largest cosine with one, and whether they have its label."""
    found = runner.sets.compared.get(key).found
    at = parse_index("item", item, len(found.items))
    return [vars(each) for each in found.neighbors(method, layer, item=at, k=int(k))]


@in_queue("set")
def attention_pooling(
    runner: Runner,
    key: str = "",
    model: str = "all-MiniLM-L6-v2",
    layer: int = -1,
    seeds: int = 3,
    steps: int = 150,
) -> dict[str, Any]:
    """Learn a query from the labeled set of that key, or from the built-in one without."""
    report = watched(runner.limits)
    return learn(runner, key, model, report=report, layer=layer, n_seeds=seeds, steps=steps)


ENDPOINTS = (
    *(pooled, padding_drift, token_pairs, compare_set, compare_pictures, set_table, set_cosine),
    *(set_plane, set_neighbors, attention_pooling),
)


def _pictures(runner: Runner, files: dict[str, Any], model: str) -> dict[str, Any]:
    names: Sequence[str] = list(files)
    with tempfile.TemporaryDirectory() as folder:
        # Each in a folder of its own, for different names may become one.
        paths = [Path(folder, str(number), plain_name(name)) for number, name in enumerate(names)]
        for path, name in zip(paths, names, strict=True):
            path.parent.mkdir()
            path.write_bytes(decoded(files[name]))
        report = watched(runner.limits)
        items, named = named_pictures(paths, names), given_name(names)
        return compare(runner, items, model, report=report, named=named)
