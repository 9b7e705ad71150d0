"""Named endpoints with the page's switches: hidden special tokens, renormalized rows, words."""

import numpy as np
import pytest
from gradio_client.exceptions import AppError

import viz_encoder as vz

TEXT, OTHER = "The animal didn't cross the street", "The animal didn't see the street"


@pytest.fixture(scope="module")
def keys(client):
    return [client.predict(text, api_name="/run_text")["key"] for text in (TEXT, OTHER)]


@pytest.fixture(scope="module")
def traces(minilm):
    return [vz.capture(minilm, text) for text in (TEXT, OTHER)]


def inner(trace, layer):
    """A layer's maps without [CLS] and [SEP], each row's rest made to sum to 1."""
    maps = trace.attention(layer).double().numpy()[:, 1:-1, 1:-1]
    return maps / maps.sum(axis=-1, keepdims=True)


def test_one_cell_of_what_is_kept(client, keys, traces):
    found = client.predict(keys[0], 5, 2, True, True, api_name="/pair")
    for layer in range(6):
        maps = inner(traces[0], layer)
        np.testing.assert_allclose(found["weights"][layer], maps[:, 4, 1], rtol=2e-5)
        np.testing.assert_allclose(found["means"][layer], maps[:, :, 1].mean(axis=1), rtol=2e-5)


def test_statistics_of_what_is_kept(client, keys, traces):
    found = client.predict(keys[0], 3, True, True, api_name="/head_statistics")
    maps = inner(traces[0], 3)
    entropy = -(maps * np.log(maps)).sum(axis=-1).mean(axis=-1)
    np.testing.assert_allclose(found["entropy"], entropy, rtol=2e-5)
    plain = client.predict(keys[0], 3, api_name="/head_statistics")
    assert plain["entropy"] != found["entropy"]


def test_the_change_of_what_is_kept(client, keys, traces):
    found = client.predict(*keys, 3, True, True, api_name="/change")
    one, other = (inner(trace, 3) for trace in traces)
    apart = np.abs(one - other).sum(axis=-1).mean(axis=-1) / 2
    np.testing.assert_allclose(found, apart, rtol=2e-5, atol=1e-6)


def test_the_change_of_words(client, minilm):
    """Clark et al.: the mean over a word's queries of the sum over its keys; then half the L1."""
    texts = [f"The tokenization was {how}" for how in ("odd", "new")]
    keys = [client.predict(text, api_name="/run_text")["key"] for text in texts]
    found = client.predict(*keys, 3, False, False, True, api_name="/change")
    traces = [vz.capture(minilm, text) for text in texts]
    one, other = (merged(trace, 3) for trace in traces)
    assert one.shape[-1] == 6 < traces[0].n_tokens  # with [CLS] and [SEP]
    apart = np.abs(one - other).sum(axis=-1).mean(axis=-1) / 2
    np.testing.assert_allclose(found, apart, rtol=2e-5, atol=1e-6)


def merged(trace, layer):
    """A layer's maps of words."""
    maps, words = trace.attention(layer).double().numpy(), trace.sample.words
    names = [at if word is None else -1 - word for at, word in enumerate(words)]
    units = list(dict.fromkeys(names))
    member = np.array([[name == unit for name in names] for unit in units], float)
    return member @ maps @ member.T / member.sum(axis=1)[:, None]


def test_a_compared_cell_of_what_is_kept(client, keys, traces):
    found = client.predict(*keys, 5, 2, True, True, api_name="/compared")
    one, other = (np.stack([inner(trace, at)[:, 4, 1] for at in range(6)]) for trace in traces)
    now, was = (np.array(found["cell"][name], float) for name in ("now", "was"))
    np.testing.assert_allclose(now, one, rtol=2e-5)
    np.testing.assert_allclose(was, other, rtol=2e-5)


@pytest.mark.parametrize("api", ["/pair", "/compared"])
def test_what_is_no_switch_is_said(client, keys, api):
    first = (keys[0], 5, 2) if api == "/pair" else (*keys, 5, 2)
    with pytest.raises(AppError, match="it must be True or False"):
        client.predict(*first, "yes please", api_name=api)
