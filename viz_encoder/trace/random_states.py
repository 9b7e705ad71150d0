"""Random states: those of Python, numpy and torch, put back after a model was run."""

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def random_states_kept(devices: Iterable[torch.device]) -> Iterator[None]:
    """Restore the random states on exit.

    Args:
        devices: of the model; those that are CUDA devices have states of their own.
    """
    gpus = {one.index for one in devices if one.type == "cuda"}
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices=gpus):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
