"""What all tests share."""

import pytest

import viz_encoder as vz


@pytest.fixture(scope="session")
def minilm():
    """The built-in text model, on the CPU."""
    return vz.load("all-MiniLM-L6-v2", device="cpu")
