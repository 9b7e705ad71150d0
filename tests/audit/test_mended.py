"""Every planted bug, mended in the line that is shown, passes; a seed gives one model."""

from dataclasses import replace

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


def test_what_has_not_the_line_that_is_shown_cannot_be_mended():
    with pytest.raises(AssertionError, match="does not have this once: no such line"):
        replace(SPECIMENS["A1-sdpa"], wrong="no such line").build(fixed=True)


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
