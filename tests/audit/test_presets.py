"""Presets and documents against masks by hand, and masks of files that are named by them."""

import itertools

import numpy as np
import pytest
import torch

from viz_encoder.audit.mask_input.conventions import Convention, from_bool, packed, to_bool
from viz_encoder.audit.mask_input.presets import MAX_TOKENS, PRESETS, custom, preset
from viz_encoder.audit.mask_input.recognized import KNOWN, Recognized, recognized
from viz_encoder.errors import InputError, SelectionError, TooLong

N_TOKENS = 9
# Each rule again, one pair at a time, from what the words of the preset say.
BY_HAND = {
    "none": lambda q, k: True,
    "padding-right": lambda q, k, padding: k not in range(N_TOKENS)[N_TOKENS - padding :],
    "padding-left": lambda q, k, padding: k not in range(N_TOKENS)[:padding],
    "keys": lambda q, k, first, count: k not in range(first, first + count),
    "causal": lambda q, k: k in range(q + 1),
    "window": lambda q, k, reach: k in range(q - reach, q + reach + 1),
    "causal-window": lambda q, k, width: k in range(q, q - width, -1),
    "dilated": lambda q, k, reach, step: k in [q + step * hop for hop in range(-reach, reach + 1)],
    "documents": lambda q, k, length: any(
        q in part and k in part
        for part in (range(start, start + length) for start in range(0, N_TOKENS, length))
    ),
    "prefix": lambda q, k, prefix: k in {*range(prefix), *range(q + 1)},
}


def by_hand(name: str, **sizes: int) -> torch.Tensor:
    rule = BY_HAND[name]
    rows = range(N_TOKENS)
    return torch.tensor([[rule(query, key, **sizes) for key in rows] for query in rows])


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_is_what_its_words_say(name):
    controls = PRESETS[name].controls
    ranges = [range(control.minimum, control.minimum + 5) for control in controls]
    for values in itertools.product(*ranges):
        sizes = {control.name: value for control, value in zip(controls, values, strict=True)}
        assert torch.equal(PRESETS[name].mask(N_TOKENS, **sizes), by_hand(name, **sizes)), sizes


@pytest.mark.parametrize("name", PRESETS)
def test_defaults_mask_something_and_leave_every_real_row_a_key(name):
    mask = PRESETS[name].mask(N_TOKENS)
    assert mask.any(dim=1).all()
    assert bool(mask.all()) is (name == "none")


def test_a_size_beyond_the_sequence_means_all_of_it():
    assert PRESETS["window"].mask(4, reach=10**30).all()
    assert not PRESETS["padding-right"].mask(4, padding=10**30).any()


@pytest.mark.parametrize("wrong", [-1, 0, 2.0, True, "3"])
def test_a_wrong_size_is_refused_with_its_minimum(wrong):
    with pytest.raises(InputError, match="whole number of at least 1"):
        preset("causal-window").mask(4, width=wrong)


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(SelectionError, match=r"choose one of none, padding-right"):
        preset("diagonal")
    with pytest.raises(SelectionError, match="it has reach, step"):
        preset("dilated").mask(4, width=2)
    with pytest.raises(SelectionError, match="it has none"):
        preset("causal").mask(4, width=2)


def test_too_many_tokens_are_refused():
    with pytest.raises(TooLong, match=f"{MAX_TOKENS:,}"):
        preset("causal").mask(MAX_TOKENS + 1)
    with pytest.raises(InputError, match="at least 1"):
        preset("causal").mask(0)
    with pytest.raises(TooLong):
        custom(torch.ones(1, 1, dtype=torch.bool).expand(MAX_TOKENS + 1, MAX_TOKENS + 1))


def test_a_mask_written_out():
    mask = custom(["100", " 110", "111\n"])
    assert torch.equal(mask, torch.ones(3, 3).tril().bool())
    given = torch.eye(3).bool()
    assert torch.equal(custom(given), given)
    assert custom(given) is not given


@pytest.mark.parametrize("rows", [["10", "11", "01"], ["12", "11"], ["1"] * 2])
def test_a_mask_written_wrong_names_its_row(rows):
    with pytest.raises(InputError, match="Row 0"):
        custom(rows)


@pytest.mark.parametrize("mask", [torch.ones(2, 3).bool(), torch.ones(2, 2), torch.ones(2).bool()])
def test_a_custom_mask_is_a_square_of_bools(mask):
    with pytest.raises(InputError, match=r"square of torch\.bool"):
        custom(mask)


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
        (PRESETS["causal"].mask(N).flip(0), "Causal"),
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
        f"This mask is not “Causal”: it allows {more} pairs that it should forbid, and forbids "
        f"{less} that it should allow."
    )


def test_of_any_other_mask_nothing_is_said():
    generator = torch.Generator().manual_seed(0)
    assert recognized(torch.rand(N, N, generator=generator) > 0.5) == Recognized()
    assert recognized(torch.ones(N, N, dtype=torch.bool)) == Recognized()
    assert recognized(torch.zeros(N, N, dtype=torch.bool)) == Recognized()
    assert recognized(torch.ones(600, 600, dtype=torch.bool).tril()).says.endswith("“Causal”.")


@pytest.mark.parametrize("lengths", [[5, 7, 3], [4], [1, 1], [15]])
def test_documents_of_their_own_lengths_are_blocks(lengths):
    expected = np.zeros((15, 15), dtype=bool)
    start = 0
    for length in [*lengths, 15 - sum(lengths)]:
        expected[start : start + length, start : start + length] = True
        start += length
    np.testing.assert_array_equal(packed(15, lengths).numpy(), expected)


@pytest.mark.parametrize("lengths", [[0], [-1, 3], [16], [2.5], ["4"], [True]])
def test_lengths_that_cannot_be_are_refused(lengths):
    with pytest.raises(InputError):
        packed(15, lengths)
