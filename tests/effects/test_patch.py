"""Heads put from one run into another: grammar's roles, and hooks on a copy of the model."""

import copy

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.refusals import refused

TWINS = {  # rule: clean, other, the head that carries it
    "agreement": (
        "the keys to the cabinet [MASK] old",
        "the key to the cabinet [MASK] old",
        (3, 0),
    ),
    "reference": (
        "the girl saw the boy because [MASK] was tired",
        "the boy saw the girl because [MASK] was tired",
        (2, 3),
    ),
    "reference, one word": (
        "the girl saw the man because [MASK] was tired",
        "the boy saw the man because [MASK] was tired",
        (2, 3),
    ),
    "copying": ("copy : a d b = a [MASK] b", "copy : a c b = a [MASK] b", (1, 2)),
}
NEAR = 4e-4  # of logits about 20


@pytest.mark.parametrize("direction", ["noising", "denoising"])
@pytest.mark.parametrize("rule", TWINS)
def test_the_head_that_carries_the_rule_comes_first(grammar, rule, direction):
    clean, other, role = TWINS[rule]
    found = vz.patch(grammar, clean, other, direction=direction)
    assert found.ranked(1) == (role,)
    assert found.mean[role] > 0.5


@pytest.mark.parametrize("direction", ["noising", "denoising"])
def test_a_patch_is_what_a_hook_on_a_copy_gives(grammar, direction):
    """Independent: W_O's inputs are kept by hooks on one run and put into the other."""
    clean, other, _ = TWINS["agreement"]
    layer, head, d_head = 2, 0, grammar.config.d_head
    texts = (clean, other) if direction == "noising" else (other, clean)
    ids = [grammar.read(text).values for text in texts]
    at = grammar.read(clean).samples[0].tokens.index("[MASK]")
    model, kept = copy.deepcopy(grammar.model), []
    projection = model.layers[layer].attn.o
    places = slice(head * d_head, (head + 1) * d_head)

    def put(_, args):
        merged = args[0].clone()
        merged[..., places] = kept[0][..., places]
        return (merged,)

    with torch.no_grad():
        keep = projection.register_forward_pre_hook(lambda _, args: kept.append(args[0]))
        model(ids[1])
        keep.remove()
        projection.register_forward_pre_hook(put)
        logits = model.heads["masked"](model(ids[0]).output)[0, at].double()
    are, is_ = (grammar.reader.tokenizer.token_to_id(word) for word in ("are", "is"))
    found = vz.patch(grammar, clean, other, direction=direction)
    assert found.values[0, layer, head] == pytest.approx(float(logits[are] - logits[is_]), abs=NEAR)


def test_shares_go_from_one_run_to_the_other(grammar):
    clean, other, _ = TWINS["copying"]
    there = vz.patch(grammar, clean, other)
    back = vz.patch(grammar, clean, other, direction="denoising")
    means = [there.mean[at] for at in there.ranked(16)]
    assert means == sorted(means, reverse=True) and means[-1] < 0
    way = there.other[0] - there.clean[0]
    assert np.allclose(there.shares[0], (there.values[0] - there.clean[0]) / way)
    assert np.allclose(back.shares[0], (back.values[0] - back.other[0]) / -way)
    assert there.clean[0] > 0 > there.other[0]


def test_vectors_are_measured_from_the_clean_run(minilm):
    clean, other = "The street was too tired", "The street was too wide"
    found = vz.patch(minilm, clean, other, [(3, 1), (5, 0)], measure="pooled")
    vectors = [
        vz.pool(vz.capture(minilm, text).output, vz.capture(minilm, text).valid, "mean")
        for text in (clean, other)
    ]
    apart = 1 - float(torch.nn.functional.cosine_similarity(*vectors, dim=0))
    assert found.clean[0] == 0
    assert found.other[0] == pytest.approx(apart, abs=2e-6)
    assert np.isfinite(found.shares).sum() == 2


def test_several_pairs_are_several_rows(grammar):
    pairs = [TWINS[rule] for rule in ("agreement", "copying")]
    told = []
    found = vz.patch(grammar, [p[0] for p in pairs], [p[1] for p in pairs], progress=told.append)
    assert told == sorted(told) and told[0] <= 0.5 and told[-1] == 1
    for number, (clean, other, _) in enumerate(pairs):
        assert np.allclose(found.shares[number], vz.patch(grammar, clean, other).shares[0])
    assert len(found.columns()["share"]) == found.shares.size


@pytest.mark.parametrize(
    ("clean", "other", "said"),
    [
        ("the key [MASK] old", "the key to the cabinet [MASK] old", "5 .* tokens|tokens"),
        ("the key [MASK] old", "the cat [MASK] old", "Both runs answer"),
        ("the keys [MASK] old", "the [MASK] are old", "token 3 in one text and 2 in its twin"),
        (["the key [MASK] old"], "the keys [MASK] old", None),
        (["the key [MASK] old"], ["a", "b"], "1 clean inputs and 2"),
    ],
)
def test_twins_must_fit_and_differ(grammar, clean, other, said):
    if said is None:
        assert vz.patch(grammar, clean, other, [(0, 0)]).shares.shape[0] == 1
        return
    refused(vz.VizEncoderError, said, vz.patch, grammar, clean, other)


def test_another_direction_is_refused(grammar):
    refused(vz.VizEncoderError, "'up'", vz.patch, grammar, *TWINS["agreement"][:2], direction="up")
