"""The numbers of the Pooling tab: of one run, of a set, and of a learned query; and their files."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from viz_encoder.analyses.collection import Collection
from viz_encoder.errors import SelectionError
from viz_encoder.export.vectors import save_vectors, table_lines
from viz_encoder.ui.state.sets import Sets
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs.pooling.results import item_plain, padding_plain, pooled_plain
from viz_encoder.ui.tabs.pooling.set_runs import plain_row, png
from viz_encoder.ui.wire.numbers import parse_index

PRIVATE = {"cache-control": "private, max-age=3600"}
NEIGHBOURS = 8
TYPES = {
    "csv": "text/csv; charset=utf-8",
    "npz": "application/octet-stream",
    "arrow": "application/octet-stream",
    "parquet": "application/octet-stream",
    "table.csv": "text/csv; charset=utf-8",
}


def make_pooling_router(store: TraceStore, sets: Sets, route_class: type[Any]) -> APIRouter:
    """The routes of one store of runs and one of sets, under /viz."""
    router = APIRouter(prefix="/viz", route_class=route_class)

    @router.get("/run/{key}/pooled")
    def one_input(key: str, layer: int = -1, learned: str = "") -> JSONResponse:
        """Every method after one layer: norms, cosines, and each token's share."""
        query = sets.learned.get(learned) if learned else None
        return JSONResponse(pooled_plain(store.get(key), layer, query), headers=PRIVATE)

    @router.get("/run/{key}/padding")
    def padded(key: str, padding: int = 16, layer: int = -1) -> JSONResponse:
        """How far padding moves each method, with the mask and without it."""
        return JSONResponse(padding_plain(store.get(key), padding, layer), headers=PRIVATE)

    @router.get("/set/{key}/table")
    def table(key: str, by: str = "silhouette") -> JSONResponse:
        """Every method at every layer, the best first; null where it cannot be said."""
        rows = sets.compared.get(key).found.table(by)
        return JSONResponse([plain_row(row) for row in rows], headers=PRIVATE)

    @router.get("/set/{key}/cosine")
    def cosine(key: str, method: str, layer: int = -1) -> Response:
        """Cosine of every two items, float32 "item item"; NaN where a vector has no direction."""
        values = sets.compared.get(key).found.cosine(method, layer)
        headers = {**PRIVATE, "x-shape": ",".join(map(str, values.shape))}
        content = np.ascontiguousarray(values, dtype="<f4").tobytes()
        return Response(content, media_type="application/octet-stream", headers=headers)

    @router.get("/set/{key}/neighbours")
    def neighbours(
        key: str, method: str, item: int, layer: int = -1, k: int = NEIGHBOURS
    ) -> JSONResponse:
        """The items of the largest cosine with one."""
        found = sets.compared.get(key).found
        near = found.neighbours(method, layer, item=item, k=k)
        return JSONResponse([vars(each) for each in near], headers=PRIVATE)

    @router.get("/set/{key}/item/{item}.png")
    def picture(key: str, item: int) -> Response:
        """An item's picture, as the model read it."""
        pictures = sets.compared.get(key).pictures
        content = pictures[parse_index("item", item, len(pictures))] if pictures else b""
        return _picture(content)

    @router.get("/set/{key}/take/{kind}")
    def take(key: str, kind: str, method: str = "", layer: int = -1) -> Response:
        """All vectors, or those of one method and layer, as a file; or the table as table.csv."""
        if kind not in TYPES:
            raise SelectionError(f"There is no download {kind[:20]!r}; choose {', '.join(TYPES)}.")
        headers = {
            "cache-control": "no-store",
            "content-disposition": f'attachment; filename="{_file_name(kind)}"',
            "x-content-type-options": "nosniff",
        }
        found = sets.compared.get(key).found
        part = one_row(found, method, layer) if method else found
        return Response(_file(part, kind), media_type=TYPES[kind], headers=headers)

    @router.get("/learned/{key}/item/{item}")
    def weighed(key: str, item: int) -> JSONResponse:
        """What the learned query weighs the tokens of an item of its set with."""
        return JSONResponse(item_plain(sets.learned.get(key), item), headers=PRIVATE)

    @router.get("/learned/{key}/item/{item}/picture.png")
    def weighed_picture(key: str, item: int) -> Response:
        """That item's picture, as the model read it."""
        items = sets.learned.get(key).items
        return _picture(png(items[parse_index("item", item, len(items))].sample.picture))

    return router


def _picture(content: bytes) -> Response:
    if not content:
        raise SelectionError("This set is of texts; it has no pictures.")
    return Response(content, media_type="image/png", headers=PRIVATE)


def _file_name(kind: str) -> str:
    return "poolings.csv" if kind == "table.csv" else f"vectors.{kind}"


def one_row(found: Collection, method: str, layer: int) -> Collection:
    """The same set with the vectors of one method at one layer alone."""
    vectors = found.of(method, layer)[None]
    at = found.layers[-1] if layer == -1 else layer
    return replace(found, methods=(method,), layers=(at,), vectors={method: vectors})


def _file(found: Collection, kind: str) -> bytes:
    if kind == "table.csv":
        return "".join(table_lines(found.table())).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, _file_name(kind))
        save_vectors(found, path)
        return path.read_bytes()
