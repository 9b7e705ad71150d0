"""Two runs that several analyses are asked about."""

import pytest

import viz_encoder as vz


@pytest.fixture(scope="module")
def traces(minilm):
    """Two runs of one padded batch; the second has padding queries and masked keys."""
    texts = ["The animal didn't cross the street because it was too tired", "A short one"]
    return vz.capture(minilm, texts)
