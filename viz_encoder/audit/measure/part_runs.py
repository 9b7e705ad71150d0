"""Runs one part of a model on another input than the model gives it."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from viz_encoder.audit.measure.parts import name_in, tokens_in
from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.measure.subject import Subject


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

    def note(module: nn.Module, args: Any, out: Any) -> None:
        made = tokens_in((out,), case)
        if made is not None:
            outs.append(made)

    hooks = [
        part.register_forward_pre_hook(give, with_kwargs=True),
        part.register_forward_hook(note),
    ]
    try:
        subject.run(case)
    finally:
        for hook in hooks:
            hook.remove()
    return outs[0] if outs else None
