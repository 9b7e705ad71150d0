"""How one part of a model answers to another mask, on the very input that it had with its own."""

from collections.abc import Iterator
from contextlib import contextmanager
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
    if name not in named:
        return None
    held: list[Tensor] = []
    outs: list[list[Tensor]] = [[] for _ in cases]
    for case, found in zip(cases, outs, strict=True):
        with _watched(named[name], case, held, found):
            subject.run(case)
    return [found[0] for found in outs] if all(outs) else None


@contextmanager
def _watched(part: nn.Module, case: Case, held: list[Tensor], outs: list[Tensor]) -> Iterator[None]:
    """Its first output with tokens; its first input with tokens is noted once, and given again."""

    def give(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = (*args, *kwargs.values())
        own = tokens_in(values, case)
        if own is None or outs:
            return None
        if not held:
            held.append(own.clone())
        again = [held[0] if one is own else one for one in values]
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
        yield
    finally:
        for hook in hooks:
            hook.remove()
