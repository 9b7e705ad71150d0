"""The reader that belongs to a checkpoint: its tokenizer, or how its pictures were prepared."""

from collections.abc import Mapping
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from viz_encoder.checkpoints.family import Family, Json
from viz_encoder.checkpoints.files import read_json
from viz_encoder.checkpoints.tokenizer import read_tokenizer
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.errors import CheckpointError, ConfigError
from viz_encoder.inputs import ImageReader, TextReader
from viz_encoder.inputs.image import MAX_EDGE

PREPROCESSOR = "preprocessor_config.json"


def make_reader(
    folder: Path, config: EncoderConfig, file: Json, family: Family
) -> TextReader | ImageReader | None:
    """What turns texts or pictures into this model's inputs; None where vectors come in."""
    if config.embedding is Embedding.PATCH:
        return _image_reader(config, _image_settings(folder, file, config))
    if config.embedding is Embedding.TOKEN:
        return TextReader(
            read_tokenizer(folder, family.wordpiece),
            config.max_positions,
            _pad_id(config, file),
            family.padded_to and min(family.padded_to, config.max_positions),
        )
    return None


def _image_settings(folder: Path, file: Json, config: EncoderConfig) -> dict[str, Any]:
    """Our own files say it in config.json, those of transformers in preprocessor_config.json."""
    if not (folder / PREPROCESSOR).exists():
        own = file.get("image", {})
        if not isinstance(own, Mapping):
            raise CheckpointError(f"config.json garbles image: {shown(own)}; mean and std are due.")
        return {name: own[name] for name in ("mean", "std") if name in own}
    said = read_json(folder, PREPROCESSOR)
    settings: dict[str, Any] = {}
    if said.get("do_normalize", True):
        for name in ("mean", "std"):
            if f"image_{name}" in said:
                settings[name] = said[f"image_{name}"]
    else:
        settings |= {"mean": (0.0,) * config.n_channels, "std": (1.0,) * config.n_channels}
    if said.get("resample") is not None:
        settings["resample"] = said["resample"]
    return settings | _sizes(said, config)


def _sizes(said: Json, config: EncoderConfig) -> dict[str, Any]:
    """At what size the model reads, and whether a picture is cut or squeezed to it."""
    size, crop = said.get("size"), said.get("crop_size")
    if said.get("do_center_crop"):
        edge = size.get("shortest_edge", 0) if isinstance(size, Mapping) else size or 0
        return {"image_size": _sides(crop, config), "fit": "crop", "shortest_edge": edge}
    if said.get("do_resize", True) and size is not None:
        return {"image_size": _sides(size, config), "fit": "squash"}
    return {}


def _sides(size: object, config: EncoderConfig) -> tuple[int, int]:
    """Height and width in whole patches, from a number or an object of a preprocessor_config."""
    if size is None:
        return config.image_size
    if isinstance(size, Mapping):
        edge = size.get("shortest_edge")
        sides = size.get("height", edge), size.get("width", edge)
    else:
        sides = size, size
    if any(isinstance(x, bool) or not isinstance(x, int) or not 0 < x <= MAX_EDGE for x in sides):
        raise CheckpointError(f"{PREPROCESSOR} has a size of {shown(size)}; give whole numbers.")
    patch = config.patch_size
    return max(1, sides[0] // patch) * patch, max(1, sides[1] // patch) * patch


def _image_reader(config: EncoderConfig, settings: dict[str, Any]) -> ImageReader:
    half = (0.5,) * config.n_channels
    try:
        return ImageReader(
            patch_size=config.patch_size,
            n_channels=config.n_channels,
            prefix=config.prefix,
            **{
                "image_size": config.image_size,
                **settings,
                **{k: tuple(settings.get(k, half)) for k in ("mean", "std")},
            },
        )
    except ConfigError as fault:
        raise CheckpointError(f"The picture settings describe no possible one: {fault}") from fault
    except (TypeError, AttributeError) as fault:
        raise CheckpointError(f"The picture settings garble mean or std: {fault}.") from fault


def _pad_id(config: EncoderConfig, file: Json) -> int:
    pad_id = file.get("pad_token_id")
    if pad_id is None:
        return 0
    if isinstance(pad_id, bool) or not isinstance(pad_id, int):
        raise CheckpointError(f"pad_token_id is {shown(pad_id)}; it must be a whole number.")
    if not 0 <= pad_id < config.vocab_size:
        raise CheckpointError(
            f"pad_token_id is {shown(pad_id)}; it must be one of the vocabulary's "
            f"{config.vocab_size:,} (0 to {config.vocab_size - 1})."
        )
    return pad_id
