"""Runs that are drawn: a text of markup, the same with padding, and a picture."""

import pytest

import viz_encoder as vz
from tests.by_hand import loud
from tests.ui.texts import PICTURES
from viz_encoder.bundled import asset

MARKUP = "<b>the</b> the the <a href='x'>cat</a>"


@pytest.fixture(scope="package")
def trace(minilm):
    """A text that would be markup, with equal tokens."""
    return vz.capture(minilm, MARKUP)


@pytest.fixture(scope="package")
def padded(minilm):
    """With padding whose hidden states would be seen in any number they entered."""
    return loud(vz.capture(minilm, [MARKUP, " ".join([MARKUP] * 2)])[0])


@pytest.fixture(scope="package")
def picture(scene):
    """A wide picture, of patches after [CLS]."""
    return vz.capture(scene, asset(PICTURES["a wide scene"]))
