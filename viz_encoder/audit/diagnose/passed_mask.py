"""Reads a passed mask in every convention it may follow, and finds its obvious faults.

A tensor alone does not say what it means: True is "ignore" to torch.nn and "keep" to
scaled_dot_product_attention. So each reading is kept with its name, and none is called right here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor

from viz_encoder.audit.measure.constants import SAFE
from viz_encoder.audit.measure.flex_masks import fault_of, is_flex, leaves_in, meant, tensors_in
from viz_encoder.audit.measure.setting import Case


@dataclass(frozen=True, eq=False)
class MaskReading:
    """One passed tensor in one reading."""

    where: str  # "", or the keyword or number under which it was passed
    sense: str
    allowed: Bool[Tensor, "batch query key"]  # for sample b, head 0


@dataclass(frozen=True, eq=False)
class Suspicion:
    """A fault that can be seen in the tensor alone; `sure` where no use of it can be right."""

    code: str
    evidence: str
    sure: bool = False
    value: float = 0.0  # of a constant that bans too little
    tensor: Tensor | None = None  # in which it stands


def readings(passed: Any, valid: Tensor) -> list[MaskReading]:
    """Each mask that was passed, in each sense that its dtype allows."""
    found = []
    for where, mask in leaves_in(passed):
        if is_flex(mask) and (pairs := _as_flex_pairs(mask, valid)) is not None:
            found.append(MaskReading(where, "True = may attend", pairs))
    for where, tensor in tensors_in(passed):
        shaped = _as_pairs(tensor, valid)
        if shaped is None:
            continue
        if tensor.dtype == torch.bool:
            found.append(MaskReading(where, "True = may attend", shaped))
            found.append(MaskReading(where, "True = ignored", ~shaped))
        elif set(tensor.unique().tolist()) <= {0, 1}:
            found.append(MaskReading(where, "1 = may attend", shaped == 1))
            found.append(MaskReading(where, "1 = ignored", shaped == 0))
            if tensor.is_floating_point():
                found.append(
                    MaskReading(where, "added to the scores", torch.ones_like(shaped).bool())
                )
        else:
            found.append(MaskReading(where, "added to the scores", shaped > -1e4))
            if not tensor.is_floating_point():
                found.append(MaskReading(where, "not 0 = may attend", shaped != 0))
                found.append(MaskReading(where, "not 1 = may attend", shaped != 1))
    return found


def readings_of(case: Case) -> tuple[MaskReading, ...]:
    """What one batch is passed, in every reading."""
    return tuple(readings(case.passed, case.valid))


def _as_flex_pairs(mask: Any, valid: Tensor) -> Tensor | None:
    """Head 0 of a BlockMask or mask_mod; None where it is of other sizes, or cannot be asked."""
    try:
        return meant(mask, valid)[:, 0]
    except Exception:  # code of the caller, which may need what only its model has
        return None


def _as_pairs(tensor: Tensor, valid: Tensor) -> Tensor | None:
    """Reshape to "batch query key"; None if it is not a mask of these tokens."""
    n_samples, n_tokens = valid.shape
    shape, whole = tuple(tensor.shape), (n_samples, n_tokens, n_tokens)
    if shape == (n_samples, n_tokens):
        return tensor[:, None, :].expand(whole)
    if shape == (n_tokens, n_tokens):
        return tensor[None].expand(whole)
    if tensor.ndim == 3 and shape[1:] == (n_tokens, n_tokens) and shape[0] % n_samples == 0:
        return tensor[:: shape[0] // n_samples]
    if tensor.ndim == 3 and shape[0] in (1, n_samples):
        return (
            tensor.expand(whole)
            if all(s in (1, w) for s, w in zip(shape, whole, strict=True))
            else None
        )
    if tensor.ndim == 4:
        first = tensor[:, 0]
        sizes = zip(first.shape, whole, strict=True)
        return first.expand(whole) if all(size in (1, full) for size, full in sizes) else None
    return None


def suspicions(passed: Any, valid: Tensor) -> list[Suspicion]:
    """The faults that can be seen in the tensors alone, the surest first."""
    found = [one for where, tensor in tensors_in(passed) for one in _faults(where, tensor, valid)]
    for _, mask in leaves_in(passed):
        if is_flex(mask) and _as_flex_pairs(mask, valid) is not None:
            evidence, sure = fault_of(mask, valid)
            found += [Suspicion("block_mask", evidence, sure)] if evidence else []
    return sorted(found, key=lambda one: not one.sure)


def _faults(where: str, tensor: Tensor, valid: Tensor) -> Iterator[Suspicion]:
    pairs = _as_pairs(tensor, valid)
    if pairs is None or not tensor.numel():
        return
    name = f"the mask {where!r}" if where else "the mask"
    if tensor.dtype != torch.bool and not tensor.is_floating_point():
        lowest = int(tensor.min())
        if lowest < 0 and int(tensor.max()) <= -1:
            yield Suspicion(
                "int_inverted",
                f"{name} is {tensor.dtype} and holds only {sorted(set(tensor.unique().tolist()))}",
                sure=True,
            )
    if not tensor.is_floating_point():
        return
    values = tensor.unique()
    if set(values.tolist()) == {0.0, 1.0}:
        yield Suspicion("zero_one_added", f"{name} is {tensor.dtype} and holds only 0 and 1")
    finite = values[values.isfinite()]
    lowest_float = torch.finfo(tensor.dtype).min
    saturated = bool((finite <= lowest_float / 2).any())
    if saturated and bool((values == -torch.inf).any()):
        yield Suspicion("saturated", f"{name} holds both {float(finite.min()):.4g} and -inf")
    small = finite[(finite < 0) & (finite > SAFE) & (finite > lowest_float / 2)]
    if len(small) and len(values) <= 3:
        value = float(small.min())
        yield Suspicion("constant", f"{name} masks with {value:.4g}", value=value, tensor=tensor)
