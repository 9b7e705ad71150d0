"""Undisturbed: a model run once more beside a training loop that must not notice."""

import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
import torch
from torch import nn


@contextmanager
def undisturbed(module: nn.Module) -> Iterator[None]:
    """Without gradients and compiled code; afterwards random states and buffers are as before.

    It has to end before the model's own pass begins, for that one may save buffers for its backward
    pass. What a model keeps in attributes of its own, such as a cache, is not put back.
    """
    held = [(one, one.detach().clone()) for one in module.buffers()]
    devices = {one.device for one in (*module.parameters(), *module.buffers())}
    gpus = [one.index for one in devices if one.type == "cuda"]
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with (
            torch.random.fork_rng(devices=gpus),
            torch.no_grad(),
            _eager(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        with torch.no_grad():
            for one, before in held:
                if not torch.equal(one, before):
                    one.copy_(before)


def _eager() -> AbstractContextManager[object]:
    """Compiled code runs as it was written; torch's compiler is not imported for that."""
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    return torch.compiler.set_stance("force_eager")
