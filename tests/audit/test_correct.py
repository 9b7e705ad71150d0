"""Models whose masks are right pass without a warning, whatever their weights."""

import pytest

from tests.audit.table import CORRECT, of_correct
from viz_encoder.audit import Verdict

DRAWS = range(2)  # the table takes more


@pytest.mark.parametrize("seed", DRAWS)
@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_model_passes_without_a_warning(name, seed):
    report = of_correct(name, seed)
    assert report.verdict is Verdict.PASS, report
