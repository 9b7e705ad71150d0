"""Each case's checkpoint as its own library writes it, made once, and what its reference says."""

import shutil
import tempfile
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import viz_encoder as vz
from tests.checkpoints.cases import CASES
from tests.checkpoints.parity import Asked, Case, ask, save
from viz_encoder.checkpoints import LoadedEncoder

NAMED = {case.name: case for case in CASES}
ROOT = tempfile.TemporaryDirectory(prefix="checkpoints")  # removed at the end


@dataclass(frozen=True)
class Saved:
    """A checkpoint that no test changes, and the reference in memory, run eagerly."""

    case: Case
    folder: Path
    reference: Any

    def copy(self, folder: Path) -> Path:
        """Its files in another folder, to be changed there."""
        return Path(shutil.copytree(self.folder, folder, dirs_exist_ok=True))

    def load(self, folder: Path) -> LoadedEncoder:
        """The encoder of a changed folder."""
        return vz.load(folder, device="cpu", part=self.case.part)

    @cached_property
    def encoder(self) -> LoadedEncoder:
        """The encoder of its own folder."""
        return self.load(self.folder)

    @cached_property
    def asked(self) -> list[Asked]:
        """Every input of the case, and what the reference says of it."""
        return ask(self.case, self.encoder, self.reference)


@cache
def saved(name: str) -> Saved:
    """The checkpoint of a case by its name."""
    folder = Path(tempfile.mkdtemp(dir=ROOT.name))
    return Saved(NAMED[name], folder, save(NAMED[name], folder))
