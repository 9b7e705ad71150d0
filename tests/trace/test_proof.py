"""The proof: passes on what ran, and fails on every planted fault, naming where it is."""

from dataclasses import replace
from itertools import product

import pytest
import torch

import viz_encoder as vz
from viz_encoder.trace import proof as proof_module
from viz_encoder.trace.layer import LayerTrace

TEXTS = ["The animal didn't cross the street because it was too tired", "A short one"]


@pytest.fixture(scope="module")
def trace(minilm):
    """A run with padding, so that there is a mask to spoil."""
    return vz.capture(minilm, TEXTS)[1]


def spoiled(trace, number, **changes):
    """The same run with one layer changed."""
    layers = list(trace.layers)
    layers[number] = replace(layers[number], **changes)
    return replace(trace, layers=tuple(layers))


def one_row_open(mask, n):
    opened = mask.expand(1, n, n).clone()
    opened[0, 2, -1] = True
    return opened


FAULTS = {
    "mask dropped": lambda t: {"mask": None},
    "mask inverted": lambda t: {"mask": ~t.layers[2].mask},
    "one pair let through": lambda t: {"mask": one_row_open(t.layers[2].mask, t.n_tokens)},
    "scale 1 % off": lambda t: {"scale": t.layers[2].scale * 1.01},
    "queries of another layer": lambda t: {"q": t.layers[3].q},
    "heads swapped": lambda t: {"q": t.layers[2].q.flip(0)},
    "one query changed": lambda t: {
        "q": t.layers[2].q + 0.1 * (torch.arange(t.n_tokens) == 4)[:, None]
    },
    "values of another layer": lambda t: {"v": t.layers[3].v},
    "rows and columns swapped": lambda t: {"q": t.layers[2].k, "k": t.layers[2].q},
    "a bias that did not run": lambda t: {"bias": torch.eye(t.n_tokens)[None]},
}


def test_what_ran_passes(trace):
    proof = trace.proof
    assert proof.passed and proof.error <= 2e-6 and proof.nan_rows == 0
    assert proof.sentence.startswith("The maps are the ones that ran")


def test_a_planted_fault_is_found_in_its_layer(trace):
    for name, fault in FAULTS.items():
        proof = spoiled(trace, 2, **fault(trace)).proof
        assert not proof.passed and proof.worst[0] == 2, name
        assert "NOT the ones that ran" in proof.sentence and "layer 2" in proof.sentence, name


def one_head(x, head):
    """Twice as large in that head."""
    grown = x.clone()
    grown[head] *= 2
    return grown


def test_the_layer_and_the_head_are_named(trace):
    for place, part in product([(0, 0), (0, 11), (3, 7), (5, 4), (5, 11)], "qkv"):
        layer, head = place
        changed = one_head(getattr(trace.layers[layer], part), head)
        proof = spoiled(trace, layer, **{part: changed}).proof
        assert not proof.passed and proof.worst[:2] == place, (place, part)
        assert f"layer {layer}, head {head}, query " in proof.sentence


@pytest.mark.parametrize("query", [0, 4])
def test_the_row_whose_mask_was_changed_is_named(trace, query):
    n = trace.n_tokens
    mask = trace.layers[4].mask.expand(12, n, n).clone()
    mask[9, query, 1] = False
    proof = spoiled(trace, 4, mask=mask).proof
    assert not proof.passed and proof.worst == (4, 9, query)


def test_two_heads_permuted(trace):
    order = [0, 1, 2, 3, 4, 6, 5, *range(7, 12)]
    layer = trace.layers[1]
    whole = {part: getattr(layer, part)[order] for part in ("q", "k", "v")}
    proof = spoiled(trace, 1, **whole).proof
    assert not proof.passed and proof.worst[0] == 1 and proof.worst[1] in (5, 6)


def test_rows_that_may_attend_to_nothing_are_counted_and_pass(minilm):
    n = vz.capture(minilm, TEXTS[0]).n_tokens
    mask = torch.ones(n, n, dtype=torch.bool)
    mask[3] = False
    trace = vz.capture(minilm, TEXTS[0], mask=mask)
    assert trace.proof.passed and trace.proof.empty_rows == 6 * 12
    assert float(trace.attention(2)[:, 3].abs().max()) == 0
    opened = mask.clone()
    opened[3, 0] = True
    assert not spoiled(trace, 2, mask=opened[None]).proof.passed
    closed = mask.clone()
    closed[5] = False
    proof = spoiled(trace, 2, mask=closed[None]).proof
    assert not proof.passed and (proof.worst[0], proof.worst[2]) == (2, 5)


def test_nan_is_told(trace):
    q = trace.layers[1].q.clone()
    q[0, 0] = torch.nan
    proof = spoiled(trace, 1, q=q).proof
    assert not proof.passed and proof.nan_rows == 1 and "not numbers" in proof.sentence


def test_without_signatures_nothing_is_claimed(trace):
    proof = spoiled(trace, 0, signature=None).proof
    assert not proof.passed and proof.error is None and "nothing to check" in proof.sentence


def test_large_scores_raise_no_false_alarm(minilm):
    """Scores in the hundreds round more coarsely in float32; that is no fault."""
    encoder = vz.load("all-MiniLM-L6-v2", device="cpu")
    with torch.no_grad():
        for layer in encoder.model.layers:
            layer.attn.q.weight *= 6
            layer.attn.k.weight *= 6
    trace = vz.capture(encoder, " ".join(TEXTS) * 12)
    assert trace.proof.passed
    assert not spoiled(trace, 2, scale=trace.layers[2].scale * 1.01).proof.passed


@pytest.mark.parametrize("layer", [0, 2])
def test_a_signature_that_is_no_number_never_passes(minilm, layer):
    trace = vz.capture(minilm, "one two")
    signature = trace.layers[layer].signature.clone()
    signature[1, 2] = torch.nan
    proof = spoiled(trace, layer, signature=signature).proof
    assert not proof.passed and proof.worst[0] == layer


def test_the_tolerance_has_an_end():
    """However large the scores, a map that is 1 % off is not the one that ran."""
    big = torch.full((1, 4, 2), 3e4)
    layer = LayerTrace(big, big, torch.randn(1, 4, 2), 1.0)
    assert proof_module._tolerance(layer, "float32") == proof_module.MOST < 1e-2
