"""Saving: an encoder as a folder of our own, config.json and safetensors, written whole or not."""

import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from viz_encoder.config import EncoderConfig
from viz_encoder.config.head import probe_stems
from viz_encoder.errors import CheckpointError

MODEL_TYPE = "viz_encoder"
CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
# Files allowed in a folder to be overwritten; the last four are from sentence-transformers.
OURS = re.compile(
    r"config\.json|model\.safetensors|tokenizer\.json|modules\.json|sentence_bert_config\.json|"
    r"config_sentence_transformers\.json|\d+_(Pooling|Dense|LayerNorm|Normalize)"
)
DECODER, WORDS = "heads.masked.out.weight", "embed.tokens.word.weight"
ALL = "layers.all."
Extra = Callable[[Path], None]


def own_file(config: EncoderConfig, **more: Any) -> dict[str, Any]:
    """The config.json of such an encoder; `more` is added to its axes."""
    return {"model_type": MODEL_TYPE, **more, "encoder": asdict(config)}


def own_tensors(state: Mapping[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    """The state dict on the CPU, what is shared written once: loading shares it again.

    Raises:
        CheckpointError: a weight that is NaN or infinite, which no folder may hold.
    """
    tensors = {name: tensor.detach().cpu() for name, tensor in state.items()}
    for name, tensor in tensors.items():
        if not bool(torch.isfinite(tensor).all()):
            raise CheckpointError(
                f"{name} holds NaN or infinite values, so it could not be loaded again."
            )
    if _same(tensors.get(DECODER), tensors.get(WORDS)):
        del tensors[DECODER]
    tensors = _layers_once(_probe_once(tensors, config), config.n_layers)
    # A copy of each: safetensors refuses tensors that share memory.
    return {
        name: tensor.clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }


def _layers_once(tensors: dict[str, Tensor], n_layers: int) -> dict[str, Tensor]:
    """Store one layer if all are equal (ALBERT)."""
    first = {name: tensor for name, tensor in tensors.items() if name.startswith("layers.0.")}
    parts = {name.removeprefix("layers.0."): tensor for name, tensor in first.items()}
    alike = n_layers > 1 and all(
        _same(tensor, tensors.get(f"layers.{number}.{part}"))
        for number in range(1, n_layers)
        for part, tensor in parts.items()
    )
    if not alike:
        return tensors
    others = {name: t for name, t in tensors.items() if not name.startswith("layers.")}
    return others | {ALL + part: tensor for part, tensor in parts.items()}


def _probe_once(tensors: dict[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    """Store one attention pooling if two heads share it (SigLIP with a classifier)."""
    stems = probe_stems(config.prediction_heads)
    for twin in stems[1:]:
        stem = stems[0]
        parts = [name.removeprefix(stem) for name in tensors if name.startswith(stem)]
        if all(_same(tensors[stem + part], tensors[twin + part]) for part in parts):
            tensors = {name: t for name, t in tensors.items() if not name.startswith(twin)}
    return tensors


def _same(a: Tensor | None, b: Tensor | None) -> bool:
    return a is not None and b is not None and a.shape == b.shape and torch.equal(a, b)


def write_folder(
    folder: Any,
    file: Mapping[str, Any],
    tensors: dict[str, Tensor],
    *,
    extra: Extra | None = None,
    overwrite: bool = False,
) -> None:
    """Write config.json, model.safetensors and what `extra` puts beside them, all or nothing.

    Raises:
        CheckpointError: the folder holds something, unless `overwrite` is given and all of it is
            of this package; or it cannot be written.
    """
    target = _target(folder, overwrite)
    beside = target.parent / f".{target.name[:40]}.{secrets.token_hex(4)}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside.mkdir()  # as the umask has it
        text = json.dumps(file, indent=2, ensure_ascii=False, allow_nan=False)
        (beside / CONFIG).write_text(text + "\n", encoding="utf-8")
        save_file(tensors, beside / WEIGHTS)
        shutil.copymode(beside / CONFIG, beside / WEIGHTS)  # safetensors writes private files
        if extra is not None:
            extra(beside)
        _replace(target, beside)
    except CheckpointError:
        raise
    except Exception as fault:  # a full disk is another kind of fault in safetensors
        raise CheckpointError(f"{target} cannot be written: {_words(fault)}.") from fault
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _target(folder: Any, overwrite: bool) -> Path:
    if not str(folder):
        raise CheckpointError("folder is empty; give the name of a folder, such as my-encoder.")
    try:
        target = Path(folder).expanduser().resolve()
        if not target.exists():
            return target
        found = sorted(entry.name for entry in target.iterdir())
        if not found or (overwrite and _is_ours(target, found)):
            return target
    except (OSError, TypeError, ValueError, RuntimeError) as fault:
        raise CheckpointError(
            f"{str(folder)[:80]!r} is not a folder that can be written to: {_words(fault)}."
        ) from fault
    if overwrite:
        raise CheckpointError(
            f"{target} holds {', '.join(found)[:80]}, which is not just an encoder saved by "
            "this package; choose another folder."
        )
    raise CheckpointError(
        f"{target} is not empty; choose another folder, or give overwrite=True to replace an "
        "encoder that was saved there."
    )


def _is_ours(folder: Path, found: list[str]) -> bool:
    """Whether there is nothing but an encoder that was saved here."""
    if CONFIG not in found or not all(map(OURS.fullmatch, found)):
        return False
    inner = (entry.name for part in folder.iterdir() if part.is_dir() for entry in part.iterdir())
    if not {CONFIG, WEIGHTS}.issuperset(inner):
        return False
    try:
        file = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except ValueError:
        return False
    return isinstance(file, dict) and file.get("model_type") == MODEL_TYPE


def _replace(target: Path, new: Path) -> None:
    """Put the new folder in its place; the former one comes back where that fails."""
    if not target.exists():
        new.rename(target)
        return
    if not any(target.iterdir()):  # which may be somebody's working folder
        for entry in new.iterdir():
            entry.rename(target / entry.name)
        return
    former = target.parent / f".{target.name[:40]}.{secrets.token_hex(4)}"
    target.rename(former)
    try:
        new.rename(target)
    except OSError:
        former.rename(target)
        raise
    shutil.rmtree(former, ignore_errors=True)


def _words(fault: Exception) -> str:
    said = os.strerror(fault.errno) if isinstance(fault, OSError) and fault.errno else str(fault)
    return said[:200].rstrip(".")
