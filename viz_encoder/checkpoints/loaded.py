"""LoadedEncoder: an encoder ready to run, the reader of its inputs, and what to know of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from viz_encoder.arguments import known_kind, public
from viz_encoder.checkpoints.ready_made import is_ready_made, read_ready_made
from viz_encoder.checkpoints.valid import NO_PADDING, PaddingIds
from viz_encoder.config import Embedding, EncoderConfig, HeadConfig, Task
from viz_encoder.errors import InputError
from viz_encoder.inputs import ImageReader, Inputs, TextReader
from viz_encoder.model import Encoder
from viz_encoder.model.declared import Declared
from viz_encoder.model.pooling import declared_by
from viz_encoder.shown import OneLine, facts_html, one_line

WITHOUT_READER = {
    "text": "has no tokenizer: give token ids, such as torch.tensor([[101, 7592, 102]]), or load "
    "it with tokenizer=.",
    "image": "has no picture settings: give pixels (batch, channels, height, width), or load it "
    "with processor=.",
    "vector": "reads vectors: give a tensor (batch, token, d_model).",
}
KINDS = {Embedding.TOKEN: "text", Embedding.PATCH: "image", Embedding.VECTOR: "vector"}


@dataclass(frozen=True, repr=False)
class ModelCard(OneLine):
    """Facts about a loaded model for its user."""

    name: str
    source: str
    license: str = "not stated"
    family: str = ""
    n_parameters: int = 0
    revision: str = ""  # the commit of a model from the hub
    notes: tuple[str, ...] = ()  # what the checkpoint holds but was not loaded, one sentence each
    untrained: bool = False  # the weights are random, which the name says too


@dataclass(frozen=True, eq=False)
class LoadedEncoder:
    """An encoder, the reader of its inputs, and its card. Shared and never changed."""

    model: Encoder
    reader: TextReader | ImageReader | None
    card: ModelCard
    padding: PaddingIds = NO_PADDING
    declared: Declared | None = None  # how sentence-transformers makes its vectors, if files say it

    def __repr__(self) -> str:
        """One line: the name, the kind of input, and the sizes."""
        family = f"{self.card.family}, " if self.card.family else ""
        reads = "token ids" if self.kind == "text" and self.reader is None else f"{self.kind}s"
        what = f"{family}reads {reads}, {self.model.size}"
        return one_line(f"<LoadedEncoder {self.card.name[:60]}: {what}>")

    def _repr_html_(self) -> str:
        """A small HTML table for notebooks."""
        card = self.card
        facts = {
            "Family": card.family,
            "Reads": f"{self.kind}s",
            "Size": self.model.size,
            "Prediction heads": ", ".join(str(head.task) for head in self.config.prediction_heads),
            "From": f"{card.source} {card.revision}".strip(),
            "License": card.license,
            "Notes": " ".join(card.notes),
        }
        return facts_html(card.name, facts)

    @property
    def config(self) -> EncoderConfig:
        """The encoder's axes."""
        return self.model.config

    @property
    def kind(self) -> str:
        """Kind of input: "text", "image" or "vector"."""
        return KINDS[self.config.embedding]

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """The type of the weights."""
        return next(self.model.parameters()).dtype

    def to(self, device: torch.device, dtype: torch.dtype) -> "LoadedEncoder":
        """This encoder, its weights moved there."""
        self.model.to(device=device, dtype=dtype)
        return self

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write a folder that `load`, the page and the command open again, bit for bit the same.

        It holds config.json, model.safetensors and, if the encoder reads texts, tokenizer.json.
        An untrained encoder stays marked as such; after training it, save `vz.load(encoder.model)`.

        Args:
            folder: a new or empty folder.
            overwrite: replace an encoder that was saved there.

        Raises:
            CheckpointError: the folder holds something else, or cannot be written.
        """
        raise NotImplementedError  # done by own_folder, as viz_encoder/__init__.py says

    def output_name(self, head: HeadConfig, number: int) -> str:
        """Name of one output of a head: a label, a word, or its index."""
        if head.labels:
            return head.labels[number]
        if head.task is Task.REPLACED:
            return "replaced"
        if head.task is Task.MASKED and isinstance(self.reader, TextReader):
            return self.reader.tokenizer.id_to_token(number) or str(number)
        return str(number)

    @public
    def read(
        self,
        source: Any,
        *,
        valid: Any = None,
        prompt: str | None = None,
        declared: bool = False,
    ) -> Inputs:
        r"""Convert a text, a pair, an image, a tensor or a list of them to encoder inputs.

        Args:
            source: what is read; see `capture`. Inputs are returned as they are.
            valid: which tokens of a ready-made tensor are real; see `capture`.
            prompt: the name of one of `declared.prompts`, whose text goes before each text.
            declared: read texts as sentence-transformers does: cut at `declared.max_tokens`, and
                after the model's default prompt if no other is named. (A padding token that was
                typed is padding here; there it is a word, which is written \[PAD] here.)

        Raises:
            InputError: a source that this encoder cannot read.
            SelectionError: no such prompt, or a model that declares nothing.
        """
        if isinstance(source, Inputs):
            return source
        if is_ready_made(source, self.config):
            return read_ready_made(source, valid, self.config, self.padding, self.reader)
        if valid is not None:
            raise InputError(
                "valid marks the real tokens of ids, pixels or vectors; leave it out for a text or "
                "picture."
            )
        if self.reader is None:
            raise InputError(f"{self.card.name} {WITHOUT_READER[self.kind]}")
        if prompt is None and not declared:
            return self.reader.read(source)
        said = declared_by(self)
        assert isinstance(self.reader, TextReader)  # no other model declares anything
        most = said.max_tokens if declared else None
        return self.reader.read(source, prompt=said.prompt(prompt), max_tokens=most)


def as_loaded(given: object) -> LoadedEncoder | None:
    """A loaded encoder; one of ours that is not loaded takes ids or tensors, its weights as is.

    None for anything else.
    """
    if isinstance(given, Encoder):
        return LoadedEncoder(given, None, ModelCard("Encoder", "in memory"))
    return given if isinstance(given, LoadedEncoder) else None


def _wanted(given: object) -> str:
    """Describe the accepted type to someone who passed another model."""
    if isinstance(given, nn.Module):
        return "what vz.load(model) returns; vz.record and vz.ablate take any other model"
    return "what vz.load returns"


known_kind(LoadedEncoder, _wanted, as_loaded)
