"""A mask is named by the preset that it is or was meant to be, with a line that mends it."""

import pytest
import torch

from viz_encoder.audit.mask_input.conventions import Convention, from_bool, to_bool
from viz_encoder.audit.mask_input.presets import PRESETS
from viz_encoder.audit.mask_input.recognized import KNOWN, Recognized, recognized

N = 15


@pytest.mark.parametrize("name", KNOWN)
def test_a_preset_is_named(name):
    assert f"“{PRESETS[name].label}" in recognized(PRESETS[name].mask(N)).says


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
@pytest.mark.parametrize("convention", ["keep", "ignore", "ones", "added"])
def test_a_mistake_is_named_with_the_line_that_mends_it(mask, meant, convention):
    found = recognized(mask, convention=Convention(convention))
    assert found.says.startswith(f"This mask is “{meant}”, ") and found.wrong
    assert found.says.endswith(f": write {found.line}")
    passed = from_bool(mask, convention)
    mended = eval(found.line, {"mask": passed, "torch": torch, "len": len})  # as a reader does
    again = to_bool(mended, convention)
    assert recognized(again) == Recognized(f"This mask is “{meant}”.")


def test_a_mask_is_held_against_what_is_meant():
    causal, window = PRESETS["causal"].mask(N), PRESETS["window"].mask(N, reach=2)
    meant = "Causal", causal
    assert recognized(causal, meant, "Your file") == Recognized("Your file is “Causal”.")
    upside = "Your file is “Causal”, inverted (True and False swapped): write ~mask"
    assert recognized(~causal, meant, "Your file") == Recognized(
        upside, "~mask", "inverted (True and False swapped)", wrong=True
    )
    more, less = int((window & ~causal).sum()), int((causal & ~window).sum())
    said = recognized(window, meant).says  # a preset, and not the one that is meant
    assert said == (
        f"This mask is not “Causal”: it allows {more} pairs that “Causal” forbids, and forbids "
        f"{less} that it allows."
    )


def test_of_any_other_mask_nothing_is_said():
    generator = torch.Generator().manual_seed(0)
    assert recognized(torch.rand(N, N, generator=generator) > 0.5) == Recognized()
    assert recognized(torch.ones(N, N, dtype=torch.bool)) == Recognized()
    assert recognized(torch.zeros(N, N, dtype=torch.bool)) == Recognized()
    assert recognized(torch.ones(600, 600, dtype=torch.bool).tril()).says.endswith("“Causal”.")
