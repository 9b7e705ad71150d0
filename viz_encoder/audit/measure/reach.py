"""reach: whom each token can know of after each layer, by the masks alone."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

Allowed = Bool[Tensor, "batch query key"]


def reach(mask: Tensor | Sequence[Tensor], n_layers: int | None = None) -> Tensor:
    """Bool "layer … query key": after layer l, whether the query can know of the key.

    One layer lets a token know of itself (the residual) and of whom it may attend to; the next lets
    it know of whom those know. So it is the closure (A ∪ I)ˡ, and a window of w keys reaches
    l · (w − 1) tokens far.

    Args:
        mask: "… query key", True = may attend, the same in all layers; or a list of them, one a
            layer, the first layer first.
        n_layers: how many layers; needed where one mask is given.
    """
    masks = [mask] * (n_layers or 1) if isinstance(mask, Tensor) else list(mask)
    itself = torch.eye(masks[0].shape[-1], device=masks[0].device)
    known, after = itself.expand(masks[0].shape), []
    for one in masks:
        step = ((one.to(itself.dtype) + itself) > 0).to(itself.dtype)
        known = (step @ known > 0).to(itself.dtype)
        after.append(known > 0)
    return torch.stack(after)


def may_know(layers: Sequence[Allowed], n_layers: int) -> Allowed:
    """Of whom a token may know after the last layer; a row with no key may attend anywhere.

    What such a row gives is settled by no mask: kernels give zeros, NaN or the mean of all.
    """
    empty = [~one.any(dim=-1, keepdim=True) for one in layers]
    loose = [one | none for one, none in zip(layers, empty, strict=True)]
    return reach(loose[0], n_layers)[-1] if len(loose) == 1 else reach(loose)[-1]


def must_know(layers: Sequence[Allowed], n_layers: int) -> Allowed:
    """Of whom a token is meant to know after the last layer."""
    return reach(layers[0], n_layers)[-1] if len(layers) == 1 else reach(list(layers))[-1]
