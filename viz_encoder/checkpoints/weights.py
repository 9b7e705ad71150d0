"""The tensors of a checkpoint: one safetensors file, or several with an index."""

import re
from pathlib import Path
from reprlib import repr as shown

import torch
from torch import Tensor

from viz_encoder.checkpoints.files import MAX_TENSORS, inside, read_header, read_json
from viz_encoder.errors import CheckpointError, UnsafeFile

WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
MAX_SHARDS = 200
SHARD = re.compile(r"\w[\w.\-]{0,200}\.safetensors", re.ASCII)
AT_ONCE = 16  # tensors between two reports


def weight_files(folder: Path) -> dict[str, dict[str, tuple[int, ...]]]:
    """Each file with the names and shapes of its tensors, read from the headers alone.

    Raises:
        CheckpointError: no weights, or an index that does not agree with its files.
        UnsafeFile: a header over the limit, a name given twice, or too many files.
    """
    if not (folder / INDEX).exists() or (folder / WHOLE).exists():
        return {WHOLE: read_header(inside(folder, WHOLE))}
    listed = read_json(folder, INDEX).get("weight_map")
    if not isinstance(listed, dict) or not all(isinstance(name, str) for name in listed.values()):
        raise CheckpointError(f"{INDEX} has no weight_map that names a file for each tensor.")
    if len(listed) > MAX_TENSORS:
        raise UnsafeFile(f"{INDEX} lists {len(listed):,} tensors; the limit is {MAX_TENSORS:,}.")
    shards = sorted(set(listed.values()))
    if len(shards) > MAX_SHARDS:
        raise UnsafeFile(f"{INDEX} names {len(shards):,} files; the limit is {MAX_SHARDS}.")
    found = {shard: read_header(_shard(folder, shard)) for shard in shards}
    there = {name: shard for shard, names in found.items() for name in names}
    if sum(map(len, found.values())) != len(there):
        raise UnsafeFile(f"A tensor is in two of the files that {INDEX} names; save it again.")
    if there != listed:
        odd = sorted(set(there.items()) ^ set(listed.items()))[0]
        raise CheckpointError(f"{INDEX} and its files disagree about {shown(odd[0])}.")
    return found


def silent(share: float) -> None:
    """Ignore progress."""


def own(tensor: Tensor) -> Tensor:
    """A copy, floats as float32: so a CPU computes as the reference does.

    What safetensors gives is the file itself, which may be written over at any time. A model
    whose file is cut short while it is loaded would end the process (SIGBUS).
    """
    return tensor.to(torch.float32 if tensor.is_floating_point() else tensor.dtype, copy=True)


def _shard(folder: Path, name: str) -> Path:
    if not SHARD.fullmatch(name):
        raise UnsafeFile(f"{INDEX} names {shown(name)}; a part must be a .safetensors file here.")
    return inside(folder, name)
