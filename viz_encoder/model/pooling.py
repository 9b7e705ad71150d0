"""Pooling: from one vector a token to one vector an input; padding never takes part."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from viz_encoder.errors import InputError, SelectionError

Hidden = Float[Tensor, "batch token d_model"]
Valid = Bool[Tensor, "batch token"]
Pooled = Float[Tensor, "batch d_model"]


def cls(hidden: Hidden, valid: Valid) -> Pooled:
    """The first valid token, which is [CLS] in BERT-like models (with left padding too)."""
    first = valid.int().argmax(dim=1)
    return hidden[torch.arange(len(hidden), device=hidden.device), first]


def mean(hidden: Hidden, valid: Valid) -> Pooled:
    """The mean over the valid tokens."""
    kept = torch.where(valid[:, :, None], hidden, 0)
    return kept.sum(dim=1) / valid.sum(dim=1, keepdim=True)


def maximum(hidden: Hidden, valid: Valid) -> Pooled:
    """The largest value of each dimension over the valid tokens."""
    return torch.where(valid[:, :, None], hidden, -torch.inf).amax(dim=1)


METHODS: dict[str, Callable[[Hidden, Valid], Pooled]] = {"cls": cls, "mean": mean, "max": maximum}


def pool(
    hidden: Float[Tensor, "*batch token d_model"],
    mask: Shaped[Tensor, "*axes"],
    method: str = "mean",
) -> Float[Tensor, "*batch d_model"]:
    """One vector for each sequence, over the tokens where mask is True (= a real token).

    Args:
        hidden: hidden states, with a batch axis or without.
        mask: bool, True = a real token, False = padding.
        method: "cls", "mean" or "max".

    Raises:
        SelectionError: no such method.
        InputError: the mask does not fit, or a sequence is all padding.
    """
    if method not in METHODS:
        raise SelectionError(f"There is no pooling {method!r}; choose one of {', '.join(METHODS)}.")
    if mask.dtype != torch.bool or mask.shape != hidden.shape[:-1]:
        raise InputError(
            f"The mask is {mask.dtype} of shape {tuple(mask.shape)}; pooling needs torch.bool of "
            f"shape {tuple(hidden.shape[:-1])}, True = a real token."
        )
    if not bool(mask.any(dim=-1).all()):
        raise InputError("A sequence is all padding, so there is nothing to pool. Leave it out.")
    pooled = METHODS[method](hidden[None].flatten(0, -3), mask[None].flatten(0, -2))
    return pooled.reshape(*hidden.shape[:-2], hidden.shape[-1])
