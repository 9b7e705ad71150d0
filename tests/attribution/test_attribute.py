"""attribute: shares against vectors carried forward in float64, and what it refuses."""

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.attribution.plain import Carried
from tests.refusals import refused
from viz_encoder.bundled import asset
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.export.explained import kept

TEXT = "The animal didn't cross the street because it was too tired"
TWIN = TEXT.replace("tired", "wide")
KEYS, KEY = "the keys to the cabinet [MASK] here", "the key to the cabinet [MASK] here"
EXACT = 2e-5
KINDS = {
    "post-norm": {},
    "pre-norm": {"norm_placement": "pre", "activation": "relu"},
    "gated, RMSNorm": {"norm": "rms", "gated": True, "activation": "silu", "norm_placement": "pre"},
    "causal": {"causal": True},
}


def random_encoder(**axes):
    """A small encoder with uneven weights and biases that count."""
    torch.manual_seed(7)
    sizes = {"d_model": 16, "n_heads": 4, "n_layers": 3, "d_ff": 24, "embedding": "vector"}
    encoder = vz.Encoder(vz.EncoderConfig(**sizes, **axes)).eval().requires_grad_(False)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return encoder


def close(found, wanted):
    wanted = np.asarray(wanted)
    return np.abs(np.asarray(found) - wanted).max() <= EXACT * np.abs(wanted).max()


@pytest.fixture(scope="module", params=KINDS)
def held(request):
    """An encoder, what it was asked, and the same carried forward."""
    encoder = random_encoder(**KINDS[request.param])
    vectors = torch.randn(6, 16, generator=torch.Generator().manual_seed(3))
    found = vz.attribute(encoder, vectors, of="state", token=4)
    mask = torch.ones(6, 6, dtype=torch.bool).tril() if encoder.config.causal else None
    with torch.no_grad():
        plain = Carried(encoder, found.trace.hidden(0), mask)
        return found, plain


def test_each_tokens_share_is_its_vector_carried_forward(held):
    found, plain = held
    direction = plain.output[4] / plain.output[4].norm()
    shares = plain.carried()[:, 4] @ direction
    assert close([*found.tokens, found.biases], shares)
    assert close(found.score, plain.output[4].norm())


def test_where_the_score_sat_after_each_block(held):
    found, plain = held
    direction = plain.output[4] / plain.output[4].norm()
    for after in range(4):
        assert close(found.states[after], (plain.carried(after)[:-1, 4]) @ direction)


def test_a_link_is_what_the_head_moved_there(held):
    found, plain = held
    direction = plain.output[4] / plain.output[4].norm()
    for layer, head, query, key in ((0, 1, 4, 2), (1, 3, 4, 0), (1, 0, 3, 3), (2, 2, 4, 4)):
        moved = plain.link(layer, head, query, key)[4] @ direction
        assert abs(found.links(layer, head)[query, key] - float(moved)) <= EXACT * found.score


def test_links_add_up_to_their_heads_and_rows_are_cut_out(held):
    found, _ = held
    for layer in range(3):
        links = found.links(layer)
        assert close(links.sum(axis=(1, 2)), found.heads[layer])
        assert np.array_equal(found.links(layer, 2, slice(1, 4)), links[2, 1:4])


def test_what_comes_into_a_node_adds_up_to_what_it_holds(held):
    found, _ = held
    routes = found.routes(least=0)
    assert np.allclose(routes.nodes[1:], routes.own + routes.links + routes.biases)
    for layer in range(3):
        summed = np.zeros((6, 6))
        for edge in routes.edges:
            if edge.layer == layer:
                summed[edge.query, edge.key] = edge.share
        assert np.allclose(summed.sum(axis=1), routes.links[layer], atol=1e-5)
        assert np.allclose(summed, found.links(layer).sum(axis=0), atol=1e-6)
    # What leaves a node by its own path and by links adds up to what it holds, but for the biases
    # that came in on the way to the heads.
    flow = found.parts[0].flow
    for layer in range(3):
        outgoing = routes.own[layer].sum() + routes.links[layer].sum() - flow.before[layer].sum()
        assert np.isclose(outgoing, routes.nodes[layer].sum(), atol=1e-4)


@pytest.mark.parametrize("ask", [
    {"token": "it"}, {"token": "it", "against": TWIN}, {"of": "pooled"},
    {"toward": "The dog was exhausted"}, {"against": TWIN},
])  # fmt: skip
def test_shares_and_biases_add_up(minilm, ask):
    found = vz.attribute(minilm, TEXT, **ask)
    assert found.unexplained < 1e-6
    assert np.isclose(found.tokens.sum() + found.biases, found.score, atol=1e-5)
    trace = found.trace
    again = vz.attribute(minilm, vz.capture(minilm, TEXT), **ask)
    assert np.allclose(again.tokens, found.tokens, atol=1e-5)
    assert torch.equal(trace.output, vz.capture(minilm, TEXT).output)


def test_the_score_is_what_was_asked(minilm, grammar):
    one, two = (vz.capture(minilm, text).output for text in (TEXT, TWIN))
    at = vz.capture(minilm, TEXT).tokens.index("it")
    assert close(vz.attribute(minilm, TEXT, token="it").score, one[at].norm())
    apart = vz.attribute(minilm, TEXT, token="it", against=TWIN)
    assert close(apart.score, (one[at] - two[at]).norm())
    assert kept(apart)["apart"] == "distance" and kept(apart)["names"] == list(apart.names)
    other = torch.nn.functional.normalize(
        vz.pool(two[None], torch.ones(1, len(two), dtype=torch.bool), "declared", encoder=minilm)
    )
    mine = vz.pool(one[None], torch.ones(1, len(one), dtype=torch.bool), "declared", encoder=minilm)
    assert close(vz.attribute(minilm, TEXT, toward=TWIN).score, (mine * other).sum())
    are, is_ = (vz.attribute(grammar, KEYS, label=word).score for word in ("are", "is"))
    assert close(vz.attribute(grammar, KEYS, label="are", against="is").score, are - is_)


def test_against_a_twin_the_word_that_decides_comes_first(grammar):
    found = vz.attribute(grammar, KEYS, against=KEY)
    assert found.names[int(np.argmax(found.tokens))] == "keys/key"
    assert found.ranked(1) == ((3, 0),)
    link = found.strongest(1)[0]
    assert (found.names[link.query], found.names[link.key]) == ("[MASK]", "keys/key")
    assert "“keys/key”" in found.sentence and "head 3.0" in found.sentence
    assert kept(found)["apart"] == "difference" and found.words.endswith("minus in the other,")
    less = vz.attribute(grammar, KEYS, label="is", against=KEY)
    assert f" is −{-less.score:.2f}: −" in less.sentence


def test_the_readme_answers_in_four_lines():
    text = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    block = text.split('rather than "is"?')[1].split("```")[1].removeprefix("python\n")
    names: dict[str, Any] = {}
    exec(block, names)
    lines = block.splitlines()
    code = [line for line in lines if line and not line.startswith("#")]
    said = " ".join(line.removeprefix("# ") for line in lines if line.startswith("#"))
    assert len(code) == 4 and said == names["found"].sentence


def test_strongest_links_are_those_of_all_maps(minilm):
    found = vz.attribute(minilm, TEXT, token="it")
    every = np.stack([found.links(layer) for layer in range(6)])
    best = np.sort(np.abs(every).ravel())[::-1][:5]
    assert np.allclose([abs(link.share) for link in found.strongest(5)], best)


def test_words_that_only_one_text_has_stand_alone(minilm):
    shorter = TEXT.replace(" too", "")
    found = vz.attribute(minilm, TEXT, token="it", against=shorter)
    assert found.names == vz.capture(minilm, TEXT).tokens
    assert found.unexplained < 1e-6
    both = [vz.attribute(minilm, text, token="it") for text in (TEXT, shorter)]
    assert found.links(5).shape == both[0].links(5).shape


def test_a_batch_gives_a_list_and_padding_changes_nothing(minilm):
    one, two = vz.attribute(minilm, [TEXT, "The key"], of="state", token=1)
    alone = vz.attribute(minilm, TEXT, of="state", token=1)
    assert np.allclose(one.tokens, alone.tokens, atol=1e-5)
    assert np.allclose(two.tokens[two.trace.valid.numpy() == 0], 0)


def test_a_head_that_was_removed_brought_nothing(minilm):
    with vz.ablate(minilm.model, {(5, 11): "zero"}):
        trace = vz.capture(minilm, TEXT)
    found = vz.attribute(minilm, trace, token="it")
    assert found.heads[5, 11] == 0 and found.unexplained < 1e-6


def test_a_head_that_was_removed_as_a_change_brought_nothing(grammar):
    trace = vz.effects.changed(grammar, "the keys to the cabinet [MASK] old", ["h3.0", "l:6-7"])
    found = vz.attribute(grammar, trace)
    assert found.heads[3, 0] == 0 and found.unexplained < 1e-6
    assert found.links(2)[:, 6, 7].max() == 0 == found.links(2)[:, 6, 7].min()


def test_a_picture():
    found = vz.attribute(vz.load("scene", device="cpu"), asset("examples/digit.png"))
    assert found.unexplained < 1e-5 and found.trace.grid is not None


def test_attnlrp_says_that_it_does_not_add_up(minilm):
    found = vz.attribute(minilm, TEXT, token="it", through="attention")
    assert found.unexplained > 0.01 and "do not add up" in found.sentence
    refused(SelectionError, 'through="values"', found.links, 0)


def test_half_precision_says_its_figure():
    encoder = vz.load("all-MiniLM-L6-v2", device="cpu", dtype=torch.bfloat16)
    found = vz.attribute(encoder, TEXT, token="it")
    assert 0 < found.unexplained < 0.03
    assert found.sentence.endswith(f"Rounding leaves {found.unexplained:.2%} unexplained.")


@pytest.mark.parametrize(("ask", "said"), [
    ({"of": "answer"}, "no prediction head, so it gives no answer. Ask of="),
    ({"of": "masked"}, "no prediction head, so it gives no answer. Ask of="),
    ({"of": "state"}, "needs a token"),
    ({"of": "pooled", "token": 3}, "leave out token="),
    ({"token": 99}, "There is no token 99; choose 0 to 14"),
    ({"token": -99}, "There is no token -99; choose 0 to 14"),
    ({"label": "are"}, 'of="answer"'),
    ({"token": 3, "toward": "x"}, 'of="pooled"'),
    ({"against": TWIN, "toward": TWIN}, "not both"),
    ({"token": "it", "against": "Dogs bark"}, "no partner"),
    ({"against": TEXT}, "same vector"),
    ({"against": "runner-up"}, "'runner-up' names a label; it goes with of=\"answer\""),
    ({"against": 3}, "against=3 names a label"),
])  # fmt: skip
def test_what_cannot_be_asked(minilm, ask, said):
    refused(SelectionError, said, vz.attribute, minilm, TEXT, **ask)


def test_a_vector_of_another_size_and_labels_that_do_not_exist(minilm, grammar):
    refused(InputError, "384 numbers", lambda: vz.attribute(minilm, TEXT, toward=np.ones(3)))
    refused(SelectionError, "single token", vz.attribute, grammar, KEYS, label="xyzzy")
    with pytest.raises(SelectionError, match="There is no label 99; choose 0 to 67"):
        vz.attribute(grammar, KEYS, label=99)
    with pytest.raises(SelectionError, match="two different"):
        vz.attribute(grammar, KEYS, label="are", against="are")
    with pytest.raises(SelectionError, match=r"no partner .* “xyzzy” is no label of grammar"):
        vz.attribute(grammar, KEYS, against="xyzzy")
    with pytest.raises(SelectionError, match="the same answer, so nothing made them differ"):
        vz.attribute(grammar, KEYS, against=KEYS)
    with pytest.raises(InputError, match="toward holds NaN"):
        vz.attribute(minilm, TEXT, toward=np.full(384, np.nan))


def test_padding_is_no_token(minilm):
    _, short = vz.capture(minilm, [TEXT, "The key"])
    with pytest.raises(SelectionError, match="Token 8 is padding; choose a real token"):
        vz.attribute(minilm, short, token=8)


def quantized(model):
    return torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)


def packed(model):
    """As libraries of 4 bits keep them."""
    model.layers[1].ff.up.weight = torch.nn.Parameter(
        torch.zeros(3, 3, dtype=torch.uint8), requires_grad=False
    )
    return model


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("how", [quantized, packed])
def test_quantized_weights_are_refused(how):
    encoder = how(random_encoder())
    for call in (vz.attribute, lambda model, x: vz.attribute_pair(model, x, x)):
        with pytest.raises(SelectionError, match=r"quantized weights, .* in floating point"):
            call(encoder, torch.randn(4, 16))


def test_tensors_of_inference_mode_are_tensors_like_others(grammar):
    found = vz.attribute(grammar, KEYS, against=KEY)
    with torch.inference_mode():
        trace = vz.capture(grammar, KEYS)
        inside = vz.attribute(grammar, trace, against=KEY)
        pair = vz.attribute_pair(grammar, KEYS, KEY)
    assert close(inside.tokens, found.tokens)
    assert close(vz.attribute(grammar, trace, against=KEY).tokens, found.tokens)
    assert close(pair.shares, vz.attribute_pair(grammar, KEYS, KEY).shares)


def test_a_score_of_0_has_no_percentages(grammar):
    found = vz.attribute(grammar, KEYS)
    nothing = np.zeros_like(found.tokens)
    for name, value in (("score", 0.0), ("tokens", nothing), ("biases", 0.0)):
        object.__setattr__(found, name, value)
    assert not found.large and " 0.00 from" in found.sentence
    object.__setattr__(found, "score", 1.0)
    object.__setattr__(found, "tokens", np.array([1.0, -1e-4]))
    assert "100% from" in found.sentence and ", 0% from" in found.sentence


def test_training_mode_and_nan_are_refused(minilm):
    encoder = random_encoder()
    encoder.train()
    refused(SelectionError, "training mode", lambda: vz.attribute(encoder, torch.randn(4, 16)))
    encoder.eval()
    with torch.no_grad():
        encoder.layers[1].ff.down.bias.fill_(float("nan"))
    refused(InputError, "not a number", lambda: vz.attribute(encoder, torch.randn(4, 16)))


def test_heads_that_steer_are_named(minilm):
    found = vz.attribute(minilm, TEXT, token="it")
    effects = np.zeros((6, 12))
    effects[0, 10], effects[5, 11] = 0.9, 1.0
    effect = vz.effect(minilm, TEXT, heads=[(0, 10), (5, 11)], measure="state", at="it")
    object.__setattr__(effect, "values", effects[None])
    beside = found.beside(effect)
    assert beside.steering == ((0, 10),) and "0.10" in beside.sentence
    with pytest.raises(SelectionError, match="another input"):
        vz.attribute(minilm, "Another text.", token="text").beside(effect)


def n_tensors() -> int:
    """By their types: to ask an object for its class may run a property of it, which warns."""
    return sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects())


def test_nothing_of_a_run_is_kept_once_its_result_is_gone(minilm):
    """Its graph holds the rules; if these held the graph, each call would keep its activations."""
    vz.attribute(minilm, TEXT, token="it")
    gc.collect()
    gc.disable()
    try:
        before = n_tensors()
        vz.attribute(minilm, TEXT, token="it")
        assert n_tensors() == before
    finally:
        gc.enable()
