"""What the code of a caller passes: every tensor and flex mask in it, and what they mean.

A BlockMask or a mask_mod of flex_attention is a leaf like a tensor.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.measure.reach import Allowed
from viz_encoder.errors import InputError
from viz_encoder.model.mask_mods import (
    as_compiled,
    from_block_mask,
    from_mask_mod,
    is_block_mask,
    is_mask_mod,
)


def is_flex(given: Any) -> bool:
    """Whether it is a BlockMask or a mask_mod."""
    return is_block_mask(given) or is_mask_mod(given)


def name_of(given: Any) -> str:
    """Its name in words."""
    return f"BlockMask {tuple(given.shape)}" if is_block_mask(given) else "mask_mod"


def meant(given: Any, valid: Bool[Tensor, "batch token"]) -> Bool[Tensor, "batch #head query key"]:
    """Evaluate its mask_mod as bool for these samples.

    Raises:
        InputError: a BlockMask of other numbers of samples or tokens, or one that was sliced.
    """
    n_samples, n_tokens = valid.shape
    if is_mask_mod(given):
        found = from_mask_mod(given, (n_samples, 1, n_tokens, n_tokens), valid.device)
    else:
        _require_fit(given, n_samples, n_tokens)
        found = from_block_mask(given, n_samples)
    return found.expand(n_samples, -1, -1, -1)


def meant_by_all_heads(given: Any, valid: Bool[Tensor, "batch token"]) -> Allowed:
    """Like `meant`, if all heads share one mask.

    Raises:
        InputError: heads differ, or it does not fit.
    """
    found = meant(given, valid)
    if found.shape[1] != 1:
        raise InputError(
            f"intent(valid) gave a {name_of(given)} whose heads differ; an intent is one for all "
            "heads of a layer."
        )
    return found[:, 0]


def fault_of(given: Any, valid: Bool[Tensor, "batch token"]) -> tuple[str, bool]:
    """Where a BlockMask's blocks contradict its mask_mod, and whether at this length.

    Compiled kernels look at the listed blocks and leave out the others; an eager one asks the
    mask_mod alone. So a list that was made for one sample is wrong for others, in the kernel only.
    """
    if not is_block_mask(given):
        return "", False
    by_mod = meant(given, valid)
    n_samples, n_heads = by_mod.shape[0], max(by_mod.shape[1], given.shape[1])
    away = as_compiled(given, n_samples, n_heads) != from_block_mask(given, n_samples, n_heads)
    if bool(away.any()):
        sample, _, query, key = (int(n) for n in away.expand(n_samples, -1, -1, -1).nonzero()[0])
        opened = "open" if bool(by_mod[sample, 0, query, key]) else "closed"
        text = (
            f"the listed blocks of the {name_of(given)} are not those of its mask_mod: query "
            f"{query}, key {key} of sample {sample} is {opened} by the mask_mod, and a compiled "
            "kernel has it the other way"
        )
        return text, True
    differ = not torch.equal(by_mod, by_mod[:1].expand_as(by_mod))
    if given.shape[0] == 1 and n_samples > 1 and differ:
        text = (
            f"the {name_of(given)} lists the blocks of sample 0 for all samples, and its mask_mod "
            "differs from sample to sample"
        )
        return text, False
    return "", False


def opposite(given: Any) -> Any:
    """The inverted mask."""
    mod = given.mask_mod if is_block_mask(given) else given
    turned = lambda b, h, q, k: ~mod(b, h, q, k)  # noqa: E731 - which torch.compile can follow
    if not is_block_mask(given):
        return turned
    from torch.nn.attention.flex_attention import create_block_mask

    batch, heads, queries, keys = given.shape
    device, blocks = given.kv_indices.device, given.BLOCK_SIZE
    return create_block_mask(turned, batch, heads, queries, keys, device, BLOCK_SIZE=blocks)


def _require_fit(given: Any, n_samples: int, n_tokens: int) -> None:
    shape = tuple(given.shape)
    if len(shape) == 4 and shape[0] in (1, n_samples) and shape[2:] == (n_tokens, n_tokens):
        return
    raise InputError(
        f"The BlockMask is {shape}; for valid of {(n_samples, n_tokens)} it must be "
        f"({n_samples} or 1, heads or 1, {n_tokens}, {n_tokens}). Make it inside the function, "
        "from valid.shape."
    )


def tensors_in(passed: Any) -> Iterator[tuple[str, Tensor]]:
    """Every tensor in what was passed, with its keyword or number."""
    return ((where, leaf) for where, leaf in leaves_in(passed) if isinstance(leaf, Tensor))


def leaves_in(passed: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Iterate over everything passed, with its keyword or index."""
    inside = list(_inside(passed))
    if not inside and not isinstance(passed, Mapping | list | tuple):
        yield where, passed
    for name, value in inside:
        yield from leaves_in(value, f"{where}.{name}" if where else name)


def parts_of(passed: Any) -> Iterator[Any]:
    """Iterate over everything passed, from its dicts, tuples and dataclasses."""
    return (leaf for _, leaf in leaves_in(passed))


def mapped(
    passed: Any, change: Callable[[Tensor], Any], flex: Callable[[Any], Any] | None = None
) -> Any:
    """Copy with each tensor changed, in the same dicts, tuples and dataclasses.

    With `flex`, each BlockMask and mask_mod is changed by it.
    """
    if isinstance(passed, Tensor):
        return change(passed)
    if flex is not None and (is_block_mask(passed) or is_mask_mod(passed)):
        return flex(passed)
    if isinstance(passed, Mapping):
        held = {name: mapped(value, change, flex) for name, value in passed.items()}
        kind: Any = type(passed)
        return held if isinstance(passed, dict) else kind(held)
    if isinstance(passed, list | tuple):
        values = [mapped(value, change, flex) for value in passed]
        return type(passed)(*values) if hasattr(passed, "_fields") else type(passed)(values)
    if _is_record(passed):
        held = {one.name: mapped(getattr(passed, one.name), change, flex) for one in fields(passed)}
        return replace(passed, **held)
    return passed


def _inside(passed: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(passed, Mapping):
        yield from ((str(name), value) for name, value in passed.items())
    elif isinstance(passed, list | tuple):
        names = getattr(passed, "_fields", range(len(passed)))
        yield from zip(map(str, names), passed, strict=True)
    elif _is_record(passed):
        yield from ((one.name, getattr(passed, one.name)) for one in fields(passed))


def _is_record(passed: Any) -> bool:
    return is_dataclass(passed) and not isinstance(passed, type)
