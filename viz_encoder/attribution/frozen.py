"""Frozen: a mode in which a model runs unchanged, and its gradients are those of a linear map."""

from types import FunctionType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from viz_encoder.attribution.rule_names import IN_ORDER, LINEAR
from viz_encoder.attribution.rules import Ledger, Rules, Through, computed
from viz_encoder.attribution.seen import SeenCalls

PLAIN = {int, float, bool, str, type(None), torch.dtype, torch.device, torch.Size}
SAYS_ITS_OWN = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


class Frozen(TorchFunctionMode):
    """While it is entered, gradients hold a run's attention weights, norms and gates fixed.

    through="values": attention weights are constants, so a score is linear in the leaf (the tensor
    that requires a gradient) and in what is added on the way.
    through="attention": the rules of AttnLRP (Achtibat et al., 2024, arXiv:2402.05602), where a
    product of two tensors gives half to each; its parts do not add up to the score.

    Only this thread's calls are changed, so a shared model may run elsewhere at the same time.

    Attributes:
        ledger: what each constant added, once a gradient was taken.
        unruled: names of the functions of the leaf that have no rule, and how often they ran.
    """

    def __init__(
        self,
        through: Through = "values",
        swap: tuple[Tensor, Tensor] | None = None,
        seen: SeenCalls | None = None,
    ) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.unruled: dict[str, int] = {}
        self.rules = Rules(through, self.ledger, seen)
        self._swap = swap  # a tensor, and the leaf that takes its place
        self._untracked = False  # whether a tensor of inference mode was seen

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the function by its rule; one that does not touch the leaf runs as it is."""
        args = tuple([self._bare(each) for each in args])
        kwargs = {name: self._bare(each) for name, each in kwargs.items()} if kwargs else {}
        name = getattr(func, "__name__", "")
        name = name.strip("_") if name.startswith("__") else name
        if not computed((*args, *kwargs.values())):
            return self.rules.follow(name, args, func(*args, **kwargs))
        if self._untracked:
            args = _tracked(args)
            kwargs = {name: _tracked(each) for name, each in kwargs.items()}
        rule = self.rules.get(name.removesuffix("_"))
        if rule is not None and kwargs:
            args = (*args, *[kwargs.pop(each) for each in IN_ORDER if each in kwargs])
        if rule is not None and not name.endswith("_"):
            return self.rules.made(name, args, rule(func, *args, **kwargs))
        if rule is not None and computed(args[0]):
            return self._in_place(name, args, rule(func, *args, **kwargs))
        if name in LINEAR:
            return self.rules.made(name, args, func(*args, **kwargs))
        if isinstance(func, FunctionType) and func.__module__ == F.__name__:
            return self._inside(func, args, kwargs)
        found = func(*args, **kwargs)
        if computed(found):
            self.unruled[name] = self.unruled.get(name, 0) + 1
        return found

    def _bare(self, x: Any) -> Any:
        """Weights are constants; the tensor that is swapped becomes the leaf."""
        kind = type(x)
        if kind in PLAIN:
            return x
        if kind is list or kind is tuple:
            return kind([self._bare(each) for each in x])
        if self._swap is not None and x is self._swap[0]:
            return self._swap[1]
        self._untracked = self._untracked or (isinstance(x, Tensor) and x.is_inference())
        return x if kind is Tensor or not isinstance(x, nn.Parameter) else x.detach()

    def _in_place(self, name: str, args: tuple[Any, ...], found: Tensor) -> Tensor:
        """The result written into x, as by x += y; what is held no longer comes from the leaf."""
        x: Tensor = args[0]
        with torch.enable_grad():
            x.copy_(found)
        if computed(found) or x._is_view():
            return self.rules.made(name.removesuffix("_"), args, x)
        return self.rules.follow(name, (found,), x.detach_())

    def _inside(self, func: FunctionType, args: Any, kwargs: Any) -> Any:
        """A function that is made of others: its own code, with this mode on."""
        names = {**func.__globals__, **dict.fromkeys(SAYS_ITS_OWN, lambda *_: False)}
        code, defaults = func.__code__, func.__defaults__
        body = FunctionType(code, names, func.__name__, defaults, func.__closure__)
        body.__kwdefaults__ = func.__kwdefaults__
        with self:
            return body(*args, **kwargs)


def _tracked(x: Any) -> Any:
    """Tensors made in inference mode, which autograd would not keep, as others."""
    if type(x) in (list, tuple):
        return type(x)(map(_tracked, x))
    return x.clone() if isinstance(x, Tensor) and x.is_inference() else x
