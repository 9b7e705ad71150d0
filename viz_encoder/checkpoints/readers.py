"""The reader that belongs to a checkpoint: its tokenizer, or how its pictures were prepared."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown
from typing import Any, NamedTuple

from tokenizers import Tokenizer

from viz_encoder.checkpoints.family import Family, Json
from viz_encoder.checkpoints.files import read_json
from viz_encoder.checkpoints.preprocessor import preprocessing
from viz_encoder.checkpoints.tokenizer import find_tokenizer, named_padding
from viz_encoder.checkpoints.valid import NO_PADDING, PaddingIds, padding_of
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.errors import CheckpointError, ConfigError
from viz_encoder.inputs import ImageReader, TextReader
from viz_encoder.inputs.image import MAX_EDGE

PREPROCESSOR = "preprocessor_config.json"
# Allowed image settings in our own config.json.
PLAIN, LISTS = ("resample", "fit"), ("mean", "std", "window", "resized", "image_size")


@dataclass(frozen=True)
class GivenReaders:
    """A tokenizer or image processor passed with a model; None if absent."""

    tokenizer: Tokenizer | None = None
    pad_id: int | None = None  # the padding that the tokenizer names
    image: Mapping[str, Any] | None = None  # as preprocessor_config.json has it


NOTHING = GivenReaders()


class InputReading(NamedTuple):
    """How a model's inputs are made; without a reader it takes only tensors."""

    reader: TextReader | ImageReader | None
    padding: PaddingIds = NO_PADDING


def folder_reading(folder: Path, config: EncoderConfig, file: Json, family: Family) -> InputReading:
    """The reader that the files of a folder describe; none where it has no tokenizer.

    Our own files say in config.json how pictures are prepared, those of transformers in a file of
    its own.
    """
    given = NOTHING
    if config.embedding is Embedding.PATCH and (folder / PREPROCESSOR).exists():
        given = GivenReaders(image=read_json(folder, PREPROCESSOR))
    if config.embedding is Embedding.TOKEN:
        tokenizer = find_tokenizer(folder, family.wordpiece)
        named = None if tokenizer is None else named_padding(folder, tokenizer)
        given = GivenReaders(tokenizer, named)
    return given_reading(given, config, {"image": {}, **file}, family)


def given_reading(
    given: GivenReaders, config: EncoderConfig, file: Json, family: Family
) -> InputReading:
    """The reader of what was given beside a model; none where that, and `file`, say nothing.

    Raises:
        CheckpointError: a tokenizer for a model of pictures, or picture settings for one of texts.
    """
    patches = config.embedding is Embedding.PATCH
    if given.tokenizer is not None and config.embedding is not Embedding.TOKEN:
        raise CheckpointError("This model reads no texts, so it takes no tokenizer=.")
    if given.image is not None and not patches:
        raise CheckpointError("This model reads no pictures, so it takes no processor=.")
    if config.embedding is Embedding.TOKEN:
        return text_reading(given.tokenizer, given.pad_id, config, file, family)
    if given.image is not None:
        return InputReading(image_reader(config, preprocessing(given.image, config)))
    if patches and "image" in file:
        return InputReading(image_reader(config, own_image_settings(file)))
    return InputReading(None)


def text_reading(
    tokenizer: Tokenizer | None,
    named: int | None,
    config: EncoderConfig,
    file: Json,
    family: Family,
) -> InputReading:
    """The reader of a tokenizer, and the padding; what the tokenizer names counts, if it can."""
    usual = _pad_id(config, file)
    if family.pads_take_no_position and None not in (named, usual) and named != usual:
        raise CheckpointError(
            f"The tokenizer pads with id {named}, but this model counts positions past id {usual}, "
            "its own padding; use the tokenizer that belongs to it."
        )
    pad_id = named if named is not None and named < config.vocab_size else usual
    if tokenizer is None:
        return InputReading(None, padding_of(pad_id, file, family, None))
    tokenizer.no_padding()  # which would look like the end of a text
    padding = padding_of(pad_id, file, family, tokenizer)
    padded_to = family.padded_to or _own_length(file)
    return InputReading(
        TextReader(
            tokenizer,
            config.max_positions,
            pad_id or 0,
            refuses_padding=padding.no_position,
            padded_to=padded_to and min(padded_to, config.max_positions),
        ),
        padding,
    )


def _own_length(file: Json) -> int:
    """Fixed length that all texts are padded to, from our own config.json."""
    own = file.get("text", {})
    length = own.get("padded_to", 0) if isinstance(own, Mapping) else None
    if isinstance(length, bool) or not isinstance(length, int) or length < 0:
        raise CheckpointError(
            f"The text entry of config.json is not valid: {shown(own)}; save the model again."
        )
    return length


def own_image_settings(file: Json) -> dict[str, Any]:
    """Image settings of config.json, as ImageReader's arguments."""
    own = file.get("image", {})
    if not isinstance(own, Mapping):
        raise CheckpointError(
            f"The image entry of config.json is not valid: {shown(own)}; it must hold mean and std."
        )
    return {name: own[name] for name in (*PLAIN, *LISTS) if name in own}


def image_reader(config: EncoderConfig, settings: Mapping[str, Any]) -> ImageReader:
    """The reader of these settings; what they leave out is as the encoder was trained."""
    half = (0.5,) * config.n_channels
    usual = {"mean": half, "std": half, "window": (), "resized": ()}
    given: dict[str, Any] = {name: settings[name] for name in PLAIN if name in settings}
    try:
        given |= {name: tuple(settings.get(name, value)) for name, value in usual.items()}
        return ImageReader(
            patch_size=config.patch_size,
            n_channels=config.n_channels,
            prefix=config.prefix,
            image_size=_whole_patches(settings.get("image_size", config.image_size), config),
            **given,
        )
    except ConfigError as fault:
        raise CheckpointError(f"The picture settings are not possible: {fault}") from fault
    except (TypeError, AttributeError) as fault:
        raise CheckpointError(
            f"The mean or std in the picture settings is not valid: {fault}."
        ) from fault


def _whole_patches(size: Any, config: EncoderConfig) -> tuple[int, int]:
    """Height and width, if patches of the model fill them."""
    sides = tuple(size)
    whole = all(type(n) is int and 0 < n <= MAX_EDGE and not n % config.patch_size for n in sides)
    if len(sides) != 2 or not whole:
        raise CheckpointError(
            f"The picture settings have an image_size of {shown(size)}; give height and width as "
            f"multiples of the patch size {config.patch_size}, up to {MAX_EDGE:,}."
        )
    return sides


def _pad_id(config: EncoderConfig, file: Json) -> int | None:
    pad_id = file.get("pad_token_id")
    if pad_id is None:
        return None
    if isinstance(pad_id, bool) or not isinstance(pad_id, int):
        raise CheckpointError(f"pad_token_id is {shown(pad_id)}; it must be a whole number.")
    if not 0 <= pad_id < config.vocab_size:
        raise CheckpointError(
            f"pad_token_id is {shown(pad_id)}; it must be an id of the vocabulary (0 to "
            f"{config.vocab_size - 1})."
        )
    return pad_id


def read_given(tokenizer: object = None, processor: object = None) -> GivenReaders:
    """The tokenizer and the picture settings of what was given.

    Args:
        tokenizer: a `tokenizers.Tokenizer`, a fast tokenizer of transformers, or what holds one.
        processor: an image processor of transformers, or what holds one.

    Raises:
        CheckpointError: neither of these.
    """
    held = None if tokenizer is None else _tokenizer(tokenizer)
    pad_id = None if tokenizer is None else _padding_named_by(tokenizer)
    return GivenReaders(held, pad_id, None if processor is None else _settings(processor))


def _tokenizer(given: object) -> Tokenizer:
    """A copy of it, for reading switches its padding and truncation off."""
    inner = getattr(given, "tokenizer", given)  # inside a processor
    inner = getattr(inner, "backend_tokenizer", inner)
    if not isinstance(inner, Tokenizer):
        raise CheckpointError(
            f"tokenizer is {type(given).__name__}, which holds no tokenizers.Tokenizer; give a "
            "fast tokenizer, such as AutoTokenizer.from_pretrained(...) returns."
        )
    try:
        return Tokenizer.from_str(inner.to_str())
    except Exception as fault:  # the tokenizers library raises bare Exception
        raise CheckpointError(
            f"The tokenizer cannot be copied: {str(fault)[:200].rstrip('.')}; parts of it that are "
            "written in Python cannot be read here."
        ) from fault


def _padding_named_by(given: object) -> int | None:
    inner = getattr(given, "tokenizer", given)
    if isinstance(inner, Tokenizer):
        padding = inner.padding
        return None if padding is None else padding["pad_id"]
    pad_id = getattr(inner, "pad_token_id", None)
    return pad_id if isinstance(pad_id, int) and not isinstance(pad_id, bool) else None


def _settings(given: object) -> Mapping[str, Any]:
    inner = getattr(given, "image_processor", given)
    write = getattr(inner, "to_json_string", None)
    try:
        content = json.loads(write()) if callable(write) else None
    except (TypeError, ValueError) as fault:
        raise CheckpointError(f"The picture settings cannot be read: {fault}.") from fault
    if not isinstance(content, Mapping):
        raise CheckpointError(
            f"processor is {type(given).__name__}; give an image processor, such as "
            "AutoImageProcessor.from_pretrained(...) returns."
        )
    return content
