"""What all tests share."""

import pytest
import torch
from hypothesis import settings

import viz_encoder as vz

torch.set_num_threads(2)
settings.register_profile("no clock", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("no clock")


@pytest.fixture(scope="session")
def minilm():
    """The built-in text model, on the CPU."""
    return vz.load("all-MiniLM-L6-v2", device="cpu")


@pytest.fixture
def rng():
    """A seeded source of random numbers."""
    return torch.Generator().manual_seed(0)
