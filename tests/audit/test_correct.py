"""Models whose masks are right pass without a warning, whatever their weights."""

import pytest

from tests.audit.table import CORRECT, OF_TORCH, of_correct
from viz_encoder.audit import Verdict

MODELS = [
    (name, seed)
    for name in CORRECT
    for seed in range(5 if name in OF_TORCH else 2)  # those of transformers take longer
]


@pytest.mark.parametrize(("name", "seed"), MODELS)
def test_a_correct_model_passes_without_a_warning(name, seed):
    report = of_correct(name, seed)
    assert report.verdict is Verdict.PASS, report
