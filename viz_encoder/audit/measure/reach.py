"""reach: whom each token can know of after each layer, or after the last, by the masks alone."""

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
    """Tokens that may influence a token after the last layer; a row with no key may attend
    anywhere.

    What such a row gives is settled by no mask: kernels give zeros, NaN or the mean of all.
    """
    empty = [~one.any(dim=-1, keepdim=True) for one in layers]
    return _after_all([one | none for one, none in zip(layers, empty, strict=True)], n_layers)


def must_know(layers: Sequence[Allowed], n_layers: int) -> Allowed:
    """Tokens meant to influence a token after the last layer."""
    return _after_all(list(layers), n_layers)


def _after_all(layers: list[Allowed], n_layers: int) -> Allowed:
    """The last of `reach`, sample by sample, without the steps between."""
    found: list[Tensor] = []
    for sample in range(len(layers[0])):
        masks = [one[sample] for one in layers]
        same = sample > 0 and all(torch.equal(one[sample - 1], one[sample]) for one in layers)
        found.append(
            found[-1] if same else reach_after(masks * (n_layers if len(masks) == 1 else 1))
        )
    return torch.stack(found)


def reach_after(masks: Sequence[Bool[Tensor, "query key"]]) -> Bool[Tensor, "query key"]:
    """The last of `reach`, the product of all A ∪ I, without the steps between.

    If all masks are equal, the first is squared until it grows no more.
    """
    itself = torch.eye(masks[0].shape[-1], dtype=torch.bool, device=masks[0].device)
    if any(one is not masks[0] and not torch.equal(one, masks[0]) for one in masks):
        known: Tensor = (masks[0] | itself).float()
        for one in masks[1:]:
            known = _then((one | itself).float(), known)
        return known > 0
    found: Tensor | None = None
    power, left = (masks[0] | itself).float(), len(masks)
    while left:
        if left & 1:
            found = power if found is None else _then(power, found)
        left >>= 1
        if left:
            twice = _then(power, power)
            if torch.equal(twice, power):  # closed: however many more there are, it is the same
                return power > 0
            power = twice
    assert found is not None
    return found > 0


def _then(step: Tensor, known: Tensor) -> Tensor:
    return (step @ known > 0).float()


def pattern_in(allowed: Allowed, valid: Bool[Tensor, "batch token"]) -> Allowed:
    """The one pattern that all samples have, each cut to its real keys; else what is meant itself.

    A pair that is real in no sample is as others of the same distance are, or of the nearest one.
    """
    both = valid[:, :, None] & valid[:, None, :]
    known, opened = both.any(dim=0), (allowed & both).any(dim=0)
    found = torch.where(known, opened, _by_distance(known, opened))
    rows = valid & allowed.any(dim=-1)
    if not torch.equal((found & valid[:, None, :])[rows], allowed[rows]):
        return allowed
    return found.expand_as(allowed)


def _by_distance(known: Tensor, opened: Tensor) -> Bool[Tensor, "query key"]:
    """For each pair whether all known ones that are as far apart are open."""
    n_tokens = len(known)
    ahead = [_at(known, opened, step) for step in range(n_tokens)]
    back = [_at(known, opened, -step) for step in range(n_tokens)]
    found = torch.zeros_like(known)
    for sign, steps in ((1, ahead), (-1, back)):
        last = False
        for step, value in enumerate(steps):
            last = last if value is None else value
            found.diagonal(sign * step).fill_(last)
    return found


def _at(known: Tensor, opened: Tensor, step: int) -> bool | None:
    seen = known.diagonal(step)
    return bool(opened.diagonal(step)[seen].all()) if bool(seen.any()) else None
