"""Masks of flex_attention: a mask_mod or a BlockMask as True = may attend.

A mask_mod(batch, head, query, key) says of one pair whether it is open, and is asked here for all
of them as torch's own eager kernel asks it. A BlockMask is a mask_mod with a list of the blocks
that a compiled kernel looks at; elsewhere that kernel never asks. The two can disagree.
"""

import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.errors import InputError
from viz_encoder.model.masks import Mask

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
AXES = ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None))
ROWS_AT_ONCE = 2**24  # pairs of all samples and heads
SLICED = (
    "This BlockMask was sliced, or made without a mask_mod, so only its blocks are known. Set "
    "mask.mask_mod, or make the mask with create_block_mask for these samples."
)


def is_block_mask(given: Any) -> bool:
    """Whether it is a BlockMask, of which there are none as long as its module is not imported."""
    module = sys.modules.get("torch.nn.attention.flex_attention")
    return module is not None and isinstance(given, module.BlockMask)


def is_mask_mod(given: Any) -> TypeGuard[MaskMod]:
    """Whether it is a function of batch, head, query and key."""
    if not inspect.isroutine(given) and not hasattr(given, "func"):  # or a functools.partial
        return False
    return n_needed(given) == 4


def n_needed(function: Any) -> int | None:
    """The number of positional arguments without a default; None if there is no signature."""
    try:
        taken = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return sum(one.default is one.empty and one.kind in _BY_PLACE for one in taken)


_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def over_pairs(mod: Callable[..., Tensor], *, scored: bool, n_more: int = 0) -> Callable[..., Any]:
    """The function for all pairs at once: of four lists of numbers, as flex_attention maps it.

    Args:
        mod: a mask_mod, or a score_mod, whose first argument is the score.
        scored: it is a score_mod; give "batch head query key" of scores first.
        n_more: tensors that it takes besides, each as it is.
    """
    prefix = (0,) if scored else ()
    for axes in AXES:
        mod = torch.vmap(mod, in_dims=(*prefix, *axes, *(None,) * n_more))
    return mod


def asked(make: Callable[[], Tensor]) -> Tensor:
    """make() as flex_attention runs it: numbers that stand for an index may be given as tensors."""
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    with torch.no_grad(), torch._C._EnableTorchFunction(), TransformGetItemToIndex():
        return make()


def from_mask_mod(
    mask_mod: MaskMod,
    sizes: tuple[int, int, int, int],
    device: torch.device | str = "cpu",
    more: tuple[Any, ...] = (),
) -> Mask:
    """A mask_mod of (batch, head, query, key) as bool; an axis that makes no difference is 1.

    Args:
        mask_mod: True = may attend.
        sizes: the numbers of samples, heads, queries and keys.
        device: where its tensors are.
        more: what it takes besides.
    """
    whole = over_pairs(mask_mod, scored=False, n_more=len(more))
    b, h, q, k = (torch.arange(size, device=device) for size in sizes)
    step = max(1, ROWS_AT_ONCE // max(1, sizes[0] * sizes[1] * sizes[3]))
    return gathered(
        (
            (rows, asked(lambda rows=rows: whole(b, h, rows, k, *more).bool()))  # type: ignore[misc]
            for rows in q.split(step)
        ),
        sizes[2],
    )


def from_block_mask(mask: Any, n_samples: int | None = None, n_heads: int | None = None) -> Mask:
    """A BlockMask as bool, by its mask_mod, which is what it means.

    Args:
        mask: from create_block_mask.
        n_samples, n_heads: of the batch; the mask's own if not given.

    Raises:
        InputError: it was sliced or made without a mask_mod; or it has no batch and head.
    """
    if len(mask.shape) != 4:
        raise InputError(
            f"The BlockMask is {tuple(mask.shape)}; it must be (batch, head, query, key), as "
            "create_block_mask makes it."
        )
    batch, heads, queries, keys = mask.shape
    if _lists_blocks_alone(mask):
        raise InputError(SLICED)
    sizes = (n_samples or batch, n_heads or heads, queries, keys)
    try:
        return from_mask_mod(mask.mask_mod, sizes, mask.kv_indices.device)
    except RuntimeError as fault:
        if "sliced BlockMask" not in str(fault):
            raise
        raise InputError(SLICED) from fault


def _lists_blocks_alone(mask: Any) -> bool:
    """Whether its blocks say more than its mask_mod, which is torch's own that opens every pair.

    Where torch itself does not mark a sliced BlockMask, any block that is not listed as whole may
    have lost its mask_mod.
    """
    module = sys.modules["torch.nn.attention.flex_attention"]
    if mask.mask_mod is not getattr(module, "noop_mask", None):
        return False
    whole = mask.full_kv_num_blocks
    listed = torch.zeros_like(mask.kv_num_blocks) if whole is None else whole
    if hasattr(module, "_sliced_mask_mod_error"):
        listed = listed + mask.kv_num_blocks
    return bool((listed < -(-mask.shape[-1] // mask.BLOCK_SIZE[1])).any())


def as_compiled(mask: Any, n_samples: int, n_heads: int | None = None) -> Bool[Tensor, "b h q k"]:
    """The mask a compiled kernel applies: listed full blocks, others by the mask_mod."""
    by_mod = from_block_mask(mask, n_samples, n_heads)
    *_, queries, keys = mask.shape
    partial = _blocks(mask, mask.kv_num_blocks, mask.kv_indices)[:, :, :queries, :keys]
    opened = partial & by_mod
    if mask.full_kv_num_blocks is not None:
        full = _blocks(mask, mask.full_kv_num_blocks, mask.full_kv_indices)
        opened = opened | full[:, :, :queries, :keys]
    return opened


def _blocks(mask: Any, counts: Tensor, indices: Tensor) -> Tensor:
    """The listed blocks, each as all of its pairs."""
    listed = torch.arange(indices.shape[-1], device=indices.device) < counts[..., None]
    blocks = torch.zeros_like(indices, dtype=torch.bool).scatter(-1, indices.long(), listed)
    high, wide = mask.BLOCK_SIZE
    return blocks.repeat_interleave(high, dim=-2).repeat_interleave(wide, dim=-1)


def gathered(blocks: Iterable[tuple[Tensor, Tensor]], n_queries: int) -> Tensor:
    """Blocks of rows as one tensor, with no more samples and heads than differ in any block."""
    whole: Tensor | None = None
    for rows, block in blocks:
        part = shared(block)
        if whole is None:
            whole = part.new_empty(*part.shape[:2], n_queries, part.shape[3])
        wider = tuple(map(max, whole.shape[:2], part.shape[:2]))
        if wider != whole.shape[:2]:
            whole = whole.expand(*wider, -1, -1).clone()
        whole[:, :, rows] = part
    assert whole is not None
    return whole


def shared(x: Tensor) -> Tensor:
    """The first sample, or head, alone where all are equal."""
    for axis in (0, 1):
        first = x.narrow(axis, 0, 1)
        if x.shape[axis] > 1 and torch.equal(first.expand_as(x), x):
            x = first
    return x
