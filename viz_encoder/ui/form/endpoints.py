"""Named endpoints of the form: what models there are, opening one, and running an input."""

from dataclasses import asdict
from typing import Any

from viz_encoder.checkpoints import HubModel, LoadedEncoder, Plan
from viz_encoder.config.anatomy import anatomy
from viz_encoder.ui.state.run_description import RunDescription
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.wire.endpoints import decoded
from viz_encoder.ui.wire.run_facts import require_text, saved_run
from viz_encoder.ui.wire.watch import watched


def models(runner: Runner) -> list[str]:
    """The names of the models offered here."""
    return runner.models.names()


def run_text(
    runner: Runner, text_a: str, text_b: str = "", model: str = "all-MiniLM-L6-v2"
) -> RunDescription:
    """Encode a text, or a pair of texts; returns the run's key, tokens and sizes."""
    return runner.text(model, text_a, text_b)


def run_picture(runner: Runner, picture: str, model: str = "scene") -> RunDescription:
    """Encode a picture file, sent as base64; returns the run's key, patches and sizes."""
    return runner.picture(model, decoded(picture))


def open_saved(runner: Runner, file: str) -> RunDescription:
    """Open a saved trace, sent as base64; returns its key, tokens and sizes."""
    return saved_run(runner, decoded(file))


def model(runner: Runner, name: str) -> dict[str, Any]:
    """A listed model's source, license, sizes, and parts with their equations."""
    return _card(runner.models.plan(require_text("name", name)) or runner.models.get(name))


def open_model(runner: Runner, name: str, part: str = "") -> dict[str, Any]:
    """Load a folder of the server, or a model that its hub's cache holds; then run it by name.

    part is "text" or "vision", of a model that has both.
    """
    listed = runner.models.open(require_text("name", name), require_text("part", part))
    return {**_card(runner.models.get(listed)), "name": listed}


def cached_models(runner: Runner) -> list[dict[str, Any]]:
    """The models in the hub's cache of the server that open_model loads without a network."""
    return [
        {"name": plan.card.name, "family": plan.card.family, "n_bytes": plan.n_bytes}
        for plan in runner.models.cached()
    ]


def look_up(runner: Runner, name: str, part: str = "") -> dict[str, Any]:
    """Look up a folder or a Hub model without downloading anything.

    n_bytes is what download_model would bring, 0 where the files are there already.
    """
    tell = watched(runner.limits)
    found = runner.models.look(require_text("name", name), require_text("part", part), tell)
    if not isinstance(found, HubModel):
        return {**_card(found), "n_bytes": 0}
    facts = {**asdict(found), "source": found.address, "revision": found.commit}
    return {name: facts[name] for name in ON_THE_HUB}


def download_model(runner: Runner, name: str, part: str = "") -> str:
    """Download a model from the hub into the server's cache; returns the name for open_model."""
    tell = watched(runner.limits)
    return runner.models.download(require_text("name", name), require_text("part", part), tell)


ON_THE_HUB = ("name", "family", "source", "revision", "license", "n_parameters", "n_bytes", "files")
ENDPOINTS = (models, run_text, run_picture, open_saved, model, open_model)
HUB_ENDPOINTS = (cached_models, look_up, download_model)  # they wait for a network, not for a run


def _card(model: Plan | LoadedEncoder) -> dict[str, Any]:
    card, config = model.card, model.config
    return {
        "name": card.name,
        "family": card.family,
        "source": card.source,
        "revision": card.revision,
        "license": card.license,
        "notes": list(card.notes),
        "n_parameters": card.n_parameters,
        "n_layers": config.n_layers,
        "n_heads": config.n_heads,
        "d_model": config.d_model,
        "parts": [
            {"name": part.name, "words": part.words, "equation": part.equation}
            for part in anatomy(config)
        ],
    }
