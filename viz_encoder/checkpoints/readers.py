"""The reader that belongs to a checkpoint: its tokenizer, or how its pictures were prepared."""

from collections.abc import Mapping
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from viz_encoder.checkpoints.family import Family, Json
from viz_encoder.checkpoints.files import read_json
from viz_encoder.checkpoints.preprocessor import preprocessing
from viz_encoder.checkpoints.tokenizer import named_padding, read_tokenizer
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.errors import CheckpointError, ConfigError
from viz_encoder.inputs import ImageReader, TextReader

PREPROCESSOR = "preprocessor_config.json"
OWN = ("mean", "std", "resample", "fit", "window", "resized")  # what config.json's image may say


def make_reader(
    folder: Path, config: EncoderConfig, file: Json, family: Family
) -> TextReader | ImageReader | None:
    """What turns texts or pictures into this model's inputs; None where vectors come in."""
    if config.embedding is Embedding.PATCH:
        return _image_reader(config, _image_settings(folder, file, config))
    if config.embedding is Embedding.TOKEN:
        tokenizer, usual = read_tokenizer(folder, family.wordpiece), _pad_id(config, file)
        named = named_padding(folder, tokenizer)
        return TextReader(
            tokenizer,
            config.max_positions,
            named if named is not None and named < config.vocab_size else usual,
            refuses_padding=family.pads_take_no_position,
            padded_to=family.padded_to and min(family.padded_to, config.max_positions),
        )
    return None


def _image_settings(folder: Path, file: Json, config: EncoderConfig) -> dict[str, Any]:
    """Our own files say it in config.json, those of transformers in preprocessor_config.json."""
    if not (folder / PREPROCESSOR).exists():
        own = file.get("image", {})
        if not isinstance(own, Mapping):
            raise CheckpointError(f"config.json garbles image: {shown(own)}; mean and std are due.")
        return {name: own[name] for name in OWN if name in own}
    return preprocessing(read_json(folder, PREPROCESSOR), config)


def _image_reader(config: EncoderConfig, settings: dict[str, Any]) -> ImageReader:
    half = (0.5,) * config.n_channels
    lists = {"mean": half, "std": half, "window": (), "resized": ()}
    try:
        return ImageReader(
            patch_size=config.patch_size,
            n_channels=config.n_channels,
            prefix=config.prefix,
            **{
                "image_size": config.image_size,
                **settings,
                **{name: tuple(settings.get(name, usual)) for name, usual in lists.items()},
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
