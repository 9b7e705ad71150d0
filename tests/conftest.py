"""What all tests share."""

import pytest
import torch

import viz_encoder as vz


@pytest.fixture(scope="session")
def minilm():
    """The built-in text model, on the CPU."""
    return vz.load("all-MiniLM-L6-v2", device="cpu")


@pytest.fixture
def rng():
    """A seeded source of random numbers."""
    return torch.Generator().manual_seed(0)
