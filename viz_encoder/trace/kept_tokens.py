"""Kept tokens: the rows and columns of a layer's maps that a sweep covers, and their weights."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from viz_encoder.errors import SelectionError
from viz_encoder.trace.layer import LayerTrace
from viz_encoder.trace.token_selection import shown_tokens
from viz_encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class KeptTokens:
    """Tokens along both sides of a layer's maps, by index; None: all of them."""

    queries: Int[Tensor, " query"] | None
    keys: Int[Tensor, " key"] | None
    positions: Float[Tensor, " query"]  # indices of the queries
    real: Float[Tensor, "#head query"]  # 1 for a real token, 0 for padding
    owners: Int[Tensor, " query"] | None  # word of each token, where words are merged

    def neighbors(self, shift: int) -> Float[Tensor, "#head key"]:
        """1 for a real key whose neighbor `shift` tokens before it is shown; 0 otherwise."""
        if not shift:
            return self.real
        beside, none = (self.positions.diff() == 1).float(), self.positions.new_zeros(1)
        return self.real * torch.cat([none, beside] if shift > 0 else [beside, none])

    def shares_of_mean(self) -> Float[Tensor, "#head query"] | None:
        """Weight of each real query in a mean over words; None where words are not merged."""
        if self.owners is None:
            return None
        return self.real / self.owners.bincount()[self.owners]


def kept_tokens(
    trace: Trace, layer: LayerTrace, *, hide_special: bool = False, words: bool = False
) -> KeptTokens:
    """Choose a layer's tokens to sweep; in cross-attention all keys, which are another sequence.

    Raises:
        SelectionError: no token is left.
    """
    device = layer.q.device
    groups = shown_tokens(trace, hide_special=hide_special, words=words)
    if not groups:
        raise SelectionError("Every token of this run is special; show special tokens again.")
    numbers = torch.tensor([at for group in groups for at in group], device=device)
    every = None if len(numbers) == trace.n_tokens else numbers
    sizes = torch.tensor([len(group) for group in groups], device=device)
    owners = torch.arange(len(groups), device=device).repeat_interleave(sizes) if words else None
    real = trace.valid.to(device)[numbers].float()[None]
    return KeptTokens(every, None if layer.cross else every, numbers.float(), real, owners)
