"""The numbers that a model's code fills or shifts scores with, noted while it runs."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_dynamo_compiling

from viz_encoder.audit.measure.setting import Case
from viz_encoder.audit.measure.subject import Subject
from viz_encoder.audit.measure.watch import CallWatch

SAFE = -1e5  # an additive constant above this can lose to a score


class Constants(CallWatch):
    """Notes each number that scores are filled, replaced or shifted with, and what it gets into."""

    def __init__(self, n_tokens: int, passed: Tensor | None = None, value: float = 0.0) -> None:
        """Scores are known by their last two axes; `passed` is a mask that holds `value`."""
        super().__init__()
        self.n_tokens = n_tokens
        self.found: list[float] = []
        self._compared: set[int] = set()  # by their place in `found`
        self._made_of: dict[int, tuple[Tensor, set[int]]] = {}  # tensors are held, so ids stay
        if passed is not None:
            self._add(passed, value)

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """Look at its numbers."""
        if is_dynamo_compiling():  # dynamo traces this very code, and caches the result
            return out
        if self.found:
            self._follow(func, (*args, *kwargs.values()), out)
        name = getattr(func, "__name__", "")
        if name.startswith("masked_fill"):
            self._note(out, kwargs.get("value", args[2] if len(args) > 2 else None))
        elif func in (torch.where, Tensor.where) and len(args) == 3:
            for one in args[1:]:
                self._note(out, one)
        elif func in (torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__) and len(args) == 2:
            for one in args:
                value = _number(one)
                if value is not None and value <= -100:
                    self._note(out, one, scores=False)
        return out

    def _note(self, out: Any, value: Any, scores: bool = True) -> None:
        number = _number(value)
        if number is None or not isinstance(out, Tensor) or not out.is_floating_point():
            return
        square = out.ndim >= 2 and out.shape[-2:] == (self.n_tokens, self.n_tokens)
        row = not scores and out.ndim >= 2 and out.shape[-1] == self.n_tokens
        zero = number == 0  # after the softmax, or in a mask that is being made
        if (square or row) and not zero and number > max(SAFE, torch.finfo(out.dtype).min / 2):
            self._add(out, number)

    def _add(self, one: Tensor, number: float) -> None:
        self._hold(one, {len(self.found)})
        self.found.append(number)

    def bans(self, at: int, out: Tensor) -> bool:
        """Whether this one gets into the output; one that is only compared bans nothing."""
        return at not in self._compared or at in self._in((out,))

    def _follow(self, func: Any, given: tuple[Any, ...], out: Any) -> None:
        numbers = self._in(given)
        changed = (out, given[0]) if func is Tensor.__setitem__ else (out,)
        for one in _tensors(changed) if numbers else ():
            if one.is_floating_point():
                self._hold(one, numbers)
            else:
                self._compared |= numbers

    def _in(self, given: tuple[Any, ...]) -> set[int]:
        each = [self._made_of[id(one)][1] for one in _tensors(given) if id(one) in self._made_of]
        return set().union(*each)

    def _hold(self, one: Tensor, numbers: set[int]) -> None:
        self._made_of[id(one)] = one, numbers | self._in((one,))


def _tensors(given: Any) -> Iterable[Tensor]:
    """Those among them and in their lists."""
    for one in given:
        if isinstance(one, Tensor):
            yield one
        elif isinstance(one, list | tuple):
            yield from _tensors(one)


def _number(value: Any) -> float | None:
    if isinstance(value, Tensor):
        return float(value) if value.ndim == 0 and value.is_floating_point() else None
    return float(value) if isinstance(value, int | float) and value is not True else None


def too_small(subject: Subject, case: Case, *, grad: bool) -> float | None:
    """The first number in the code that fills scores and is too small to ban."""
    with Constants(case.valid.shape[1]) as seen:
        out = subject.run(case, grad=grad)
    found = enumerate(seen.found)
    return next((value for at, value in found if value < 1 and seen.bans(at, out)), None)


def gets_in(subject: Subject, case: Case, passed: Tensor, value: float, *, grad: bool) -> bool:
    """Whether a mask that is passed with this number gets into the output as a number.

    One that the model only compares, as in mask == 0, leaves no weight whatever its number.
    """
    with Constants(case.valid.shape[1], passed, value) as seen:
        out = subject.run(case, grad=grad)
    return seen.bans(0, out)
