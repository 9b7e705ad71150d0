"""Why two texts are alike: the parts against loops over hidden states, their sum, and MaxSim."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.refusals import refused
from tests.slow import slow
from tests.ui.texts import PICTURES
from viz_encoder.analyses.token_pairs import token_pairs
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError
from viz_encoder.model.declared import Declared, Dense, Normalize

TEXTS = "The bank approved the loan", "The lender granted the credit unwillingly"


@pytest.fixture(scope="module")
def runs(minilm):
    return [vz.capture(minilm, text) for text in TEXTS]


METHODS = ("mean", "cls", "last", "cls_mean", "received", "declared", "first_last")


def vectors(trace, layer, method):
    """One part a token, in float64, by its definition."""
    h = (trace.hidden(layer) if layer < trace.n_layers else trace.output).double().numpy()
    n, zero = len(h), np.zeros_like(h)
    first, last = zero.copy(), zero.copy()
    first[0], last[-1] = h[0], h[-1]
    rest = h / (n - 1)
    rest[0] = 0
    return {
        "mean": h / n,
        "cls": first,
        "last": last,
        "cls_mean": np.concatenate([first, rest], axis=1),
        "declared": h / n,
        "received": trace.received(layer - 1)[:, None].double().numpy() * h,
        "first_last": (h + trace.hidden(min(1, layer)).double().numpy()) / 2 / n,
    }[method]


@pytest.mark.parametrize("layer", [slow(1), 3, slow(6)])
@pytest.mark.parametrize("method", METHODS)
def test_parts_are_the_definition_and_sum_to_the_cosine(minilm, runs, method, layer):
    found = token_pairs(*runs, method, state=layer, encoder=minilm)
    a, b = (vectors(run, layer, method) for run in runs)
    p, q = a.sum(axis=0), b.sum(axis=0)
    length = np.sqrt((p * p).sum() * (q * q).sum())
    for i, row in enumerate(a):
        for j, other in enumerate(b):
            assert found.parts[i, j] == pytest.approx((row * other).sum() / length, abs=1e-7)
    pooled = [
        vz.analyses.pooled(minilm, run, methods=[method], states=[layer]).vectors[method][0]
        for run in runs
    ]
    u, v = (vector.astype(float) for vector in pooled)
    cosine = u @ v / np.linalg.norm(u) / np.linalg.norm(v)
    assert found.parts.sum() == pytest.approx(cosine, abs=1e-6)
    assert found.cosine == pytest.approx(cosine, abs=1e-6) and found.state == layer
    if method not in ("declared", "first_last"):
        alone = token_pairs(*runs, method, state=layer)
        np.testing.assert_allclose(alone.parts, found.parts, atol=1e-9)


def test_the_special_part_is_a_row_and_a_column_at_each_end(runs):
    found = token_pairs(*runs)
    assert found.special_part == pytest.approx(
        found.parts.sum() - found.parts[1:-1, 1:-1].sum(), abs=1e-12
    )
    assert 0.1 < found.special_part < found.cosine
    assert found.sentence.startswith(f"Cosine {found.cosine:.3f}: {found.special_part:.3f} of it ")
    assert "pairs with [CLS] or [SEP]; the largest word pairs are “" in found.sentence


def test_top_pairs_are_of_whole_words(runs):
    found = token_pairs(*runs)
    one, other = runs
    assert other.tokens.count("##er") == 1  # lend ##er
    whole = {}  # of words, by the numbers of their tokens
    for i, a in list(enumerate(one.sample.words))[1:-1]:
        for j, b in list(enumerate(other.sample.words))[1:-1]:
            whole[a, b] = whole.get((a, b), 0) + found.parts[i, j]
    best = sorted(whole.values(), reverse=True)[:4]
    assert [each.part for each in found.top(4)] == pytest.approx(best, abs=1e-12)
    words = [text.split() for text in TEXTS]
    (a, b), _ = max(whole.items(), key=lambda item: item[1])
    top = found.top(1)[0]
    assert (top.one, top.other) == (words[0][a], words[1][b]) and top.other == "lender"
    assert f"“{top.one}”–“{top.other}” {top.part:.3f}" in found.sentence
    assert len(found.top(0)) == 0


def test_small_parts_have_a_third_decimal_and_the_cosine_as_many(runs):
    """So that what is printed adds up: all pairs of words and the special part."""
    found = token_pairs(*runs)
    printed = [float(number) for number in re.findall(r"\d\.\d+", found.sentence)]
    assert re.findall(r"\d\.\d\d\d(?!\d)", found.sentence) == re.findall(r"\d\.\d+", found.sentence)
    assert min(printed) < 0.1 and len(printed) == 5
    whole = found.top(1000)
    rest = sum(each.part for each in whole[3:])
    assert sum(printed[1:]) + rest == pytest.approx(printed[0], abs=0.0025)
    large = token_pairs(*runs, "cls").sentence
    assert large.startswith(f"Cosine {token_pairs(*runs, 'cls').cosine:.2f}: ")


def test_maxsim_is_the_nearest_of_the_other_text(runs):
    found = token_pairs(*runs, state=6)
    a, b = (run.output.double().numpy()[1:-1] for run in runs)
    assert [each.token for each in found.matches] == list(range(1, 1 + len(a)))
    for match, row in zip(found.matches, a, strict=True):
        cosines = [row @ other / np.linalg.norm(row) / np.linalg.norm(other) for other in b]
        assert match.nearest == 1 + int(np.argmax(cosines))
        assert match.cosine == pytest.approx(max(cosines), abs=1e-6)
    assert found.maxsim == pytest.approx(np.mean([each.cosine for each in found.matches]))


def test_only_one_token_has_a_part_with_cls(runs):
    found = token_pairs(*runs, "cls")
    assert np.count_nonzero(found.parts) == 1 and found.parts[0, 0] == found.cosine
    assert found.special_part == pytest.approx(found.cosine) and found.top() == ()
    assert found.sentence.endswith("[CLS] or [SEP]; the vectors hold no other tokens.")


def test_padding_adds_nothing(minilm, runs):
    padded = vz.capture(minilm, [TEXTS[0], TEXTS[1] + " and then some more"])[0]
    found = token_pairs(padded, runs[1])
    n = runs[0].n_tokens
    assert padded.n_tokens > n and not found.parts[n:].any()
    np.testing.assert_allclose(found.parts[:n], token_pairs(*runs).parts, atol=1e-6)
    assert len(found.matches) == n - 2 and "[PAD]" not in found.sentence


def test_two_pictures(scene):
    one, other = (vz.capture(scene, asset(PICTURES[name])) for name in ("a digit", "a wide scene"))
    found = token_pairs(one, other, "cls_mean", encoder=scene)
    rest = one.grid.n_prefix
    a, b = (
        np.concatenate([run.output[0].double(), run.output[rest:].double().mean(dim=0)])
        for run in (one, other)
    )
    assert found.cosine == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-6)


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("max", "max takes each number from one token.*choose mean"),
        ("pooler", "the model's own pooler is not linear"),
        ("attention", "needs a query that was learned"),
        ("declared", "needs the model that ran"),
        ("median", "There is no pooling 'median'"),
    ],
)
def test_what_does_not_add_up_is_refused(runs, method, says):
    refused(SelectionError, says, token_pairs, *runs, method)


def test_a_declared_pooling_must_add_up(minilm, runs):
    for steps, methods in (((Dense(torch.eye(384)), Normalize()), ("mean",)), ((), ("max",))):
        declared = Declared(methods=methods, steps=steps)
        with pytest.raises(SelectionError, match="a maximum or goes through a dense layer"):
            token_pairs(*runs, "declared", encoder=replace(minilm, declared=declared))


def test_runs_of_two_models_and_missing_layers_are_refused(minilm, runs, grammar):
    small = vz.capture(grammar, "the keys are old")
    with pytest.raises(
        SelectionError, match="of all-MiniLM-L6-v2 and grammar; vectors of different"
    ):
        token_pairs(runs[0], small)
    refused(SelectionError, "There is no state 7", token_pairs, *runs, state=7)
    normed = replace(runs[0], output=runs[0].output + 1)
    refused(SelectionError, "has a final norm", token_pairs, normed, runs[1], state=3)
    zero = replace(runs[0], output=torch.zeros_like(runs[0].output))
    refused(SelectionError, "no direction", token_pairs, zero, runs[1])
