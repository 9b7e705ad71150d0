"""A mask is named by the preset that it is or was meant to be, with a line that mends it."""

import re

import pytest
import torch

from viz_encoder.audit.mask_input.presets import PRESETS
from viz_encoder.audit.mask_input.recognized import KNOWN, MISTAKES, recognized

N = 15


@pytest.mark.parametrize("name", KNOWN)
def test_a_preset_is_named(name):
    assert f"“{PRESETS[name].label}" in recognized(PRESETS[name].mask(N))


@pytest.mark.parametrize(
    ("mask", "meant"),
    [
        (~PRESETS["causal"].mask(N), "Causal"),
        (PRESETS["causal"].mask(N).T, "Causal"),
        (~PRESETS["causal"].mask(N).T, "Causal"),
        (PRESETS["causal"].mask(N).tril(-1), "Causal"),
        (torch.ones(N, N, dtype=torch.bool).tril(1), "Causal"),
        (~PRESETS["padding-right"].mask(N, padding=3), "Padding at the end, padding 3"),
        (PRESETS["padding-left"].mask(N, padding=2).T, "Padding at the start, padding 2"),
        (~PRESETS["documents"].mask(N, length=4), "Packed documents, length 4"),
    ],
)
def test_a_mistake_is_named_with_the_line_that_mends_it(mask, meant):
    said = recognized(mask)
    assert f"“{meant}”" in said
    line = re.search(r"write (.*)$", said)[1]
    assert line in [mistake.line for mistake in MISTAKES]
    mended = eval(line, {"mask": mask, "torch": torch, "len": len})  # as a reader does
    assert recognized(mended) == f"This mask is the preset “{meant}”."


def test_of_any_other_mask_nothing_is_said():
    generator = torch.Generator().manual_seed(0)
    assert recognized(torch.rand(N, N, generator=generator) > 0.5) == ""
    assert recognized(torch.ones(N, N, dtype=torch.bool)) == ""
    assert recognized(torch.zeros(N, N, dtype=torch.bool)) == ""
    assert recognized(torch.ones(600, 600, dtype=torch.bool).tril()).endswith("“Causal”.")
