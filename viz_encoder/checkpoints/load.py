"""load: from a built-in name or a folder to an encoder with the reader of its inputs."""

from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown  # cut short: it may be a stranger's, of any length
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from viz_encoder.checkpoints.builtin import BUILTIN
from viz_encoder.checkpoints.families import FAMILIES
from viz_encoder.checkpoints.family import Family, Json
from viz_encoder.checkpoints.files import inside, read_json, read_tensors
from viz_encoder.checkpoints.rename import as_float32, rename, require_match
from viz_encoder.config import Embedding, EncoderConfig
from viz_encoder.errors import (
    CheckpointError,
    ConfigError,
    InputError,
    KeyMismatch,
    UnknownFamily,
    UnsafeFile,
)
from viz_encoder.inputs import ImageReader, Inputs, Sample, TextReader
from viz_encoder.model import Encoder


@dataclass(frozen=True)
class ModelCard:
    """What a person should know of a loaded model."""

    name: str
    source: str
    license: str = "not stated"
    family: str = ""
    n_parameters: int = 0


@dataclass(frozen=True, eq=False)
class LoadedEncoder:
    """An encoder, the reader of its inputs, and its card. Shared and never changed."""

    model: Encoder
    reader: TextReader | ImageReader | None
    card: ModelCard

    @property
    def config(self) -> EncoderConfig:
        """The encoder's axes."""
        return self.model.config

    @property
    def kind(self) -> str:
        """What it reads: "text", "image" or "vector"."""
        kinds = {Embedding.TOKEN: "text", Embedding.PATCH: "image", Embedding.VECTOR: "vector"}
        return kinds[self.config.embedding]

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """The type of the weights."""
        return next(self.model.parameters()).dtype

    def read(self, source: Any) -> Inputs:
        """What the encoder takes, from a text, a pair, a picture, a tensor or a list of them."""
        if isinstance(source, Tensor):
            return _ready_made(source, self.config)
        if self.reader is None:
            raise InputError(f"{self.card.name} has no tokenizer; give it a tensor.")
        return self.reader.read(source)


def load(
    name: str | Path, *, device: str = "auto", dtype: torch.dtype | None = None
) -> LoadedEncoder:
    """Load a built-in model by name, or a folder with config.json and model.safetensors.

    Args:
        name: a built-in name ("all-MiniLM-L6-v2", "scene") or the path of a folder.
        device: "auto" (CUDA, else MPS, else CPU) or any torch device.
        dtype: the type to compute in; float32 where not given.

    Raises:
        CheckpointError: no such model, or files that cannot be trusted or do not fit together.
    """
    where = choose_device(device)
    if str(name) in BUILTIN:
        entry = BUILTIN[str(name)]
        encoder = _load_folder(entry.folder(), str(name), entry.source, entry.license)
    else:
        folder = _folder(name)
        encoder = _load_folder(folder, folder.name, str(folder))
    encoder.model.to(device=where, dtype=dtype or torch.float32)
    return encoder


def _folder(name: str | Path) -> Path:
    try:
        folder = Path(name).expanduser()
        if str(name) and folder.is_dir():
            return folder
    # No path at all, one too long or with a NUL, or an unknown ~user.
    except (OSError, TypeError, ValueError, RuntimeError):
        pass
    raise CheckpointError(
        f"There is no built-in model and no folder {str(name)[:80]!r}; built in are "
        f"{', '.join(BUILTIN)}."
    )


def choose_device(device: str = "auto") -> torch.device:
    """The device of that name; for "auto" the fastest that is there."""
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as fault:
        raise CheckpointError(
            f"The device {device!r} cannot be used here ({fault}). Use 'auto' or 'cpu'."
        ) from fault
    return chosen


def _load_folder(folder: Path, name: str, source: str, license: str = "") -> LoadedEncoder:
    file = read_json(folder, "config.json")
    family = _family(file)
    full = {**family.defaults, **file}
    config = _config(family, full)
    model = _fill(config, read_tensors(folder), family)
    card = ModelCard(
        name=name,
        source=source,
        license=license or str(file.get("license", "not stated")),
        family=family.model_types[0],
        n_parameters=sum(p.numel() for p in model.parameters()),
    )
    return LoadedEncoder(model.eval(), _reader(folder, config, full), card)


def _family(file: Json) -> Family:
    if "auto_map" in file:
        raise UnsafeFile("config.json asks to run code of its own (auto_map); that is never done.")
    model_type = file.get("model_type")
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        raise UnknownFamily(
            f"config.json says model_type {shown(model_type)}; we load "
            f"{', '.join(sorted(FAMILIES))}."
        )
    return FAMILIES[model_type]


def _config(family: Family, file: Json) -> EncoderConfig:
    try:
        return family.config(file)
    except ConfigError as fault:
        raise CheckpointError(f"config.json describes no possible encoder: {fault}") from fault
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise CheckpointError(f"config.json lacks or garbles a setting: {fault}.") from fault


def _fill(config: EncoderConfig, tensors: dict[str, Tensor], family: Family) -> Encoder:
    """Build without memory on torch's meta device, check every key, then put the tensors in."""
    if config.n_layers > len(tensors):  # before time is spent on building them
        raise KeyMismatch(
            f"config.json promises {config.n_layers:,} layers, but model.safetensors holds only "
            f"{len(tensors):,} tensors. Check that the two belong together."
        )
    with torch.device("meta"):
        model = Encoder(config)
    renamed = rename(tensors, family)
    if family.adapt is not None:
        renamed = family.adapt(renamed, config)
    require_match(renamed, model.state_dict())
    model.load_state_dict(as_float32(renamed), strict=True, assign=True)
    return model


def _reader(folder: Path, config: EncoderConfig, file: Json) -> TextReader | ImageReader | None:
    if config.embedding is Embedding.PATCH:
        return _image_reader(config, file.get("image", {}))
    if config.embedding is Embedding.TOKEN:
        return TextReader(_tokenizer(folder), config.max_positions, _pad_id(config, file))
    return None


def _image_reader(config: EncoderConfig, image: Any) -> ImageReader:
    try:
        return ImageReader(
            image_size=config.image_size,
            patch_size=config.patch_size,
            n_channels=config.n_channels,
            prefix=config.prefix,
            mean=tuple(image.get("mean", (0.5,) * config.n_channels)),
            std=tuple(image.get("std", (0.5,) * config.n_channels)),
        )
    except ConfigError as fault:
        raise CheckpointError(f"config.json describes no possible picture: {fault}") from fault
    except (TypeError, AttributeError) as fault:
        raise CheckpointError(f"config.json garbles image, mean or std: {fault}.") from fault


def _pad_id(config: EncoderConfig, file: Json) -> int:
    pad_id = file["pad_token_id"]
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


def _tokenizer(folder: Path) -> Tokenizer:
    path = inside(folder, "tokenizer.json")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as fault:  # the tokenizers library raises bare Exception
        raise CheckpointError(f"tokenizer.json cannot be read: {fault}.") from fault


def _ready_made(values: Tensor, config: EncoderConfig) -> Inputs:
    """A tensor in the model's own form, its tokens named by their numbers."""
    values = _checked(values, config)
    n_tokens = values.shape[1]
    if config.embedding is Embedding.PATCH:
        side = config.patch_size
        n_tokens = len(config.prefix) + (values.shape[-2] // side) * (values.shape[-1] // side)
    names = tuple(map(str, range(n_tokens)))
    sample = Sample(tokens=names, special=(False,) * n_tokens)
    valid = torch.ones(len(values), n_tokens, dtype=torch.bool)
    return Inputs(values, valid, (sample,) * len(values))


def _checked(values: Tensor, config: EncoderConfig) -> Tensor:
    """The tensor, if it has the axes and the type that this encoder takes."""
    ids = config.embedding is Embedding.TOKEN
    axes = {
        Embedding.TOKEN: "(batch, token)",
        Embedding.PATCH: f"(batch, {config.n_channels} channels, height, width)",
        Embedding.VECTOR: f"(batch, token, {config.d_model})",
    }[config.embedding]
    shape = tuple(values.shape)
    fits = {
        Embedding.TOKEN: len(shape) == 2,
        Embedding.PATCH: len(shape) == 4 and shape[1] == config.n_channels,
        Embedding.VECTOR: len(shape) == 3 and shape[-1] == config.d_model,
    }[config.embedding]
    if not fits or not values.numel():
        raise InputError(f"The tensor has shape {shape}; this model takes {axes}, none of them 0.")
    if ids and (values.is_floating_point() or values.is_complex() or values.dtype == torch.bool):
        raise InputError(f"The tensor is {values.dtype}; token ids must be whole numbers.")
    if ids:
        return values.long()
    if not values.is_floating_point():
        raise InputError(f"The tensor is {values.dtype}; this model takes floating point.")
    if not bool(torch.isfinite(values).all()):
        raise InputError("The tensor holds NaN or infinite values; replace them first.")
    return values
