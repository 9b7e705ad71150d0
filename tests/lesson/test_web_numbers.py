"""The numbers that the browser's forward pass is held to are those of numpy."""

import json

import pytest

from tests.lesson import web_numbers
from viz_encoder.errors import ConfigError
from viz_encoder.ui.state.built import Built


def test_the_file_is_up_to_date():
    kept = json.loads(web_numbers.FILE.read_text(encoding="utf-8"))
    found = web_numbers.plain(web_numbers.numbers())
    assert kept.keys() == found.keys()
    for name, value in found.items():
        same(kept[name], value, name)


def same(kept, found, where):
    if isinstance(found, dict):
        assert kept.keys() == found.keys(), where
        for name, value in found.items():
            same(kept[name], value, f"{where}.{name}")
    elif isinstance(found, list):
        assert len(kept) == len(found), where
        for at, (one, other) in enumerate(zip(kept, found, strict=True)):
            same(one, other, f"{where}[{at}]")
    elif isinstance(found, float):
        assert kept == pytest.approx(found, rel=1e-7, abs=1e-9), where
    else:
        assert kept == found, where


@pytest.mark.parametrize("sizes", web_numbers.REFUSED, ids=str)
def test_sizes_that_are_refused_there_are_refused_here(sizes):
    with pytest.raises(ConfigError):
        Built.of(sizes).config  # noqa: B018
