"""detached_from_caller: shields our arithmetic from the caller's modes."""

from types import TracebackType

import torch
from torch._C import _len_torch_dispatch_stack
from torch.utils._python_dispatch import _disable_current_modes

AUTOCAST = ("cpu", "cuda")


class detached_from_caller:
    """Suspend the caller's gradients, inference mode, autocast, and function and dispatch modes.

    A class, because it is entered some forty times a run and a generator takes four times as long.
    """

    def __enter__(self) -> None:
        """Save the caller's modes and turn them off."""
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
        """Restore the caller's modes."""
        for cast in self._casts:
            torch.set_autocast_enabled(cast, True)
        torch._C._set_grad_enabled(self._gradients)
        self._inference.__exit__(kind, fault, where)
        if self._dispatch is not None:
            self._dispatch.__exit__(kind, fault, where)
        self._functions.__exit__(kind, fault, where)
