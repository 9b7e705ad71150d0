"""Ready: whether a model answers alike each time, by functions that can be followed."""

from collections.abc import Collection

import torch
from torch import nn

from viz_encoder.errors import SelectionError


def require_ready(model: nn.Module, name: str, itself: str = "model") -> None:
    """Raise unless a score of the model can be split.

    Args:
        model: what will run.
        name: what it is called.
        itself: how its own code says it.

    Raises:
        SelectionError: it is in training mode, quantized, or TorchScript.
    """
    if model.training:
        raise SelectionError(
            f"{name} is in training mode, where dropout changes its answers; call "
            f"{itself}.eval() first."
        )
    modules = list(model.modules())
    kinds = set(map(type, modules))
    if any(issubclass(kind, torch.jit.ScriptModule) for kind in kinds):
        raise SelectionError(
            f"{name} is TorchScript, whose functions cannot be followed; give the model from which "
            "it was made."
        )
    if _is_quantized(modules, kinds):
        raise SelectionError(
            f"{name} has quantized weights, through which no score can be split; give it as it was "
            "before, in floating point."
        )


def _is_quantized(modules: Collection[nn.Module], kinds: Collection[type]) -> bool:
    """By torch's own modules, or by what is held: integers, or tensors of torchao."""
    # Its own dicts, for parameters() takes as long as a block does on a few tokens.
    own = [vars(each) for each in modules]
    weights = [x for each in own for x in each["_parameters"].values() if x is not None]
    return (
        any("quantized" in kind.__module__.split(".") for kind in kinds)
        or any(not (x.is_floating_point() or x.is_complex()) for x in weights)
        or any(kind.__module__.startswith("torchao.") for kind in {type(x.data) for x in weights})
        or any("qweight" in each["_buffers"] for each in own)
    )
