"""Links cut one by one, against runs under a mask, and effects on the very score that was split."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder import effects
from viz_encoder.errors import InputError, SelectionError

TEXT = "The animal didn't cross the street because it was too tired"
KEYS = "the keys to the cabinet [MASK] old"
CUT = [
    (5, 11, 10, 2),
    (0, None, 4, 2),
    (5, None, 10, 2),
    (2, 3, 10, 13),
    (4, 1, 3, 2),
    (5, 1, 3, 2),
]


@pytest.fixture(scope="module")
def found(minilm):
    return vz.attribute(minilm, TEXT, of="state", token=10)


def code(layer, head, query, key):
    place = layer if head is None else f"{layer}.{head}"
    return f"l{place}:{query}-{key}"


def test_a_cut_link_is_a_run_under_a_mask(minilm, found):
    told = []
    cut = effects.links(minilm, TEXT, CUT, measure=found, progress=told.append)
    direction = found.trace.output[10] / found.trace.output[10].norm()
    for link, value in zip(cut.links, cut.values, strict=True):
        masked = effects.changed(minilm, TEXT, [code(*link)])
        wanted = float(masked.output[10] @ direction) - found.score
        assert value == pytest.approx(wanted, abs=2e-6 * found.score)
    assert cut.links == tuple(CUT) and told[-1] == 1
    assert cut.to_frame()["effect"].tolist() == cut.values.tolist()


def test_a_row_of_which_nothing_would_be_left_has_no_effect():
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 3, "d_ff": 16}
    places = {"positions": "none", "rotary_base": 10.0, "relative_buckets": 8}
    config = vz.EncoderConfig(**sizes, **places, embedding="vector", causal=True)
    causal = vz.Encoder(config).eval()
    torch.nn.init.normal_(causal.relative, generator=torch.Generator().manual_seed(0))
    vectors = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    cut = effects.links(causal, vectors, [(0, 0, 0, 0), (0, 0, 2, 1)], measure="state")
    assert np.isnan(cut.values).tolist() == [True, False]
    one = effects.links(causal, vectors, [(0, 1, 1, 0)], measure="state", at=3).values[0]
    runs = vz.capture(causal, vectors), effects.changed(causal, vectors, ["l0.1:1-0"])
    before, after = (run.output[3].double() for run in runs)
    wanted = 1 - float(torch.cosine_similarity(before, after, dim=0))
    assert one == pytest.approx(wanted, rel=1e-4) and one > 1e-7


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ((9, 0, 1, 1), "no layer 9"),
        ((0, 99, 1, 1), "no head 99"),
        ((0, None, 99, 1), "no token 99"),
    ],
)
def test_a_link_that_there_is_not(minilm, link, says):
    refused(SelectionError, says, effects.links, minilm, TEXT, [link])


@pytest.mark.parametrize(
    "asked", [{"of": "state", "token": 10}, {"of": "pooled"}, {"of": "pooled", "against": "A cat."}]
)
def test_a_split_score_is_a_measure(minilm, asked):
    found = vz.attribute(minilm, TEXT, **asked)
    effect = vz.effect(minilm, TEXT, [(5, 11), (0, 3)], measure=found)
    assert effect.before[0] == pytest.approx(found.score, rel=2e-5)
    output = effects.changed(minilm, TEXT, ["h5.11"]).output
    if asked["of"] == "state":
        vector = output[10]
    else:
        vector = output.mean(dim=0) / output.mean(dim=0).norm()
    without = float(vector @ found.asked.direction) - found.asked.less
    assert effect.values[0, 5, 11] == pytest.approx(without - found.score, abs=2e-5)


def test_the_logits_that_were_split_are_those_that_are_measured(grammar):
    found = vz.attribute(grammar, KEYS, label="are", against="is")
    usual = vz.effect(grammar, KEYS, answer="are", other="is")
    np.testing.assert_allclose(
        vz.effect(grammar, KEYS, measure=found).values, usual.values, atol=2e-4
    )
    hidden = effects.tokens(grammar, KEYS, measure=found).values
    known = effects.tokens(grammar, KEYS, answer="are", other="is").values
    np.testing.assert_allclose(hidden[[0, 2, 8]], known[[0, 2, 8]], atol=2e-4)


def test_a_saved_score_is_still_a_measure(minilm, found, tmp_path):
    found.save(tmp_path / "score.safetensors")
    loaded = vz.Attribution.load(tmp_path / "score.safetensors")
    one = [(5, 11)]
    again, before = (vz.effect(minilm, TEXT, one, measure=each) for each in (loaded, found))
    np.testing.assert_array_equal(again.values, before.values)


def test_a_score_of_another_input_and_what_it_does_not_take_are_refused(minilm, found):
    with pytest.raises(SelectionError, match="split for another input"):
        vz.effect(minilm, "A cat sat.", measure=found)
    refused(SelectionError, "does not use at=", vz.effect, minilm, TEXT, measure=found, at=3)
    with pytest.raises((InputError, SelectionError), match=r"'state' or what vz\.attribute"):
        vz.effect(minilm, TEXT, measure=5)
