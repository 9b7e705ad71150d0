"""What a mask is: a preset, or a preset under a usual mistake, with the line that mends it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.mask_input.presets import PRESETS

Mask = Bool[Tensor, "query key"]
KNOWN = (
    "causal",
    "padding-right",
    "padding-left",
    "causal-window",
    "prefix",
    "documents",
    "window",
)
SIZES = 16  # each size is tried from its least to so many more
SHORT = 256  # longer masks are compared with presets without sizes alone


@dataclass(frozen=True)
class Mistake:
    """How a mask is not what was meant, and the line that makes it so."""

    words: str
    line: str
    mended: Callable[[Mask], Mask]


MISTAKES = (
    Mistake("it is upside down", "~mask", lambda mask: ~mask),
    Mistake("its rows are keys", "mask.T", lambda mask: mask.T),
    Mistake(
        "tokens may not attend to themselves",
        "mask | torch.eye(len(mask), dtype=torch.bool)",
        lambda mask: mask | torch.eye(len(mask), dtype=torch.bool),
    ),
    Mistake("it is upside down, and its rows are keys", "~mask.T", lambda mask: ~mask.T),
    Mistake("tokens may attend to the next one", "mask.tril()", lambda mask: _up_to_next(mask)),
)


def recognized(mask: Bool[Tensor, "query key"]) -> str:
    """A sentence that names a preset, or a preset under a usual mistake; "" of any other mask."""
    if mask.all() or not mask.any():
        return ""
    candidates = [*_candidates(len(mask))]
    for label, candidate in candidates:
        if torch.equal(mask, candidate):
            return f"This mask is the preset “{label}”."
    for mistake in MISTAKES:
        mended = mistake.mended(mask)
        for label, candidate in candidates:
            if torch.equal(mended, candidate):
                return (
                    f"If this mask is meant to be “{label}”, {mistake.words}: write {mistake.line}"
                )
    return ""


def _candidates(n_tokens: int) -> Iterator[tuple[str, Mask]]:
    """Presets that forbid something, by their names; padding is at most half of the tokens."""
    for preset in (PRESETS[name] for name in KNOWN):
        if preset.controls and n_tokens > SHORT:
            continue
        most = n_tokens // 2 if "padding" in preset.name else n_tokens - 1
        ranges = [
            range(each.minimum, min(each.minimum + SIZES, most) + 1) for each in preset.controls
        ]
        for sizes in product(*ranges):
            named = dict(zip((each.name for each in preset.controls), sizes, strict=True))
            mask = preset.mask(n_tokens, **named)
            if not mask.all():
                said = "".join(f", {name} {size}" for name, size in named.items())
                yield f"{preset.label}{said}", mask


def _up_to_next(mask: Mask) -> Mask:
    """The mask without its next tokens, where it has all of them; otherwise as it is."""
    return mask.tril() if mask.diagonal(1).all() and not mask.triu(2).any() else mask
