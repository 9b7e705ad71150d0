"""Routes of an encoder of one's own: its weights part by part, its run on a text, its folder."""

import io
import tempfile
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Response

from viz_encoder.config.weight_parts import layer_cost, weight_parts
from viz_encoder.errors import ConfigError, InputError
from viz_encoder.ui.state.built import PRESETS, Built, built_encoder
from viz_encoder.ui.state.examples import PICTURES
from viz_encoder.ui.state.limits import Limits
from viz_encoder.ui.state.recipe import Recipe
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.source import Source
from viz_encoder.ui.wire import bytes as answers
from viz_encoder.ui.wire.arguments import Given, Runs
from viz_encoder.ui.wire.body_limits import json_object, sent
from viz_encoder.ui.wire.bytes import FRESH
from viz_encoder.ui.wire.concurrency import Places
from viz_encoder.ui.wire.errors import ErrorRoute

ROUTER = APIRouter(route_class=ErrorRoute)  # below the tab's own
PLACES = Places(1)  # encoders that are built at the same time
MOST_JSON = 2**20


@ROUTER.get("/learn/build")
def build_route(runs: Runs, asked: Given) -> Response:
    """The weights, part by part, and what a layer costs; axes that cannot be are a message."""
    try:
        return answers.plain(_told(Built.of(asked), runs.limits), FRESH)
    except ConfigError as fault:
        return answers.plain({"message": str(fault)}, FRESH)


@ROUTER.post("/learn/build")
@PLACES
def run_route(runs: Runs, body: Annotated[bytes, sent(MOST_JSON, "What was sent")]) -> Response:
    """The untrained encoder's run on the text "a", or on what "run" reads; or a message."""
    asked = json_object(body)
    try:
        source, content = _source_of(runs, asked)
        key = runs.run(Recipe(source, Built.of(asked)), content)
    except (ConfigError, InputError) as fault:
        return answers.plain({"message": str(fault)}, FRESH)
    return answers.plain(runs.again(key), FRESH)


@ROUTER.get("/learn/build/encoder.zip")
@PLACES
def folder_route(runs: Runs, asked: Given, a: str = "") -> Response:
    """The folder that `vz.load` opens, as a zip file; its tokenizer knows the words of `a`."""
    return answers.download(_zip(Built.of(asked), a, runs.limits), "encoder.zip")


def _source_of(runs: Runner, sent: dict[str, Any]) -> tuple[Source, Any]:
    """What to read, and a picture that no link holds; of a pair both texts as one."""
    if sent.get("a"):
        return Source.text(sent["a"]), None
    key = str(sent.get("run", ""))
    entry = runs.store.get(key) if key else None
    sample = None if entry is None else entry.trace.sample
    if Built.of(sent).reads == "image":
        if entry is None or sample is None or sample.picture is None:
            return Source.picture(next(iter(PICTURES))), None
        return entry.recipe.source, sample.picture
    if sample is None or not sample.texts:
        raise InputError("This encoder reads words, so it needs a text; run a text first.")
    return Source.text(" ".join(sample.texts)), None


def _told(built: Built, limits: Limits) -> dict[str, Any]:
    config, T = built.config, built.n_tokens
    parts, cost = weight_parts(config), layer_cost(config, T)
    total = sum(part.count for part in parts)
    return {
        "asked": asdict(built),
        "T": T,
        "parts": [asdict(part) for part in parts],
        "total": total,
        "scores_cost": cost.scores,
        "ffn_cost": cost.feed_forward,
        "projections_cost": cost.projections,
        "equal_at": cost.equal_at,
        "runs": total <= limits.built_weights,
        "most": limits.built_weights,
        "presets": {name: asdict(each) for name, each in PRESETS.items()},
    }


def _zip(built: Built, text: str, limits: Limits) -> bytes:
    encoder, content = built_encoder(built, text, limits.built_weights), io.BytesIO()
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(content, "w") as packed:
        folder = Path(place, "encoder")
        encoder.save(folder)
        for path in sorted(folder.iterdir()):
            packed.write(path, f"encoder/{path.name}")
    return content.getvalue()
