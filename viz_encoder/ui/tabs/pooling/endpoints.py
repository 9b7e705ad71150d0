"""Named endpoints of the Pooling tab: all that it shows, as plain data."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradio.events import api

from viz_encoder.errors import InputError
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.tabs.attention.downloads import _plain_name as plain
from viz_encoder.ui.tabs.pooling.results import padding_plain, pooled_plain
from viz_encoder.ui.tabs.pooling.set_items import check_count, given_items, named_pictures
from viz_encoder.ui.tabs.pooling.set_runs import compare, learn, plain_row
from viz_encoder.ui.wire.endpoints import _bytes as decoded
from viz_encoder.ui.wire.endpoints import plainly
from viz_encoder.ui.wire.numbers import finite, parse_index


def add_pooling_endpoints(runner: Runner) -> None:
    """Register them on the page that is being built; call inside `with gr.Blocks()`."""
    for endpoint in (
        *(_pooled(runner), _padding_drift(runner), _compare_set(runner), _compare_pictures(runner)),
        *(_set_table(runner), _set_cosine(runner), _set_neighbours(runner), _learn(runner)),
    ):
        api(endpoint, api_name=endpoint.__name__, concurrency_id="model", concurrency_limit=1)


def _pooled(runner: Runner) -> Any:
    def pooled(key: str, layer: int = -1, learned: str = "") -> dict[str, Any]:
        """A run's pooled vectors: norms, cosines and each token's share, after one layer.

        Layer 0 is the embeddings, -1 the output; learned is a key from /attention_pooling.
        """

        def content() -> dict[str, Any]:
            query = runner.sets.learned.get(learned) if learned else None
            return pooled_plain(runner.store.get(key), layer, query)

        return plainly(content)

    return pooled


def _padding_drift(runner: Runner) -> Any:
    def padding_drift(key: str, padding: int = 16, layer: int = -1) -> dict[str, Any]:
        """How far padding moves each pooling of a run's text, with the mask and without it."""
        return plainly(lambda: padding_plain(runner.store.get(key), padding, layer))

    return padding_drift


def _compare_set(runner: Runner) -> Any:
    def compare_set(content: str, model: str = "all-MiniLM-L6-v2") -> dict[str, Any]:
        """Pool texts, one a line or a CSV with the columns text and label, in every way.

        Returns the set's key, and the table of all methods and layers where labels are given.
        """
        return plainly(lambda: json.loads(compare(runner, given_items(content), model)))

    return compare_set


def _compare_pictures(runner: Runner) -> Any:
    def compare_pictures(pictures: dict[str, Any], model: str = "scene") -> dict[str, Any]:
        """The same of pictures: {"pictures": {name: base64}}; cat_1.png has the label cat."""

        def content() -> dict[str, Any]:
            files = pictures.get("pictures") if isinstance(pictures, dict) else None
            if not isinstance(files, dict) or not files:
                raise InputError('Send {"pictures": {name: file as base64}}.')
            check_count(list(files), runner.sets.max_items)
            return _pictures(runner, files, model)

        return plainly(content)

    return compare_pictures


def _set_table(runner: Runner) -> Any:
    def set_table(key: str, by: str = "silhouette") -> list[dict[str, Any]]:
        """Every method at every layer of a set, sorted by a column, the best first."""
        return plainly(
            lambda: [plain_row(row) for row in runner.sets.compared.get(key).found.table(by)]
        )

    return set_table


def _set_cosine(runner: Runner) -> Any:
    def set_cosine(key: str, method: str, layer: int = -1) -> list[list[float | None]]:
        """Cosine of every two items of a set, in the order in which they were given."""
        return plainly(lambda: finite(runner.sets.compared.get(key).found.cosine(method, layer)))

    return set_cosine


def _set_neighbours(runner: Runner) -> Any:
    def set_neighbours(
        key: str, method: str, item: int, layer: int = -1, k: int = 5
    ) -> list[dict[str, Any]]:
        """The k items of the largest cosine with one, and whether they have its label."""

        def content() -> list[dict[str, Any]]:
            found = runner.sets.compared.get(key).found
            at = parse_index("item", item, len(found.items))
            return [vars(each) for each in found.neighbours(method, layer, item=at, k=int(k))]

        return plainly(content)

    return set_neighbours


def _learn(runner: Runner) -> Any:
    def attention_pooling(
        key: str = "",
        model: str = "all-MiniLM-L6-v2",
        layer: int = -1,
        seeds: int = 3,
        steps: int = 150,
    ) -> dict[str, Any]:
        """Learn a query from the labelled set of that key, or from the built-in one without."""

        def content() -> dict[str, Any]:
            return json.loads(learn(runner, key, model, layer=layer, n_seeds=seeds, steps=steps))

        return plainly(content)

    return attention_pooling


def _pictures(runner: Runner, files: dict[str, Any], model: str) -> dict[str, Any]:
    names: Sequence[str] = list(files)
    with tempfile.TemporaryDirectory() as folder:
        # Each in a folder of its own, for different names may become one.
        paths = [Path(folder, str(number), plain(name)) for number, name in enumerate(names)]
        for path, name in zip(paths, names, strict=True):
            path.parent.mkdir()
            path.write_bytes(decoded(files[name]))
        return json.loads(compare(runner, named_pictures(paths, names), model))
