"""Named endpoints about models: what one is made of, opening another, what its heads say."""

from typing import Any

from gradio.events import api

from viz_encoder.checkpoints import LoadedEncoder, Plan
from viz_encoder.config.anatomy import anatomy
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.wire.endpoints import plainly
from viz_encoder.ui.wire.routes import guesses


def add_model_endpoints(runner: Runner) -> None:
    """Register them on the page that is being built; call inside `with gr.Blocks()`."""
    for endpoint in (_model(runner), _open_model(runner), _predictions(runner)):
        api(endpoint, api_name=endpoint.__name__, concurrency_id="model", concurrency_limit=1)


def _model(runner: Runner) -> Any:
    def model(name: str) -> dict[str, Any]:
        """What a listed model is: source, license, sizes, and its parts with their equations."""

        def card() -> dict[str, Any]:
            plan = runner.models.plan(_text("name", name))
            return _card(plan or runner.models.get(name))

        return plainly(card)

    return model


def _open_model(runner: Runner) -> Any:
    def open_model(name: str, part: str = "") -> dict[str, Any]:
        """Load a folder of the server, or a hub id, where that is allowed; then run it by name.

        part is "text" or "vision", of a model that has both.
        """

        def card() -> dict[str, Any]:
            listed = runner.models.open(_text("name", name), _text("part", part))
            return {**_card(runner.models.get(listed)), "name": listed}

        return plainly(card)

    return open_model


def _predictions(runner: Runner) -> Any:
    def predictions(key: str, task: str = "", layer: int | None = None) -> list[dict[str, Any]]:
        """What the model's head says of a run: of its output, or after a layer (0 = embeddings)."""

        def said() -> list[dict[str, Any]]:
            if layer is not None and (isinstance(layer, bool) or not isinstance(layer, int)):
                raise SelectionError(f"There is no layer {str(layer)[:40]!r}; give a whole number.")
            return guesses(runner.store.get(key), _text("task", task), layer)

        return plainly(said)

    return predictions


def _text(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what} is {type(value).__name__}, not text.")
    return value


def _card(model: Plan | LoadedEncoder) -> dict[str, Any]:
    card, config = model.card, model.config
    return {
        "name": card.name,
        "family": card.family,
        "source": card.source,
        "revision": card.revision,
        "license": card.license,
        "n_parameters": card.n_parameters,
        "n_layers": config.n_layers,
        "n_heads": config.n_heads,
        "d_model": config.d_model,
        "parts": [
            {"name": part.name, "words": part.words, "equation": part.equation}
            for part in anatomy(config)
        ],
    }
