"""Groups of tokens that see all of themselves in a causal text, such as a prefix or pictures."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.model.masks import Valid


class Mistake(NamedTuple):
    """A cause, the pairs that it opens, and which one of those with this code."""

    code: str
    pairs: Allowed
    variant: str = ""


def wrong_groups(allowed: Allowed, valid: Valid) -> Iterator[Mistake]:
    """What goes wrong with such groups; nothing where the intent has none."""
    same = _same_group(allowed, valid)
    outside = allowed & ~same & valid[:, :, None]
    has_groups = int(same.sum()) > int(valid.sum())
    if not has_groups or not bool(outside.any()) or bool(outside.triu(1).any()):
        return
    place = torch.arange(allowed.shape[-1], device=allowed.device)
    apart = place[:, None] - place
    window = apart.abs() <= int(apart.expand_as(outside)[outside].max())
    each = (
        Mistake("group_window", allowed | same),
        Mistake("group_cut", allowed & window),
        *_of_prefix(allowed, valid, same),
    )
    yield from (one for one in each if not torch.equal(one.pairs, allowed))


def _same_group(allowed: Allowed, valid: Valid) -> Allowed:
    """Real tokens of one group: each sees the one after it."""
    joined = allowed.diagonal(1, 1, 2) & valid[:, 1:] & valid[:, :-1]
    number = F.pad((~joined).cumsum(dim=1), (1, 0))
    return (number[:, :, None] == number[:, None, :]) & valid[:, :, None] & valid[:, None, :]


def _of_prefix(allowed: Allowed, valid: Valid, same: Allowed) -> Iterator[Mistake]:
    """The group of the first real token: its keys are opened to all, or its queries see all."""
    at = torch.arange(len(valid), device=valid.device)
    prefix = same[at, valid.long().argmax(dim=1)]
    for variant, columns in (
        ("", prefix),
        ("before", up_to_last(prefix)),
        ("types", prefix | ~valid),  # padding has the token type of a prefix, 0
    ):
        yield Mistake("prefix_opened", allowed | columns[:, None, :], variant)
    yield Mistake("prefix_rows", allowed | (prefix[:, :, None] & valid[:, None, :]))


def up_to_last(tokens: Tensor) -> Tensor:
    """All places of the last axis up to the last of these tokens, padding before them, too."""
    return tokens.flip(-1).cumsum(dim=-1).flip(-1) > 0
