"""The change against a reference, by its route and by its named endpoint."""

import httpx
import pytest
from gradio_client.exceptions import AppError

import viz_encoder as vz
from tests.by_hand import shown, whole_maps
from viz_encoder.trace.token_selection import shown_tokens

TEXTS = [
    "The cat sat on the mat",
    "The dog ran to the house",
    "This one is longer than all those others",
]


@pytest.fixture(scope="module")
def keys(client):
    """Two runs of 8 tokens, one of more, and one of another model."""
    found = [client.predict(text, api_name="/run_text")["key"] for text in TEXTS]
    return [*found, client.predict("the keys are old", "", "grammar", api_name="/run_text")["key"]]


def ask(site, key, reference, layer):
    return httpx.get(f"{site}viz/run/{key}/change?reference={reference}&layer={layer}")


def test_route_and_endpoint_give_the_distance_of_the_maps(site, client, keys, minilm):
    before, after = (vz.capture(minilm, text).attention(4) for text in TEXTS[:2])
    expected = ((after - before).abs().sum(dim=-1) / 2).mean(dim=-1).tolist()
    answer = ask(site, keys[1], keys[0], 4)
    assert answer.status_code == 200 and answer.headers["cache-control"].startswith("private")
    assert answer.json() == pytest.approx(expected, abs=2e-6)
    named = client.predict(keys[1], keys[0], 4, api_name="/change")
    assert named == pytest.approx(expected, abs=2e-6)


def test_what_cannot_be_compared_is_said(site, client, keys):
    first, _, _, grammar = keys
    for asked, says in [
        ((first, grammar, 0), "has 4 layers and this run has 6"),
        ((first, "nonsense", 0), "The reference has expired"),
        (("nonsense", first, 0), "This run has expired"),
        ((first, first, 6), "There is no layer 6; choose 0 to 5"),
    ]:
        answer = ask(site, *asked)
        assert answer.status_code == (410 if says == "This run has expired" else 404)
        assert says in answer.json()["message"]
        with pytest.raises(AppError, match=says):
            client.predict(*asked, api_name="/change")


def test_runs_of_other_lengths_are_compared_on_the_tokens_that_both_have(site, keys, minilm):
    """Two texts that have no word in common: [CLS] and [SEP] alone are in both."""
    before, after = (vz.capture(minilm, text) for text in (TEXTS[0], TEXTS[2]))
    assert set(before.tokens) & set(after.tokens) == {"[CLS]", "[SEP]"}
    places = [0, before.n_tokens - 1], [0, after.n_tokens - 1]
    old, new = before.attention(4).numpy(), after.attention(4).numpy()
    parts = [
        abs(new[:, b][:, places[1]] - old[:, a][:, places[0]]).sum(axis=-1) / 2
        for a, b in zip(*places, strict=True)
    ]
    expected = sum(parts) / len(parts)
    answer = ask(site, keys[2], keys[0], 4)
    assert answer.json() == pytest.approx(expected.tolist(), abs=2e-6)


@pytest.mark.parametrize("which", [0, 2])
def test_the_change_and_the_cell_follow_the_switches(site, keys, minilm, which):
    """Special tokens hidden, rows divided by their sums: by place, or on the tokens of both."""
    switches = {"reference": keys[which], "hide_special": True, "renormalize": True}
    traces = vz.capture(minilm, TEXTS[1]), vz.capture(minilm, TEXTS[which])
    maps = []
    for trace in traces:
        kept = [at for at in range(trace.n_tokens) if not trace.sample.special[at]]
        part = trace.attention(4).double().numpy()[:, kept][:, :, kept]
        maps.append(part / part.sum(axis=2, keepdims=True))
    address = f"{site}viz/run/{keys[1]}"
    found = httpx.get(f"{address}/change", params={**switches, "layer": 4}).json()
    if which == 0:
        expected = (abs(maps[0] - maps[1]).sum(axis=2) / 2).mean(axis=1)
        assert found == pytest.approx(expected.tolist(), abs=2e-5)
        asked = {**switches, "query": 1, "key": 5}
        cell = httpx.get(f"{address}/compared", params=asked, timeout=60).json()["cell"]
        assert [traces[0].tokens[at] for at in (1, 5)] == ["the", "the"]
        assert cell["now"][4] == pytest.approx(maps[0][:, 0, 4].tolist(), abs=2e-5)
    else:  # nothing but special tokens is in both
        assert found == [None] * 12


def test_the_change_of_words(client, minilm):
    """Clark et al.: the mean over a word's queries of the sum over its keys; then half the L1."""
    texts = [f"The tokenization was {how}" for how in ("odd", "new")]
    keys = [client.predict(text, api_name="/run_text")["key"] for text in texts]
    runs = [vz.capture(minilm, text) for text in texts]
    one, other = (shown(whole_maps(run)[3], shown_tokens(run, words=True)) for run in runs)
    assert one.shape[-1] == 6 < runs[0].n_tokens  # with [CLS] and [SEP]
    found = client.predict(*keys, 3, False, False, True, api_name="/change")
    assert found == pytest.approx((abs(one - other).sum(axis=-1) / 2).mean(axis=-1), abs=2e-5)
