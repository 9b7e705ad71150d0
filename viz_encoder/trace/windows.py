"""Windowed attention (Swin): which token each place of a window is, and the whole maps.

A block with a window_size and a shift_size cuts its picture into windows and attends in each. The
cut is computed from these, and counts only if the rows that attention was given are, bit for bit,
those of the block's input, or of its norm's output, in that order.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from viz_encoder.trace.attention_call import AttentionCall
from viz_encoder.trace.recorded_call import RecordedCall

MOST = 2**28  # numbers of one layer's whole maps, of all samples: 1 GiB
Order = Int[Tensor, "window place"]  # the number of a token


class Cut(NamedTuple):
    """The sizes of a block's windows, and how far they are shifted; rows, then columns."""

    window: tuple[int, int]
    shift: tuple[int, int]


def cut_of(module: nn.Module) -> Cut | None:
    """How a block cuts its picture; None if it does not say so."""
    names, own, kind = ("window_size", "shift_size"), vars(module), type(module)
    if not all(name in own or hasattr(kind, name) for name in names):
        return None  # asking the module itself for what it lacks is slow
    window, shift = (_pair(getattr(module, name)) for name in names)
    return None if window is None or shift is None or min(window) < 1 else Cut(window, shift)


def sides_of(arguments: Sequence[object]) -> list[tuple[int, int]]:
    """Rows and columns of the picture that a block was given, as its arguments tell them."""
    pairs = [pair for x in arguments if isinstance(x, list | tuple) and (pair := _pair(x))]
    shapes = [tuple(x.shape[1:3]) for x in arguments if isinstance(x, Tensor) and x.ndim == 4]
    return [*pairs, *((rows, columns) for rows, columns in shapes)]


def order_of(
    cut: Cut, sides: Sequence[tuple[int, int]], given: Tensor, sources: Sequence[Tensor]
) -> Order | None:
    """The tokens of each window, for one sample; None if the rows that ran are others.

    Args:
        cut: of the block.
        sides: rows and columns that the picture may have.
        given: what attention ran on, "batch·window place channel".
        sources: what the block may have cut, "batch token channel" or "batch row column channel".
    """
    for rows, columns in sides:
        if rows % cut.window[0] or columns % cut.window[1] or given.ndim != 3:
            continue  # padded windows hold places without a token
        numbers = torch.arange(rows * columns, device=given.device).view(rows, columns)
        turned = numbers.roll((-cut.shift[0], -cut.shift[1]), dims=(0, 1))
        high, wide = cut.window
        split = turned.view(rows // high, high, columns // wide, wide).transpose(1, 2)
        order = split.reshape(-1, high * wide)
        if any(_is_cut_from(source, given, order) for source in sources):
            return order
    return None


def _is_cut_from(source: Tensor, given: Tensor, order: Order) -> bool:
    tokens = source.detach().flatten(1, -2) if source.ndim in (3, 4) else source
    if tokens.ndim != 3 or tokens.shape[1] != order.numel():
        return False
    windows = tokens[:, order].flatten(0, 1)
    return windows.shape == given.shape and torch.equal(windows, given.detach())


def whole(call: RecordedCall) -> RecordedCall:
    """The call with its windows put together; as it is if nothing was cut, or it is too large."""
    order, (n_windows, n_heads, n_places, _) = call.order, call.shape
    if order is None or order.shape[1] != n_places or n_windows % len(order):
        return call
    n_samples = n_windows // len(order)
    if n_samples * n_heads * order.numel() ** 2 > MOST:
        return call
    ran, width = call.attention, call.given[0][-1] if call.given else 0
    given = ((n_samples, order.numel(), width),)
    return replace(call, ran=_together(ran, order), given=given, beside=[])


def _together(ran: AttentionCall, order: Order) -> AttentionCall:
    same = torch.ones(len(order), 1, *order.shape[1:] * 2, dtype=torch.bool, device=order.device)
    mask = same if ran.mask is None else ran.mask
    return ran._replace(
        q=_rows(ran.q, order),
        k=_rows(ran.k, order),
        v=_rows(ran.v, order),
        signature=None if ran.signature is None else _rows(ran.signature, order),
        sink=None if ran.sink is None else _rows(ran.sink[..., None], order)[..., 0],
        mask=_map(mask, order),
        bias=None if ran.bias is None else _map(ran.bias, order),
        maps=None if ran.maps is None else _map(ran.maps, order),
    )


def _rows(x: Tensor, order: Order) -> Tensor:
    """From "batch·window head place d" to "batch head token d"."""
    split = x.unflatten(0, (-1, len(order))).transpose(1, 2).flatten(2, 3)
    return torch.empty_like(split).index_copy_(2, order.flatten(), split)


def _map(x: Tensor, order: Order) -> Tensor:
    """From "batch·window head place place" to "batch head token token", 0 between windows."""
    n_windows = x.shape[0] if x.shape[0] > 1 else len(order)
    each = x.expand(n_windows, -1, *order.shape[1:] * 2)
    split = each.unflatten(0, (-1, len(order))).transpose(1, 2)
    found = split.new_zeros(*split.shape[:2], order.numel(), order.numel())
    found[:, :, order[:, :, None], order[:, None, :]] = split
    return found


def _pair(value: object) -> tuple[int, int] | None:
    if isinstance(value, int):
        return value, value
    if isinstance(value, list | tuple) and len(value) == 2:
        one, two = value
        return (one, two) if isinstance(one, int) and isinstance(two, int) else None
    return None
