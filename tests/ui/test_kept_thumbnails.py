"""The small maps with tokens hidden, rows renormalized or sub-words merged: route and page."""

import httpx
import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder.trace.token_selection import shown_tokens

TEXT = "The unbelievable animal didn't cross the street"


@pytest.fixture(scope="module")
def trace(minilm):
    return vz.capture(minilm, TEXT)


def expected(weights, groups, renormalize):
    """Mean over a word's queries of the sum over a word's keys, in plain loops."""
    kept = [token for group in groups for token in group]
    if renormalize:
        weights = weights / weights[:, kept].sum(axis=1, keepdims=True)
    merged = [
        [weights[np.ix_(rows, keys)].sum(axis=1).mean() for keys in groups] for rows in groups
    ]
    return np.array(merged)


@pytest.mark.parametrize("hide", [False, True])
@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_small_maps_are_of_the_tokens_that_are_kept(site, client, trace, hide, renormalize, words):
    run = client.predict(TEXT, api_name="/run_text")
    query = {"layer": 2, "hide_special": hide, "renormalize": renormalize, "words": words}
    answer = httpx.get(f"{site}viz/run/{run['key']}/thumbnails", params=query)
    shape = [int(side) for side in answer.headers["x-shape"].split(",")]
    found = np.frombuffer(answer.content, np.float32).reshape(shape)
    every = list(range(trace.n_tokens))
    groups = [
        list(each) if np.iterable(each) else [each]
        for each in shown_tokens(trace, hide_special=hide, words=words) or every
    ]
    for head in range(12):
        weights = trace.attention(2, head).numpy().astype(np.float64)
        of_head = expected(weights, groups, renormalize)
        np.testing.assert_allclose(found[head], of_head, atol=2e-5)


def test_the_atlas_follows_the_switches_and_says_so(shared):
    page = shared().page
    before = page.evaluate("document.querySelector('.viz-atlas canvas').toDataURL()")
    page.check("#viz-hide")
    page.wait_for_selector(".viz-atlas[data-kept=hide]")
    assert "special tokens hidden" in page.inner_text(".viz-atlas")
    assert page.evaluate("document.querySelector('.viz-atlas canvas').toDataURL()") != before
    page.uncheck("#viz-hide")
    page.wait_for_selector(".viz-atlas[data-kept=all]")
    assert page.evaluate("document.querySelector('.viz-atlas canvas').toDataURL()") == before
