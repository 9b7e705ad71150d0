"""Our own arithmetic beside a running model, with none of the caller's modes on it."""

from types import TracebackType

import torch
from torch._C import _len_torch_dispatch_stack
from torch.utils._python_dispatch import _disable_current_modes

AUTOCAST = ("cpu", "cuda")


class detached_from_caller:
    """No gradients, inference mode, autocast, function or dispatch modes of the caller.

    It is entered some forty times a run, and a generator would take four times as long.
    """

    def __enter__(self) -> None:
        """Note what is on, and turn it off."""
        self._functions = torch._C.DisableTorchFunction()
        self._functions.__enter__()
        self._dispatch = _disable_current_modes() if _len_torch_dispatch_stack() else None
        if self._dispatch is not None:
            self._dispatch.__enter__()
        self._inference = torch._C._InferenceMode(False)
        self._inference.__enter__()
        self._gradients = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        self._casts = [kind for kind in AUTOCAST if torch.is_autocast_enabled(kind)]
        for kind in self._casts:
            torch.set_autocast_enabled(kind, False)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Turn it on again."""
        for cast in self._casts:
            torch.set_autocast_enabled(cast, True)
        torch._C._set_grad_enabled(self._gradients)
        self._inference.__exit__(kind, fault, where)
        if self._dispatch is not None:
            self._dispatch.__exit__(kind, fault, where)
        self._functions.__exit__(kind, fault, where)
