"""CallMasks: the mask of an attention call, made once where all layers are given the same one."""

import torch
from torch import Tensor

MaskAndBias = tuple[Tensor | None, Tensor | None]


class CallMasks:
    """What scaled_dot_product_attention is given, as a mask and a bias.

    The last one is kept, so that layers which share a mask share what is made of it.
    """

    def __init__(self) -> None:
        self._last: tuple[Tensor, int, MaskAndBias] | None = None
        self._causal: Tensor | None = None

    def of(self, given: Tensor | None, is_causal: bool, q: Tensor, k: Tensor) -> MaskAndBias:
        """Which keys are allowed (True = may attend), and what is added to the scores, if any."""
        if is_causal:
            return self._below_diagonal(q, k), None
        if given is None or given.dtype == torch.bool:
            return given, None
        if self._last is None or self._last[0] is not given or self._last[1] != given._version:
            self._last = given, given._version, _split(given)
        return self._last[2]

    def _below_diagonal(self, q: Tensor, k: Tensor) -> Tensor:
        shape = q.shape[-2], k.shape[-2]
        if self._causal is None or self._causal.shape != shape:
            self._causal = torch.ones(shape, dtype=torch.bool, device=q.device).tril()
        return self._causal


def _split(given: Tensor) -> MaskAndBias:
    allowed = given != -torch.inf
    bias = given.masked_fill(~allowed, 0.0)
    return allowed, bias if bool(bias.any()) else None
