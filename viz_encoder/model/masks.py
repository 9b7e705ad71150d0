"""Attention masks: one bool sense (True = may attend), and a converter for each other convention.

Masks broadcast to "batch head query key" and combine with `&`. Inside the package nothing else is
used; a mask that means something else is converted here, by the name of what it means.
"""

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from viz_encoder.errors import InputError

Mask = Bool[Tensor, "#batch #head #query #key"]
Valid = Bool[Tensor, "batch token"]  # True = a real token, not padding


def padding(valid: Bool[Tensor, "batch token"]) -> Mask:
    """Every query may attend to the valid tokens only."""
    return valid[:, None, None, :]


def causal(n_tokens: int, device: torch.device | None = None) -> Mask:
    """Token i may attend to tokens 0 … i."""
    return torch.ones(n_tokens, n_tokens, dtype=torch.bool, device=device).tril()[None, None]


def sliding_window(n_tokens: int, reach: int, device: torch.device | None = None) -> Mask:
    """Token i may attend to tokens i − reach … i + reach, itself included."""
    position = torch.arange(n_tokens, device=device)
    reach = min(reach, n_tokens)  # a larger one means the same and may overflow
    return ((position[:, None] - position[None, :]).abs() <= reach)[None, None]


def custom(allowed: Shaped[Tensor, "*axes"]) -> Mask:
    """A mask written out: "query key", "batch query key" or "batch head query key"."""
    _require_bool(allowed)
    if allowed.ndim == 2:
        return allowed[None, None]
    if allowed.ndim == 3:
        return allowed[:, None]
    if allowed.ndim == 4:
        return allowed
    raise InputError(
        f"The mask has {allowed.ndim} axes {tuple(allowed.shape)}; give it as (query, key), "
        "(batch, query, key) or (batch, head, query, key)."
    )


def require_fit(mask: Mask, whole: tuple[int, int, int, int]) -> Mask:
    """The mask, if each of its axes is 1 or the run's (batch, head, query, key)."""
    if any(size not in (1, full) for size, full in zip(mask.shape, whole, strict=True)):
        raise InputError(
            f"The mask's sizes (batch, head, query, key) are {tuple(mask.shape)}; this run's "
            f"are {whole}, and each must be equal to that or 1."
        )
    return mask


def combine(*masks: Mask | None) -> Mask | None:
    """Combine masks: a pair may attend if every mask allows it; None if none is given."""
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    merged = given[0]
    for mask in given[1:]:
        merged = merged & mask
    return merged


def from_true_means_ignore(mask: Shaped[Tensor, "*axes"]) -> Bool[Tensor, "*axes"]:
    """torch.nn's key_padding_mask and attn_mask, where True = ignore, as True = may attend."""
    return ~_require_bool(mask)


def from_one_means_keep(mask: Shaped[Tensor, "*axes"]) -> Bool[Tensor, "*axes"]:
    """A tokenizer's attention_mask, where 1 = keep and 0 = padding, as True = may attend."""
    _require_values(mask, {0, 1}, "1 = keep, 0 = padding")
    return mask == 1


def from_zero_means_keep(mask: Float[Tensor, "*axes"]) -> Bool[Tensor, "*axes"]:
    """An additive mask (`mask == 0` = keep, a huge negative number or -inf = ignore) as bool.

    A mask of zeros and ones is refused: added to scores it masks nothing, so something
    else was meant.
    """
    banned = mask[mask != 0]
    if banned.numel() and not bool((banned <= -1e4).all()):
        raise InputError(
            f"An additive mask holds 0 (keep) or at most -10,000 (ignore); this one holds "
            f"{float(banned.max()):g}. If 1 means keep, use from_one_means_keep."
        )
    return mask == 0


def from_batch_of_rows(mask: Shaped[Tensor, "*axes"]) -> Bool[Tensor, "batch key"]:
    """A (B, 1, 1, T) mask, where True = may attend, as the (B, T) tokens that are valid."""
    if mask.ndim != 4 or mask.shape[1:3] != (1, 1):
        raise InputError(
            f"The mask has shape {tuple(mask.shape)}; this function takes (batch, 1, 1, key)."
        )
    return _require_bool(mask)[:, 0, 0, :]


def _require_bool(mask: Tensor) -> Tensor:
    if mask.dtype != torch.bool:
        raise InputError(
            f"The mask is {mask.dtype}; it must be torch.bool, because ~ on whole numbers flips "
            "bits and masks nothing. Use mask == 0 or mask == 1."
        )
    return mask


def _require_values(mask: Tensor, allowed: set[int], meaning: str) -> None:
    if mask.is_complex():
        raise InputError(f"The mask holds complex numbers; here it must hold only {meaning}.")
    found = set(torch.unique(mask).tolist())
    if not found <= allowed:
        raise InputError(f"The mask holds {sorted(found)}; here it must hold only {meaning}.")
