"""Writers: where what was seen goes; a CSV file, TensorBoard, Weights & Biases or a function."""

import csv
import importlib
import logging
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from PIL import Image

from viz_encoder.errors import InputError
from viz_encoder.training.look import Look

Write = Callable[[Look], object]
COLUMNS = ("step", "name", "layer", "head", "value", "text")


def writer_of(log: Any) -> Write:
    """Choose how to write a look by the methods of `log`, without importing its library."""
    if isinstance(log, str | PathLike):
        return _to_csv(Path(fspath(log)))
    if callable(getattr(log, "add_scalar", None)):
        return lambda look: _to_tensorboard(log, look)
    if callable(getattr(log, "log", None)) and not isinstance(log, logging.Logger):
        return lambda look: _to_wandb(log, look)
    if callable(log):
        return log
    raise InputError(
        f"log is {type(log).__name__}; it must be the path of a CSV file, a TensorBoard "
        "SummaryWriter, a wandb run, or a function that takes a viz_encoder.training.Look."
    )


def _to_csv(path: Path) -> Write:

    def write(look: Look) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists() or not path.stat().st_size
        with path.open("a", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            if new:
                out.writerow(COLUMNS)
            for name, layer, head, value in look.rows():
                out.writerow((look.step, name, layer, head, f"{value:.6g}", ""))
            for check, text in zip(look.checks, look.sentences, strict=True):
                out.writerow((look.step, check.name, "", "", "", text))
        if look.atlas is not None:
            Image.fromarray(look.atlas).save(path.with_name(f"{path.stem}-{look.step:06}.png"))

    return write


def _to_tensorboard(log: Any, look: Look) -> None:
    for tag, value in look.scalars.items():
        log.add_scalar(tag, value, look.step)
    for check, text in zip(look.checks, look.sentences, strict=True):
        log.add_text(f"watch/{check.name}", text, look.step)
    if look.atlas is not None:
        log.add_image("watch/atlas", look.atlas, look.step, dataformats="HWC")


def _to_wandb(run: Any, look: Look) -> None:
    """Into the row that the loop itself writes next, so that its steps stay as they are."""
    found: dict[str, Any] = {"watch/step": look.step, **look.scalars}
    for check, text in zip(look.checks, look.sentences, strict=True):
        found[f"watch/{check.name}"] = text
    library = getattr(run, "__name__", type(run).__module__).partition(".")[0]
    if look.atlas is not None and library == "wandb":
        found["watch/atlas"] = importlib.import_module("wandb").Image(look.atlas)
    run.log(found, commit=False)
