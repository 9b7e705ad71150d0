"""Finds the parts of a model that mix tokens, by each module's own gradient, and runs one alone.

It needs no map, so that attention of any kernel can be told layer by layer, and a convolution too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_encoder.audit.measure.gradients import NoGradient, leaf_of
from viz_encoder.audit.measure.setting import Case, ModelFault
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.measure.watch import hooked

MOST_MODULES, MOST_TOKENS = 200, 32
# What works over the last axis alone, as long as it is torch's own.
KINDS: tuple[type[nn.Module], ...] = (nn.Linear, nn.LayerNorm, nn.Dropout, nn.GELU, nn.ReLU)
BY_VECTOR = {kind: kind.forward for kind in KINDS}


@dataclass(frozen=True)
class NamedPart:
    """One module."""

    name: str
    kind: str  # its class


@dataclass(frozen=True, eq=False)
class MixingPart(NamedPart):
    """One module, and the input tokens that each of its output tokens depends on."""

    depends: Float[
        Tensor, "batch query key"
    ]  # |∂ output / ∂ input|, relative to each row's largest
    across: bool  # whether any sample depends on another


@dataclass(eq=False)
class SeenModule:
    """One module's first call: what it was given, and what it gave."""

    name: str
    module: nn.Module
    given: Tensor | None = None
    out: Tensor | None = None


def mixing_parts(subject: Subject, case: Case) -> tuple[MixingPart, ...]:
    """The innermost modules in which tokens mix, in order; () if that cannot be seen."""
    if case.valid.shape[1] > MOST_TOKENS:
        return ()
    try:
        with leaf_of(subject, case) as (x, _), watched(subject, case) as seen:
            subject.run(case, x=x, grad=True)
            parts = [_part(one, case) for one in seen[:MOST_MODULES] if not _is_apart(one, case)]
    except (ModelFault, NoGradient, RuntimeError):
        return ()
    mixing = [part for part in parts if part is not None and _mixes(part)]
    return tuple(one for one in mixing if not any(is_inside(other, one) for other in mixing))


def is_inside(other: NamedPart, one: NamedPart) -> bool:
    """Whether the other part is within the one."""
    return other.name.startswith(f"{one.name}.") if one.name else bool(other.name)


@contextmanager
def watched(subject: Subject, case: Case) -> Iterator[list[SeenModule]]:
    """The modules that are given tokens and give tokens, each once."""
    seen: list[SeenModule] = []
    names = {id(one): name for name, one in subject.whole.named_modules() if name}

    def note(module: nn.Module, args: Any, kwargs: Any, out: Any) -> None:
        given, made = tokens_in((*args, *kwargs.values()), case), tokens_in((out,), case)
        if given is not None and made is not None and given.requires_grad and made.requires_grad:
            name = name_in(names[id(module)])
            if not any(one.name == name for one in seen):
                seen.append(SeenModule(name, module, given, made))

    every = [one for one in subject.whole.modules() if id(one) in names]
    with hooked([one for one in every if one is not subject.whole.parts], note):
        yield seen


def name_in(whole: str) -> str:
    """A module's name in the caller's model, by that in the whole."""
    return whole.removeprefix("call").removeprefix(".")


def tokens_in(values: tuple[Any, ...], case: Case) -> Tensor | None:
    """The first tensor that has an axis of samples and one of tokens."""
    for value in values:
        if isinstance(value, tuple | list):
            value = next(iter(value), None)
        if not isinstance(value, Tensor) or not value.is_floating_point() or value.ndim != 3:
            continue
        if axis_of(value, case) is not None:
            return value
    return None


def axis_of(value: Tensor, case: Case) -> int | None:
    """The axis of tokens; None where there is none."""
    n_samples, n_tokens = case.valid.shape
    fits = (1, 2) if value.shape[0] == n_samples else ()
    return next((axis for axis in fits if value.shape[axis] == n_tokens), None)


def _is_apart(seen: SeenModule, case: Case) -> bool:
    """Whether it is known to work on each token by itself, so that no gradient need tell it."""
    module, kind, sides = seen.module, type(seen.module), (seen.given, seen.out)
    hooks = len(module._forward_hooks) + len(module._forward_pre_hooks)  # one is the watching's
    if kind not in BY_VECTOR or "forward" in vars(module) or hooks > 1:
        return False
    if kind.forward is not BY_VECTOR[kind]:  # a person's own
        return False
    one_axis = not isinstance(module, nn.LayerNorm) or len(module.normalized_shape) == 1
    return one_axis and all(one is not None and axis_of(one, case) == 1 for one in sides)


def _part(seen: SeenModule, case: Case) -> MixingPart | None:
    given, made = seen.given, seen.out
    if given is None or made is None:
        return None
    at_input, at_output = axis_of(given, case), axis_of(made, case)
    n_samples, n_tokens = case.valid.shape
    mixture = torch.randn(made.numel(), generator=torch.Generator().manual_seed(5)).to(made)
    mixture = mixture.view_as(made)
    number = torch.arange(n_samples * n_tokens, device=made.device)
    sample, token = number // n_tokens, number % n_tokens
    place = (sample, token) if at_output == 1 else (sample, slice(None), token)
    directions = made.new_zeros(len(number), *made.shape)
    directions[(number, *place)] = mixture[place]
    grad = torch.autograd.grad(
        made, given, directions, retain_graph=True, allow_unused=True, is_grads_batched=True
    )[0]
    if grad is None:
        return None
    grad = grad.transpose(2, 3) if at_input == 2 else grad
    values = grad.abs().amax(dim=-1).nan_to_num(0.0).double().unflatten(0, (n_samples, n_tokens))
    values = values / values.flatten(2).amax(dim=2).clamp_min(1e-300)[..., None, None]
    own = torch.arange(n_samples)
    within = values[own, :, own]
    across = values.clone()
    across[own, :, own] = 0.0
    return MixingPart(seen.name, type(seen.module).__name__, within, float(across.max()) > 1e-6)


def _mixes(part: MixingPart) -> bool:
    n_tokens = part.depends.shape[-1]
    others = ~torch.eye(n_tokens, dtype=torch.bool, device=part.depends.device)
    return part.across or bool((part.depends[:, others] > 1e-6).any())


def outputs_of_part(subject: Subject, cases: tuple[Case, ...], name: str) -> list[Tensor] | None:
    """The part's output in each case, all on what the first one gives it; None if that is unseen.

    The empty name is the whole model.
    """
    if not name:
        return [subject.run(case) for case in cases]
    named = {name_in(one): part for one, part in subject.whole.named_modules() if one}
    held: list[Tensor] = []

    def first(own: Tensor) -> Tensor:
        held.append(own.clone())
        return held[0]

    outs = [output_with(subject, case, named[name], first) for case in cases if name in named]
    found = [one for one in outs if one is not None]
    return found if len(found) == len(cases) else None


def output_with(
    subject: Subject, case: Case, part: nn.Module, change: Callable[[Tensor], Tensor]
) -> Tensor | None:
    """The part's first output with tokens, where its first input with tokens is changed so."""
    outs: list[Tensor] = []

    def give(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = (*args, *kwargs.values())
        own = tokens_in(values, case)
        if own is None or outs:
            return None
        other = change(own)
        again = [other if one is own else one for one in values]
        return tuple(again[: len(args)]), dict(zip(kwargs, again[len(args) :], strict=True))

    def note(module: nn.Module, args: Any, kwargs: Any, out: Any) -> None:
        made = tokens_in((out,), case)
        if made is not None:
            outs.append(made)

    with hooked([part], give, before=True), hooked([part], note):
        subject.run(case)
    return outs[0] if outs else None
