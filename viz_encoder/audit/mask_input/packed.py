"""Packed documents of given lengths: a block-diagonal mask over one sequence."""

from collections.abc import Sequence
from reprlib import repr as shown  # cut short: the value may be a stranger's, of any length

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.mask_input.presets import PRESETS
from viz_encoder.errors import InputError


def packed(n_tokens: int, lengths: Sequence[int]) -> Bool[Tensor, "query key"]:
    """Each token may attend to its own document only; what the lengths leave over is the last one.

    Raises:
        InputError: a length below 1, or more tokens than there are.
        TooLong: more tokens than a mask is made for.
    """
    whole = PRESETS["none"].mask(n_tokens)
    for length in lengths:
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise InputError(
                f"A document of {shown(length)} tokens is not possible; write lengths such as "
                "5, 7, 3."
            )
    if sum(lengths) > n_tokens:
        raise InputError(
            f"These documents have {sum(lengths):,} tokens together, but this run has "
            f"{n_tokens:,}; make them shorter."
        )
    sizes = torch.tensor([*lengths, n_tokens - sum(lengths)])
    document = torch.arange(len(sizes)).repeat_interleave(sizes)
    return whole & (document[:, None] == document[None, :])
