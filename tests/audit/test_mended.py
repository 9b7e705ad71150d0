"""Every planted bug, mended in the line that is shown, passes; a seed gives one model."""

import inspect
import re

import pytest
import torch

from tests.audit.table import SPECIMENS, of_specimen
from tests.slow import slow_but
from viz_encoder.audit import Verdict

ONE_A_CHECK = {one.flagged_by: identifier for identifier, one in SPECIMENS.items()}


@pytest.mark.parametrize("identifier", slow_but(ONE_A_CHECK.values(), SPECIMENS))
def test_the_mended_line_passes(identifier):
    report = of_specimen(identifier, 0, True)
    assert report.verdict is Verdict.PASS, report


@pytest.mark.parametrize("identifier", SPECIMENS)
def test_the_lines_shown_are_lines_that_run(identifier):
    specimen = SPECIMENS[identifier]
    body = squeezed(inspect.getsource(specimen.make).partition("\ndef ")[2])
    assert squeezed(specimen.wrong) in body
    assert squeezed(specimen.right.partition("  #")[0]) in body


def squeezed(code: str) -> str:
    """Without the breaks and commas that formatting puts in."""
    return re.sub(r"\s+|,(?=\s*\))", "", code)


@pytest.mark.parametrize("identifier", slow_but(ONE_A_CHECK.values(), SPECIMENS))
def test_a_seed_gives_one_model_and_mending_leaves_its_weights(identifier):
    def weights(seed, fixed=False):
        return dict(SPECIMENS[identifier].build(seed, fixed=fixed).model.named_parameters())

    first, again, mended, other = weights(0), weights(0), weights(0, True), weights(1)
    assert first.keys() == again.keys() == mended.keys()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert all(torch.equal(first[name], mended[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


def test_building_a_model_leaves_the_global_randomness_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    for specimen in SPECIMENS.values():
        specimen.build(0)
    assert torch.equal(torch.get_rng_state(), before)
