"""A ViT of timm in memory: what its config.json on the hub would say; timm is not imported."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from viz_encoder.config import EncoderConfig
from viz_encoder.errors import CheckpointError
from viz_encoder.model.activations import ACTIVATIONS

RECORD = "vz.record(model, …) watches it as it runs."
PROBE = (-4.0, 4.0, 81)


def is_of_timm(model: nn.Module) -> bool:
    """Whether it has an architecture's name, patches and blocks as timm's ViTs do."""
    said = _said(model)
    return isinstance(said.get("architecture"), str)


def timm_file(model: nn.Module) -> dict[str, Any]:
    """config.json, as timm writes it; what can be asked of the modules is not guessed."""
    said = _said(model)
    size = getattr(getattr(model, "patch_embed", None), "img_size", None)
    channels = said.get("input_size", (3,))[0]
    if isinstance(size, tuple) and len(size) == 2:
        said["input_size"] = (channels, *size)
    file = {
        "architecture": said["architecture"],
        "global_pool": getattr(model, "global_pool", said.get("global_pool")),
        "model_args": {"num_heads": _first(model, "attn", "num_heads")},
        "pretrained_cfg": said,
    }
    return dict(json.loads(json.dumps(file, default=str)))


def require_as_built(model: nn.Module) -> Callable[[EncoderConfig], None]:
    """Check settings that tensors do not show, activation and eps, against the modules."""

    def check(config: EncoderConfig) -> None:
        activation = _first(model, "mlp", "act")
        x = torch.linspace(*PROBE)
        if activation is not None:
            with torch.no_grad():
                theirs, ours = activation(x), ACTIVATIONS[config.activation](x)
            if not torch.allclose(theirs, ours, atol=1e-6):
                raise CheckpointError(
                    f"This model's activation is {type(activation).__name__}, but models of "
                    f"its architecture have {config.activation}; {RECORD}"
                )
        eps = _first(model, "norm1", "eps")
        if eps is not None and eps != config.norm_eps:
            raise CheckpointError(
                f"This model's norms have eps {eps:g}, but models of its architecture have "
                f"{config.norm_eps:g}; {RECORD}"
            )

    return check


def _said(model: nn.Module) -> dict[str, Any]:
    """Its pretrained_cfg, a dict or an object that becomes one."""
    said = getattr(model, "pretrained_cfg", None)
    to_dict = getattr(said, "to_dict", None)
    said = to_dict() if callable(to_dict) else said
    return dict(said) if isinstance(said, Mapping) else {}


def _first(model: nn.Module, *path: str) -> Any:
    """A part of the first block; None where it has none of that name."""
    found: Any = next(iter(getattr(model, "blocks", ())), None)
    for name in path:
        found = getattr(found, name, None)
    return found
