"""Undisturbed: a model run once more beside a training loop that must not notice."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import nn

from viz_encoder.audit.measure.random_states import random_states_kept


@contextmanager
def undisturbed(module: nn.Module) -> Iterator[None]:
    """Without gradients and compiled code; afterwards random states and buffers are as before.

    It has to end before the model's own pass begins, for that one may save buffers for its backward
    pass. What a model keeps in attributes of its own, such as a cache, is not put back.
    """
    held = [(one, one.detach().clone()) for one in module.buffers()]
    devices = {one.device for one in (*module.parameters(), *module.buffers())}
    try:
        with (
            random_states_kept(devices),
            torch.no_grad(),
            _eager(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        with torch.no_grad():
            for one, before in held:
                if not torch.equal(one, before):
                    one.copy_(before)


def _eager() -> AbstractContextManager[object]:
    """Compiled code runs as it was written; torch's compiler is not imported for that."""
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    return torch.compiler.set_stance("force_eager")
