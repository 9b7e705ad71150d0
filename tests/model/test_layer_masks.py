"""Masks by layer and head: which meet, which do not fit, and which mark real tokens instead."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from viz_encoder.model.layer_masks import of_each_layer

SENTENCE = "the keys to the cabinet [MASK] old"


def cut(n_tokens, query, key):
    mask = torch.ones(n_tokens, n_tokens, dtype=torch.bool)
    mask[query, key] = False
    return mask


def test_what_is_masked_twice_must_be_allowed_twice():
    first, second = cut(5, 0, 1), cut(5, 0, 2)
    found = of_each_layer({0: first, (0, 1): second}, 2, (1, 3, 5, 5))
    assert found[1] is None
    expected = torch.stack([first, first & second, first])[None]
    assert torch.equal(found[0].expand(1, 3, 5, 5), expected)


def test_a_mask_of_a_batch_is_cut_to_each_sample(grammar):
    texts = [SENTENCE, "the dogs to the cabinet [MASK] old"]
    n_tokens = vz.capture(grammar, SENTENCE).n_tokens
    masks = torch.ones(2, n_tokens, n_tokens, dtype=torch.bool)
    masks[1, 6, 2] = False
    traces = vz.capture(grammar, texts, mask={(0, 0): masks})
    weights = [float(trace.attention(0, 0)[6, 2]) for trace in traces]
    assert weights[0] > 0 and weights[1] == 0
    assert np.isfinite(weights).all()


@pytest.mark.parametrize(
    ("place", "shape", "said"),
    [
        (9, (9, 9), "layer 9"),
        ((0, 4), (9, 9), "head 4"),
        ("all", (9, 9), "'all'"),
        ((0, 1, 2), (9, 9), "name a layer"),
        ((0, 1), (1, 4, 9, 9), "4 heads; give a mask for one head"),
        (0, (5, 5), "each must be"),
    ],
)
def test_what_does_not_fit_is_said(grammar, place, shape, said):
    with pytest.raises(vz.VizEncoderError, match=said):
        vz.capture(grammar, SENTENCE, mask={place: torch.ones(shape, dtype=torch.bool)})


def test_a_mask_that_is_no_tensor_is_refused(grammar):
    with pytest.raises(vz.VizEncoderError, match="list"):
        vz.capture(grammar, SENTENCE, mask={0: [[True]]})


IDS = torch.tensor([[2, 9, 9, 9, 3], [2, 9, 3, 0, 0]])
REAL = IDS != 0
TOKENIZED = {"input_ids": IDS}


@pytest.mark.parametrize(
    ("source", "mask", "cure"),
    [
        (IDS, REAL, "write vz.capture(encoder, source, valid=mask)"),
        (IDS, REAL.long(), "write vz.capture(encoder, source, attention_mask=mask)"),
        (IDS, {1: REAL}, "write vz.capture(encoder, source, valid=mask)"),
        (IDS[1], REAL[1], "write vz.capture(encoder, source, valid=mask)"),
        (IDS[1:], REAL[1:], "write vz.capture(encoder, source, valid=mask)"),
        (IDS[1].tolist(), REAL[1], "write vz.capture(encoder, source, valid=mask)"),
        (TOKENIZED, REAL, 'write vz.capture(encoder, {**source, "attention_mask": mask})'),
        ({**TOKENIZED, "attention_mask": REAL.long()}, REAL, "leave it out"),
        (["the dog sees the", "the"], torch.ones(2, 6, dtype=torch.bool), "leave it out"),
    ],
)
def test_a_mask_of_real_tokens_is_told_its_own_argument(grammar, source, mask, cure):
    with pytest.raises(vz.VizEncoderError, match="mask= tells which query may attend") as told:
        vz.capture(grammar, source, mask=mask)
    assert cure in str(told.value)
    if "write " not in cure:
        return
    given = next(iter(mask.values())) if isinstance(mask, dict) else mask
    line = cure.removeprefix("write ")  # the line as it is written does what was meant
    found = eval(line, {"vz": vz, "encoder": grammar, "source": source, "mask": given})
    last = found[-1] if isinstance(found, list) else found
    assert last.valid.tolist() == [True] * 3 + [False] * 2


def test_keys_may_be_closed_to_all_queries_of_a_row(grammar):
    closed = torch.tensor([True, True, False, True, True])
    rows = closed.expand(2, 5)
    for mask in (closed.expand(5, 5), rows[:, None], rows[:, None, None]):
        trace = vz.capture(grammar, IDS[:1].expand(2, 5), mask=mask)[0]
        assert not trace.attention(2)[:, :, 2].any() and trace.valid.all()


def test_as_many_rows_as_tokens_leave_a_mask_open_to_both_readings(grammar):
    ids = torch.full((5, 5), 9)
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    notes = vz.capture(grammar, ids, mask=causal)[0].notes
    assert any("read as (query, key)" in note and "valid=mask" in note for note in notes)
    assert not vz.capture(grammar, ids[:1], mask=causal).notes
    one = vz.capture(grammar, ids[:1, :1], mask=torch.ones(1, 1, dtype=torch.bool))
    assert not one.notes
