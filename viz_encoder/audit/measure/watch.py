"""While a model runs: torch's calls seen or changed, its modules' calls hooked, no dropout."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from viz_encoder.trace.torch_ops import SOFTMAX


class CallWatch(TorchFunctionMode):
    """While it is entered, sees each call of torch's functions; what `see` gives is passed on."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run it, and see it."""
        kwargs = kwargs or {}
        return self.see(func, args, kwargs, func(*args, **kwargs))

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """What to pass on of one call: its result, or another."""
        return out


class Softmaxes(CallWatch):
    """What `keep` gives of each softmax and the axis that it goes over, unless that is None."""

    def __init__(self, keep: Callable[[Tensor, int], Tensor | None]) -> None:
        super().__init__()
        self.keep = keep
        self.found: list[Tensor] = []

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """Keep it, and pass it on."""
        axis = kwargs.get("dim", args[1] if len(args) > 1 else None)
        if func in SOFTMAX and isinstance(axis, int) and out.ndim:
            kept = self.keep(out.detach(), axis % out.ndim)
            self.found += [] if kept is None else [kept]
        return out


@contextmanager
def hooked(
    modules: Iterable[nn.Module], hook: Callable[..., Any], *, before: bool = False
) -> Iterator[None]:
    """Each call of these modules is shown to the hook: (module, args, kwargs[, result])."""
    names = "register_forward_pre_hook" if before else "register_forward_hook"
    hooks = [getattr(one, names)(hook, with_kwargs=True) for one in modules]
    try:
        yield
    finally:
        for one in hooks:
            one.remove()


class NoDropout(TorchFunctionMode):
    """Training mode without its randomness: every dropout passes all on."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Leave dropout out; run anything else as it is."""
        kwargs = dict(kwargs or {})
        if func in (F.dropout, torch.dropout, F.alpha_dropout, F.dropout1d):
            return args[0] if args else kwargs["input"]
        if func is F.scaled_dot_product_attention:
            args = (*args[:4], 0.0, *args[5:]) if len(args) > 4 else args
            kwargs = {**kwargs, "dropout_p": 0.0} if "dropout_p" in kwargs else kwargs
        return func(*args, **kwargs)


@contextmanager
def without_dropout(whole: nn.Module) -> Iterator[None]:
    """Every rate of dropout is 0 for a while, those of modules and those in their code."""
    held = [
        (module, name, value)
        for module in whole.modules()
        for name, value in vars(module).items()
        if "drop" in name.lower() and isinstance(value, float) and value > 0
    ]
    held += [
        (module, "p", module.p)
        for module in whole.modules()
        if isinstance(module, nn.modules.dropout._DropoutNd)
    ]
    try:
        for module, name, _ in held:
            setattr(module, name, 0.0)
        with NoDropout():
            yield
    finally:
        for module, name, value in held:
            setattr(module, name, value)
