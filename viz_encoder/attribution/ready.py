"""Ready: whether a model answers alike each time, by functions that can be followed."""

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
    for each in model.modules():
        if isinstance(each, torch.jit.ScriptModule):
            raise SelectionError(
                f"{name} is TorchScript, whose functions cannot be followed; give the model from "
                "which it was made."
            )
        if _is_quantized(each):
            raise SelectionError(
                f"{name} has quantized weights (a {type(each).__name__}), through which no score "
                "can be split; give it as it was before, in floating point."
            )


def _is_quantized(module: nn.Module) -> bool:
    """By torch's own modules, or by what is held: integers, or tensors of torchao."""
    own = list(module.parameters(recurse=False))
    return (
        "quantized" in type(module).__module__.split(".")
        or "qweight" in dict(module.named_buffers(recurse=False))
        or any(not (x.is_floating_point() or x.is_complex()) for x in own)
        or any(type(x.data).__module__.startswith("torchao.") for x in own)
    )
