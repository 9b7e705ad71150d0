"""LoadedEncoder: an encoder ready to run, the reader of its inputs, and what to know of it."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from viz_encoder.config import Embedding, EncoderConfig, HeadConfig, Task
from viz_encoder.errors import InputError
from viz_encoder.inputs import ImageReader, Inputs, Sample, TextReader
from viz_encoder.model import Encoder

KINDS = {Embedding.TOKEN: "text", Embedding.PATCH: "image", Embedding.VECTOR: "vector"}


@dataclass(frozen=True)
class ModelCard:
    """What a person should know of a loaded model."""

    name: str
    source: str
    license: str = "not stated"
    family: str = ""
    n_parameters: int = 0
    revision: str = ""  # the commit of a model from the hub


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
        return KINDS[self.config.embedding]

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """The type of the weights."""
        return next(self.model.parameters()).dtype

    def to(self, device: torch.device, dtype: torch.dtype) -> "LoadedEncoder":
        """This encoder, its weights moved there."""
        self.model.to(device=device, dtype=dtype)
        return self

    def output_name(self, head: HeadConfig, number: int) -> str:
        """What one output of a head stands for: a label, a word, or its number."""
        if head.labels:
            return head.labels[number]
        if head.task is Task.REPLACED:
            return "replaced"
        if head.task is Task.MASKED and isinstance(self.reader, TextReader):
            return self.reader.tokenizer.id_to_token(number) or str(number)
        return str(number)

    def read(self, source: Any) -> Inputs:
        """What the encoder takes, from a text, a pair, a picture, a tensor or a list of them."""
        if isinstance(source, Tensor):
            return _ready_made(source, self.config)
        if self.reader is None:
            raise InputError(f"{self.card.name} has no tokenizer; give it a tensor.")
        return self.reader.read(source)


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
