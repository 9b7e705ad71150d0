"""What a fault must be, files to spoil, and models of which each is built once."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import save
from torch import Tensor

import viz_encoder as vz
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError
from viz_encoder.model import Encoder


def a_sentence(fault: Exception) -> bool:
    """Printable, whole and short."""
    text = str(fault)
    plain = text.isprintable() and "Traceback (" not in text
    return plain and text.endswith((".", "?")) and len(text) < 800


def refuse(given: object, kind: type = CheckpointError, **options: object) -> str:
    """What vz.load says of what it does not load."""
    with pytest.raises(kind) as fault:
        vz.load(given, device="cpu", **options)
    assert a_sentence(fault.value)
    return str(fault.value)


def write(tensors: Mapping[str, Tensor], path: Path) -> None:
    """A file of tensors on the CPU, as safetensors.torch writes it, in a fifth of the time."""
    path.unlink(missing_ok=True)  # what was loaded from it may still be mapped to memory
    path.write_bytes(save({name: tensor.numpy() for name, tensor in tensors.items()}))


def write_own(folder: Path, axes: Mapping[str, Any], **about: object) -> Path:
    """A folder of our own family with random weights, to be spoiled or completed."""
    folder.mkdir(parents=True, exist_ok=True)
    file = {"model_type": "viz_encoder", "encoder": axes, **about}
    (folder / "config.json").write_text(json.dumps(file))
    config = EncoderConfig.from_axes(axes)
    write(Encoder(config).state_dict(), folder / "model.safetensors")
    return folder


def built_once(build: Callable[[EncoderConfig], Encoder]) -> Callable[[EncoderConfig], Encoder]:
    """The same, but a model that was built and not filled serves the next of its config, too."""
    kept = lru_cache(maxsize=8)(build)

    def build_or_reuse(config: EncoderConfig) -> Encoder:
        model = kept(config)
        if all(weight.is_meta for weight in model.state_dict().values()):
            return model
        kept.cache_clear()
        return kept(config)

    return build_or_reuse
