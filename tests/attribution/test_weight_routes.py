"""Routes by weights alone against rollout, and shares of links as a map of what is shown."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from viz_encoder import analyses
from viz_encoder.attribution import weight_routes
from viz_encoder.attribution.link_map import LinkMap
from viz_encoder.errors import SelectionError
from viz_encoder.trace.map_change import signed_tile
from viz_encoder.trace.map_view import MapView

TEXT = "The unbelievable animal didn't cross the street"
EXACT = 2e-6


@pytest.fixture(scope="module")
def trace(minilm):
    return vz.capture(minilm, TEXT)


@pytest.mark.parametrize("query", [None, 3])
def test_each_row_is_rollout_so_far(trace, query):
    found = weight_routes(trace, query, 0)
    fused = [trace.attention(layer).double().mean(dim=0) for layer in range(6)]
    eye = torch.eye(trace.n_tokens, dtype=torch.float64)
    row = eye.mean(dim=0) if query is None else eye[query]
    for state in reversed(range(trace.n_layers + 1)):
        np.testing.assert_allclose(found.nodes[state], row, atol=EXACT)
        if state:
            links = row[:, None] * fused[state - 1] / 2
            edges = {(e.query, e.key): e.share for e in found.edges if e.layer == state - 1}
            for place, share in edges.items():
                assert share == pytest.approx(float(links[place]), abs=EXACT)
            np.testing.assert_allclose(found.links[state - 1], links.sum(dim=1), atol=EXACT)
            row = row / 2 + links.sum(dim=0)
    if query is not None:
        np.testing.assert_allclose(
            found.nodes[0], analyses.rollout(trace, query).rows[-1], atol=EXACT
        )
    np.testing.assert_allclose(found.nodes[1:], found.own + found.links + found.biases, atol=EXACT)


def test_a_link_names_the_head_with_most_of_it(trace):
    edge = max(weight_routes(trace, 3).edges, key=lambda edge: edge.share)
    weights = trace.attention(edge.layer)[:, edge.query, edge.key]
    assert edge.head == int(weights.argmax())
    assert edge.by_head == pytest.approx(edge.share * float(weights.max() / weights.sum()))


def test_a_query_that_there_is_not(trace):
    with pytest.raises(SelectionError, match="99"):
        weight_routes(trace, 99)


VIEWS = [
    MapView(2, 3),
    MapView(2, "mean", words=True),
    MapView(2, (1, 4), hide_special=True, words=True),
]


@pytest.mark.parametrize("against", [None, TEXT.replace("animal", "old dog")])
@pytest.mark.parametrize("view", VIEWS)
def test_the_map_of_shares_sums_heads_and_words(minilm, trace, view, against):
    found = vz.attribute(minilm, trace, of="pooled", against=against)
    heads = [3] if view.head == 3 else [1, 4] if view.head == (1, 4) else range(12)
    links = sum(found.links(2, head) for head in heads)
    here = found.parts[0].columns
    units = [[at] for at in range(trace.n_tokens)]
    if view.words:
        words = trace.sample.words
        units = [
            [at for at in range(trace.n_tokens) if words[at] == word and at in group]
            for word, group in _grouped(words)
        ]
    if view.hide_special:
        units = [unit for unit in units if not trace.sample.special[unit[0]]]
    wanted = [[links[np.ix_(here[a], here[b])].sum() for b in units] for a in units]
    n = len(units)
    tile = signed_tile(LinkMap(found, view), slice(0, n), slice(0, n), 512)
    np.testing.assert_allclose(tile.values, wanted, atol=1e-5)
    part = signed_tile(LinkMap(found, view), slice(2, 5), slice(1, 4), 512)
    np.testing.assert_allclose(part.values, np.array(wanted)[2:5, 1:4], atol=1e-5)


def _grouped(words):
    """Runs of tokens of one word; special tokens alone."""
    groups = []
    for at, word in enumerate(words):
        if word is not None and groups and groups[-1][0] == word:
            groups[-1][1].append(at)
        else:
            groups.append((word, [at]))
    return groups
