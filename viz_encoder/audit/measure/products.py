"""Queries and keys of softmaxes written by hand: those of the product that made their scores."""

from collections import deque
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from viz_encoder.audit.measure.watch import CallWatch
from viz_encoder.trace.attention_call import AttentionCall, batch_and_heads, own_copy
from viz_encoder.trace.mixing import axes_of
from viz_encoder.trace.torch_ops import SOFTMAX

PRODUCTS = (torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm)
KEPT = 4  # products before a softmax, of which one made its scores
Factors = tuple[Tensor, Tensor]  # "… query d" and "… key d"


class Products(CallWatch):
    """Notes, for each softmax over keys, its maps and the factors of the last product that fits."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[Tensor, Factors]] = []
        self._last: deque[tuple[torch.Size, Factors]] = deque(maxlen=KEPT)

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """Note what it is given, and leave that as it is."""
        if func in PRODUCTS and len(args) == 2 and out.ndim > 2:
            self._last.append((out.shape, (args[0], args[1].mT)))
        elif func is torch.einsum and (factors := _of_einsum(args, out)) is not None:
            self._last.append((out.shape, factors))
        elif func in SOFTMAX and isinstance(out, Tensor) and out.ndim > 2:
            self._take(out)
        return out

    def _take(self, maps: Tensor) -> None:
        for shape, factors in reversed(self._last):
            if shape[-2:] == maps.shape[-2:] and shape.numel() == maps.numel():
                leads = (maps.shape[:-1], (*maps.shape[:-2], maps.shape[-1]))
                if all(
                    one.numel() == torch.Size(lead).numel() * one.shape[-1]
                    for one, lead in zip(factors, leads, strict=True)
                ):
                    q, k = (
                        own_copy(batch_and_heads(one.reshape(*lead, one.shape[-1])))
                        for one, lead in zip(factors, leads, strict=True)
                    )
                    self.found.append((own_copy(batch_and_heads(maps)), (q, k)))
                return

    def put_into(self, calls: Iterable[AttentionCall], n_samples: int) -> list[AttentionCall]:
        """The calls with their queries and keys, where these were noted and are needed.

        Of a square call with a row a sample, or of one sample, values tell the tokens more clearly.
        """
        return [
            one if one.q.shape[3] or _is_plain(one, n_samples) else self._completed(one)
            for one in calls
        ]

    def _completed(self, call: AttentionCall) -> AttentionCall:
        for maps, (q, k) in self.found:
            if call.maps is not None and torch.equal(maps, call.maps):
                return call._replace(q=q, k=k)
        return call


def _is_plain(call: AttentionCall, n_samples: int) -> bool:
    n_rows, _, n_queries, n_keys = call.shape
    return n_queries == n_keys and n_rows in (1, n_samples)


def _of_einsum(args: tuple[Any, ...], out: Tensor) -> Factors | None:
    """The two operands, those with the rows of the result first, axes in the result's order."""
    equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = [*operands[0]]
    spelled = axes_of(equation, tuple(operands)) if out.ndim > 2 else None
    if spelled is None:
        return None
    *labels, made = spelled
    terms = [*zip(labels, operands, strict=True)]
    sides = [_with_rows(terms, made[:-2], one) for one in (made[-2], made[-1])]
    return None if sides[0] is None or sides[1] is None else (sides[0], sides[1])


def _with_rows(terms: list[tuple[str, Tensor]], lead: str, row: str) -> Tensor | None:
    """The one operand with that axis, as (lead, row, all others together)."""
    for labels, operand in terms:
        if row in labels and set(lead) <= set(labels):
            inner = [one for one in labels if one not in (*lead, row)]
            order = [labels.index(one) for one in (*lead, row, *inner)]
            return operand.permute(order).flatten(len(lead) + 1)
    return None
