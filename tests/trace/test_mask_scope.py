"""Where a mask applies: codes to and fro, words, refusals, and the maps in and out of scope."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from viz_encoder.analyses.mask_leaks import mask_leaks, mask_panels
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.trace.mask_scope import MaskScope

TEXT = "The bank approved the loan because it could"
TOLERANCE = 2e-5


@pytest.fixture(scope="module")
def plain(minilm):
    return vz.capture(minilm, TEXT)


@pytest.fixture(scope="module")
def speckled(plain):
    n = plain.n_tokens
    drawn = torch.rand(n, n, generator=torch.Generator().manual_seed(4)) > 0.5
    return drawn | torch.eye(n, dtype=torch.bool)


@pytest.mark.parametrize(
    ("code", "layers", "heads", "words", "again"),
    [
        ("", range(6), range(12), "all layers and heads", ""),
        (":", range(6), range(12), "all layers and heads", ""),
        ("0-5:0-11", range(6), range(12), "all layers and heads", ""),
        ("3-5:1,4", [3, 4, 5], [1, 4], "layers 3–5, heads 1 and 4", "3-5:1,4"),
        ("3,4:4,1,1", [3, 4], [1, 4], "layers 3 and 4, heads 1 and 4", "3,4:1,4"),
        ("2", [2], range(12), "layer 2, all heads", "2"),
        (":7", range(6), [7], "head 7 of all layers", ":7"),
        ("0-2,5:0,2-9", [0, 1, 2, 5], [0, *range(2, 10)], "layers 0–2 and 5, heads 0 and 2–9", ""),
    ],
)
def test_a_code_names_layers_and_heads(code, layers, heads, words, again):
    scope = MaskScope.parsed(code, 6, 12)
    assert (list(scope.layers), list(scope.heads)) == (list(layers), list(heads))
    assert scope.words == words
    assert scope.code == (again or (code if len(scope.places) < 72 else ""))
    assert MaskScope.parsed(scope.code, 6, 12) == scope
    expected = [[layer in layers and head in heads for head in range(12)] for layer in range(6)]
    np.testing.assert_array_equal(scope.where, expected)
    assert scope.whole == np.all(expected)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("9-12", "There are no layers 9–12: this model has 6 layers, numbered from 0 to 5."),
        ("4-9", "There are no layers 6–9: this model has 6 layers, numbered from 0 to 5."),
        ("6", "There is no layer 6: this model has 6 layers, numbered from 0 to 5."),
        (":12", "There is no head 12: this model has 12 heads, numbered from 0 to 11."),
        ("5-3", "5-3 counts down; write 3-5."),
        ("x:1", "'x' is not a list of layers; write"),
        ("3:1,", "'1,' is not a list of heads; write"),
        ("1:2:3", "'1:2:3' is not the scope of a mask; write"),
        ("٣", "is not a list of layers"),
        ("1," * 5000, "is not the scope of a mask"),
        (3, "3 is not the scope of a mask"),
    ],
)
def test_what_is_no_scope_is_refused_in_a_sentence(code, says):
    with pytest.raises(SelectionError) as told:
        MaskScope.parsed(code, 6, 12)
    assert says in str(told.value) and str(told.value).endswith(".") and len(str(told.value)) < 250


@pytest.mark.parametrize("code", ["3-5:1,4", "2", ":0", "0,5:11"])
def test_the_mask_holds_in_its_scope_and_nowhere_else(minilm, plain, speckled, code):
    scope = MaskScope.parsed(code, 6, 12)
    trace = vz.capture(minilm, TEXT, mask=scope.mask(speckled))
    first = scope.layers[0]
    for layer in range(first):
        assert torch.equal(trace.attention(layer), plain.attention(layer))
    ran = plain.layers[first]  # what enters the first layer with a mask is still the plain run's
    for head in range(12):
        found = trace.attention(first, head)
        if head not in scope.heads:
            assert torch.equal(found, plain.attention(first, head))
            continue
        scores = (ran.q[head].double() @ ran.k[head].double().T).numpy() * ran.scale
        weights = np.where(speckled, np.exp(scores - scores.max()), 0)
        expected = weights / weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found, expected, atol=TOLERANCE)
        assert np.abs(expected - plain.attention(first, head).numpy()).max() > 0.05
    for layer, head in np.argwhere(~scope.where).tolist():
        assert bool((trace.attention(layer, head)[~speckled] > 0).all())
    for layer, head in scope.places:
        assert not trace.attention(layer, head)[~speckled].any()
    assert trace.proof.passed
    said = f"A custom mask was applied only to {scope.words}. All other heads ran without it."
    assert trace.notes == (*plain.notes, said)


def test_a_mask_everywhere_needs_no_note_and_odd_places_are_listed(minilm, plain, speckled):
    assert vz.capture(minilm, TEXT, mask=speckled).notes == plain.notes
    everywhere = dict.fromkeys(range(6), speckled)
    assert vz.capture(minilm, TEXT, mask=everywhere).notes == plain.notes
    odd = vz.capture(minilm, TEXT, mask={(1, 2): speckled, 4: speckled, (1, 5): speckled})
    assert odd.notes[-1] == (
        "A custom mask was applied only to layer 1, heads 2 and 5; layer 4, all heads. All other "
        "heads ran without it."
    )


def test_leaks_are_judged_in_scope_alone(plain, speckled):
    scope = MaskScope.parsed("3-5:1,4", 6, 12)
    everywhere, found = mask_leaks(plain, speckled), mask_leaks(plain, speckled, scope.where)
    assert np.isnan(found.leak[~scope.where]).all() and np.isnan(found.mass[~scope.where]).all()
    assert (found.at[~scope.where] == -1).all()
    for name in ("leak", "mass", "at"):
        inside = getattr(found, name)[scope.where]
        np.testing.assert_array_equal(inside, getattr(everywhere, name)[scope.where])
    assert (found.leak[scope.where] > 0).all()
    assert found.extra.tolist() == [0, 0, 0, *[int((~speckled).sum())] * 3]
    with pytest.raises(InputError, match=r"where is bool of shape \(2, 2\)"):
        mask_leaks(plain, speckled, np.ones((2, 2), dtype=bool))


@pytest.mark.parametrize("head", [1, 2, "mean", "max", (1, 2), (2, 3)])
def test_panels_outline_what_leaks_in_scope(plain, speckled, head):
    scope = MaskScope.parsed("3-5:1,4", 6, 12)
    found = mask_panels(plain, speckled, 4, head, where=scope.where)
    usual = mask_panels(plain, speckled, 4, head)
    np.testing.assert_array_equal(found.observed, usual.observed)
    heads = range(12) if isinstance(head, str) else [head] if isinstance(head, int) else head
    inside = [one for one in heads if one in scope.heads]
    forbidden = ~speckled.numpy()
    leaking = np.zeros_like(forbidden)
    for one in inside:
        leaking |= (plain.attention(4, one).numpy() > 0) & forbidden
    np.testing.assert_array_equal(found.leaking, leaking)
    intended = speckled.numpy() if len(inside) == len(heads) else np.ones_like(forbidden)
    np.testing.assert_array_equal(found.intended, intended)
