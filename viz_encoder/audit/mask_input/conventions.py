"""Conventions: what a mask's numbers mean, as a choice with its words.

The same array means opposite things to different calls, so the convention is never guessed: a
person names it, and an array that does not fit is answered with what it would have done.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from reprlib import (
    repr as shown,  # cut short: the value may be a stranger's, of any length
)
from typing import NoReturn

import numpy as np
import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

from viz_encoder.audit.mask_input.presets import PRESETS
from viz_encoder.errors import InputError, SelectionError

AS_GOOD_AS_INFINITE = -1e9  # no score of a real model comes near it


class Convention(StrEnum):
    """Meaning of a mask's values to the call that takes it."""

    KEEP = "keep"
    IGNORE = "ignore"
    ADDED = "added"
    ONES = "ones"
    KEY_IGNORE = "key-ignore"
    KEY_ONES = "key-ones"

    @property
    def by_key(self) -> bool:
        """Whether it has one row a sample, meant for all queries, in place of a square."""
        return self in (Convention.KEY_IGNORE, Convention.KEY_ONES)

    @property
    def words(self) -> str:
        """The convention as a person reads it, with the calls that have it."""
        return _WORDS[self]

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        choices = ", ".join(repr(member.value) for member in cls)
        raise SelectionError(
            f"There is no mask convention {shown(value)}; choose one of {choices}."
        )


_WORDS = {
    Convention.KEEP: "bool, True = may attend (scaled_dot_product_attention, this project)",
    Convention.IGNORE: "bool, True = ignore (nn.MultiheadAttention, nn.TransformerEncoder)",
    Convention.ADDED: "float added to scores, 0 = may attend, -inf = ignore",
    Convention.ONES: "1 = keep, 0 = ignore (transformers attention_mask)",
    Convention.KEY_IGNORE: "key_padding_mask (batch, token): bool, True = ignore",
    Convention.KEY_ONES: "(batch, 1, 1, token): 1 = keep, 0 = ignore (masked_fill(mask == 0, …))",
}


def to_bool(
    array: Shaped[Tensor, "*axes"] | Shaped[np.ndarray, "*axes"], convention: Convention | str
) -> Bool[Tensor, "*axes"]:
    """The array as a mask of this project: bool, True = may attend.

    Raises:
        InputError: its values do not fit the convention; the message says what they would do.
        SelectionError: there is no such convention.
    """
    convention = Convention(convention)
    given = torch.from_numpy(array.copy()) if isinstance(array, np.ndarray) else array
    if convention is Convention.ADDED:
        return _from_added(given)
    if convention in (Convention.ONES, Convention.KEY_ONES):
        return _from_ones(given)
    if given.dtype != torch.bool:
        raise InputError(
            f"The mask is {_kind(given)}; this convention takes bool. {_what_it_holds(given)}"
        )
    return given.clone() if convention is Convention.KEEP else ~given


def from_bool(
    mask: Bool[Tensor, "*axes"], convention: Convention | str, dtype: torch.dtype = torch.float32
) -> Shaped[Tensor, "*axes"]:
    """A mask of this project (True = may attend) as the convention has it.

    Args:
        mask: bool, True = may attend.
        convention: what it is turned into.
        dtype: of an added mask; it should be the model's own.

    Raises:
        InputError: the mask is not bool.
        SelectionError: there is no such convention.
    """
    convention = Convention(convention)
    if mask.dtype != torch.bool:
        raise InputError(f"The mask is {_kind(mask)}; give it as bool, True = may attend.")
    if convention is Convention.KEEP:
        return mask.clone()
    if convention in (Convention.IGNORE, Convention.KEY_IGNORE):
        return ~mask
    if convention in (Convention.ONES, Convention.KEY_ONES):
        return mask.long()
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask.cpu(), -torch.inf)


def _from_added(given: Tensor) -> Tensor:
    if not given.is_floating_point():
        raise InputError(
            f"The mask is {_kind(given)}; a mask that is added to scores holds floats, 0 = may "
            f"attend and -inf = ignore. {_what_it_holds(given)}"
        )
    lowest = torch.finfo(given.dtype).min
    ignored = (given == lowest) | (given <= AS_GOOD_AS_INFINITE)
    other = given[(given != 0) & ~ignored]
    if other.numel():
        raise InputError(f"An added mask holds 0 and -inf only. {_what_adding_does(given, other)}")
    return given == 0


def _from_ones(given: Tensor) -> Tensor:
    other = given[(given != 0) & (given != 1)]
    if other.numel():
        raise InputError(
            f"The mask holds {float(other.flatten()[0]):g}; this convention has 1 = keep and 0 = "
            f"ignore, nothing else. {_what_it_holds(given)}"
        )
    return given == 1


def _what_adding_does(given: Tensor, other: Tensor) -> str:
    """Effect on the weights of a float that is neither 0 nor -inf."""
    if bool(other.isnan().any()):
        return "This one holds NaN: every weight of that row would be NaN."
    largest = float(other.max())
    if largest == math.inf:
        return "This one holds +inf: the weights of that row would be NaN."
    if set(given.unique().tolist()) <= {0.0, 1.0}:
        return (
            "This one holds only 0 and 1: it would shift scores by 1 and mask nothing. If 1 means "
            "may attend, choose that convention."
        )
    if largest > 0:
        return f"This one holds {largest:g}: it would raise that key's score, not mask it."
    if largest > -100:
        return (
            f"This one holds {largest:g}: a key with it keeps e^{largest:g} = "
            f"{math.exp(largest):.1e} of the weight it would have had."
        )
    return (
        f"This one holds {largest:,.0f}, which is not -inf: where every allowed score is lower "
        "still, the mask is reversed. Use -inf."
    )


def _what_it_holds(given: Tensor) -> str:
    """The convention the values resemble, if any."""
    if given.dtype == torch.bool:
        return "These are True and False; choose a bool convention."
    values = set(given.flatten()[:1_000_000].unique().tolist())
    if values <= {0, 1}:
        return (
            "It holds 0 and 1: say mask == 1 (or mask == 0) first, because ~ on whole numbers "
            "flips bits and is never False. If 1 means keep, choose that convention."
        )
    least, most = min(values), max(values)
    if values == {least, 0.0} and least < -100:
        return (
            f"It holds 0 and {least:g}, as a mask that is added to scores does: choose that "
            "convention, or write mask == 0."
        )
    return f"Its smallest value is {least:g}, its largest {most:g}."


def _kind(given: Tensor) -> str:
    return str(given.dtype).removeprefix("torch.")


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
