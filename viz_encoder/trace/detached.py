"""Our own arithmetic beside a running model, with none of the caller's modes on it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch


@contextmanager
def detached_from_caller() -> Iterator[None]:
    """No gradients, inference mode, autocast or torch function modes of the caller."""
    with torch.inference_mode(False), torch.no_grad(), torch._C.DisableTorchFunction():
        autocasts = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
        if not autocasts:
            yield
            return
        with ExitStack() as off:
            for kind in autocasts:
                off.enter_context(torch.autocast(kind, enabled=False))
            yield
