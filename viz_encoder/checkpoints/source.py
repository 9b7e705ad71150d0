"""Source: where a checkpoint's parts come from; a folder and a model in memory load alike."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from torch import Tensor

from viz_encoder.arguments import Progress
from viz_encoder.checkpoints.family import Family, Json, Shapes
from viz_encoder.checkpoints.files import inside, read_json, read_tensors
from viz_encoder.checkpoints.readers import InputReading, folder_reading
from viz_encoder.checkpoints.sentence_transformers import read_declared
from viz_encoder.checkpoints.weights import AT_ONCE, own, weight_files
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError
from viz_encoder.model.declared import Declared

if TYPE_CHECKING:
    from viz_encoder.checkpoints.memory import InMemory

# What `plan` and `fill` read: names and shapes first, the tensors themselves last.
ModelSource: TypeAlias = "Folder | InMemory"
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
