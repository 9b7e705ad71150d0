"""Source: where a checkpoint's parts come from; a folder and a model in memory load alike."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from viz_encoder.arguments import Progress
from viz_encoder.checkpoints.family import Family, Json, Shapes
from viz_encoder.checkpoints.files import inside, read_json, read_tensors
from viz_encoder.checkpoints.loaded import ModelCard
from viz_encoder.checkpoints.readers import (
    GivenReaders,
    InputReading,
    folder_reading,
    given_reading,
)
from viz_encoder.checkpoints.sentence_transformers import read_declared
from viz_encoder.checkpoints.weights import AT_ONCE, own, weight_files
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError
from viz_encoder.model.declared import Declared

MAX_BYTES = 100_000
# license: mit, or "mit", or a list whose first entry is on the next line.
STATED = re.compile(
    r"""^license:[ ]*(?:\n[ ]*-[ ]+)?["']?(\w[\w.\-]*)["']?[ ]*$""", re.MULTILINE | re.ASCII
)


def licence_of(folder: Path) -> str:
    """The README header's "license:" entry, or ""."""
    try:
        readme = inside(folder, "README.md")
        with readme.open(encoding="utf-8-sig", errors="replace") as file:
            text = file.read(MAX_BYTES)
    except (CheckpointError, OSError):  # no README, or one that is no file of this folder
        return ""
    header = re.match(r"---\n(.*?)\n---", text, re.DOTALL)
    stated = STATED.search(header[1]) if header else None
    return stated[1] if stated else ""


@dataclass(frozen=True)
class Folder:
    """A folder with config.json, safetensors and, as a rule, a tokenizer."""

    folder: Path

    def config(self) -> Json:
        """config.json."""
        return read_json(self.folder, "config.json")

    def shapes(self) -> Shapes:
        """The shape of every tensor by its name, from the headers alone."""
        files = weight_files(self.folder).values()
        return {name: shape for shapes in files for name, shape in shapes.items()}

    def tensors(self, wanted: Collection[str], tell: Progress) -> dict[str, Tensor]:
        """Copies of what the files hold, on the CPU, finite, floats as float32."""
        tensors: dict[str, Tensor] = {}
        wanted = set(wanted)
        for file, names in weight_files(self.folder).items():
            for name, tensor in read_tensors(self.folder, file, [n for n in names if n in wanted]):
                if len(tensors) % AT_ONCE == 0:
                    tell(len(tensors) / len(wanted))
                tensors[name] = own(tensor)
        return tensors

    def reading(self, config: EncoderConfig, file: Json, family: Family) -> InputReading:
        """How its inputs are made, by the tokenizer's or image processor's files."""
        return folder_reading(self.folder, config, file, family)

    def declared(self, d_model: int, most: int) -> Declared | None:
        """How sentence-transformers makes its vectors; see `read_declared`."""
        return read_declared(self.folder, d_model, most)

    def license(self) -> str:
        """The license that the README's header states; "" if none."""
        return licence_of(self.folder)


@dataclass(frozen=True, eq=False)
class InMemory:
    """A model's settings as config.json would have them, and its tensors, not yet copied."""

    file: Json
    named: Mapping[str, Tensor]
    given: GivenReaders
    card: ModelCard
    check: Callable[[EncoderConfig], None] = lambda config: None  # whether it was built so
    declares: Callable[[int, int], Declared | None] = lambda d_model, most: None
    runs: nn.Module | None = None  # the module our run is compared with
    pools: nn.Module | None = None  # a SentenceTransformer, which our vectors are compared with
    own_reader: bool = False  # whether it reads texts as we do

    @property
    def folder(self) -> Path | None:
        """There is none."""
        return None

    @property
    def device(self) -> torch.device:
        """Device of the weights; meta tensors are refused when copied."""
        where = next(iter(self.named.values())).device
        return torch.device("cpu") if where.type == "meta" else where

    def config(self) -> Json:
        """The config.json it would have."""
        return self.file

    def shapes(self) -> Shapes:
        """The shape of every tensor by its name."""
        return {name: tuple(tensor.shape) for name, tensor in self.named.items()}

    def tensors(self, wanted: Collection[str], tell: Progress) -> dict[str, Tensor]:
        """Copies, so that training the model later changes nothing here; what is tied stays so."""
        copies: dict[tuple[Any, ...], Tensor] = {}
        found: dict[str, Tensor] = {}
        for name in wanted:
            if len(found) % AT_ONCE == 0:
                tell(len(found) / len(wanted))
            tensor = self.named[name]
            place = tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype
            if place not in copies:
                copies[place] = _copy(name, tensor)
            found[name] = copies[place]
        return found

    def reading(self, config: EncoderConfig, file: Json, family: Family) -> InputReading:
        """Reader passed with the model; otherwise it takes ids or pixels."""
        self.check(config)
        return given_reading(self.given, config, file, family)

    def declared(self, d_model: int, most: int) -> Declared | None:
        """Vectors a SentenceTransformer declares."""
        return self.declares(d_model, most)

    def license(self) -> str:
        """No license is stated."""
        return ""


def _copy(name: str, tensor: Tensor) -> Tensor:
    """On the CPU, floats as float32, as from files."""
    if tensor.is_meta:
        raise CheckpointError(
            f"{name} holds no numbers (it is on the meta device, or offloaded); load the model "
            "whole, without device_map."
        )
    if type(tensor) not in (Tensor, nn.Parameter):
        raise CheckpointError(
            f"{name} is a {type(tensor).__name__}, which is sharded or quantized; load the model "
            "whole, in floating point."
        )
    kind = torch.float32 if tensor.is_floating_point() else tensor.dtype
    copied = tensor.detach().to("cpu", kind, copy=True)
    if not bool(torch.isfinite(copied).all()):
        raise CheckpointError(f"{name} holds NaN or infinite values.")
    return copied


# What `plan` and `fill` read: names and shapes first, the tensors themselves last.
ModelSource: TypeAlias = Folder | InMemory
