"""Finds an input's tokens: along its second axis, or as the square patches of an image.

Any other input (a waveform, say) has no tokens that could be changed, cut out or differentiated by
one at a time.
"""

import math

from jaxtyping import Float
from torch import Tensor

PREFIXES = (0, 1, 2, 5)  # none, [CLS], one for distillation beside it, four registers beside it


def has_tokens(x: Tensor, n_tokens: int) -> bool:
    """Whether each token can be told from the others in x."""
    return can_be_cut(x, n_tokens) or patch_size(x, n_tokens) is not None


def may_have(x: Tensor, n_tokens: int) -> bool:
    """Whether x may make so many tokens: patches, [CLS] and the like before them, or what it is."""
    return x.ndim != 4 or any(has_tokens(x, n_tokens - prefix) for prefix in PREFIXES)


def can_be_cut(x: Tensor, n_tokens: int) -> bool:
    """Whether some of the tokens are an input too: of a picture only all of them are."""
    return x.ndim >= 2 and x.shape[1] == n_tokens


def patch_size(x: Tensor, n_tokens: int) -> int | None:
    """The side of the square patches, row by row, into which a picture falls; None if it is none.

    A picture is (batch, channel, height, width), and has as many patches as there are tokens.
    """
    if x.ndim != 4 or can_be_cut(x, n_tokens):
        return None
    height, width = x.shape[2:]
    side = math.isqrt(height * width // n_tokens)
    whole = side > 0 and height % side == 0 and width % side == 0
    return side if whole and (height // side) * (width // side) == n_tokens else None


def by_token(x: Tensor, n_tokens: int) -> Float[Tensor, "batch token d"]:
    """The numbers of each token in a row; "batch token" and "batch token a b" as well."""
    side = patch_size(x, n_tokens)
    if side is None:
        return x.reshape(*x.shape[:2], -1)
    n_samples, n_channels, height, width = x.shape
    cut = x.reshape(n_samples, n_channels, height // side, side, width // side, side)
    return cut.permute(0, 2, 4, 1, 3, 5).reshape(n_samples, n_tokens, -1)


def from_tokens(tokens: Float[Tensor, "batch token d"], like: Tensor) -> Tensor:
    """The argument of `by_token` with these numbers in it."""
    side = patch_size(like, tokens.shape[1])
    if side is None:
        return tokens.reshape(like.shape)
    n_samples, n_channels, height, width = like.shape
    cut = tokens.reshape(n_samples, height // side, width // side, n_channels, side, side)
    return cut.permute(0, 3, 1, 4, 2, 5).reshape(like.shape)
