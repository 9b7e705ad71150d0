"""attribute_pair: a dot product against vectors carried forward in float64, and what it refuses."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.attribution.plain import Carried
from tests.attribution.test_attribute import KINDS, close, random_encoder
from tests.refusals import refused
from viz_encoder.errors import InputError, SelectionError, TooLong

ONE, TWO = "The animal slept because it was tired", "A dog was exhausted"


@pytest.mark.parametrize("kind", KINDS)
def test_each_pair_of_tokens_has_the_product_of_their_parts(kind):
    encoder = random_encoder(**KINDS[kind])
    seeded = torch.Generator().manual_seed(3)
    given = [torch.randn(n, 16, generator=seeded) for n in (6, 4)]
    found = vz.attribute_pair(encoder, *given)
    with torch.no_grad():
        plain = []
        for trace in found.traces:
            n = trace.n_tokens
            mask = torch.ones(n, n, dtype=torch.bool).tril() if encoder.config.causal else None
            plain.append(Carried(encoder, trace.hidden(0), mask).carried().mean(dim=1))
    table = plain[0] @ plain[1].T
    assert close(found.shares, table[:-1, :-1])
    assert close(found.first, table[:-1, -1]) and close(found.second, table[-1, :-1])
    assert close([found.biases, found.score], [table[-1, -1], table.sum()])


def test_the_score_is_the_dot_product_and_the_pair_that_means_the_same_comes_first(minilm):
    found = vz.attribute_pair(minilm, ONE, TWO)
    vectors = [
        vz.pool(trace.output, trace.valid, "declared", encoder=minilm) for trace in found.traces
    ]
    assert close(found.score, vectors[0] @ vectors[1])
    assert close(found.lengths, [vector.norm() for vector in vectors])
    total = found.shares.sum() + found.first.sum() + found.second.sum() + found.biases
    assert abs(total - found.score) < 1e-6 and found.unexplained < 1e-6
    one, two = (trace.tokens for trace in found.traces)
    assert [(one[i], two[j]) for i, j in found.ranked(2)] == [
        ("animal", "dog"),
        ("tired", "exhausted"),
    ]
    assert f"cosine {found.score:.2f}" in found.sentence and "“animal” with “dog”" in found.sentence
    assert np.asarray(found) is found.shares
    frame = found.to_frame()
    row = frame[(frame.token == "tired") & (frame.other_token == "dog")]
    place = row.number.item(), row.other.item()
    assert place == (one.index("tired"), two.index("dog"))
    assert row.share.item() == found.shares[place]


def test_order_padding_and_batches_change_nothing(minilm, monkeypatch):
    found, turned = vz.attribute_pair(minilm, ONE, TWO), vz.attribute_pair(minilm, TWO, ONE)
    assert close(turned.shares, found.shares.T) and close(turned.first, found.second)
    amounts = [abs(found.shares[at]) for at in found.ranked(99)]
    assert amounts == sorted(amounts, reverse=True) and found.shares.min() < 0
    short, _ = vz.capture(minilm, [TWO, ONE])
    padded = vz.attribute_pair(minilm, ONE, short)
    n = turned.shares.shape[0]
    assert not padded.shares[:, n:].any() and close(padded.shares[:, :n], found.shares)
    monkeypatch.setattr("viz_encoder.attribution.pair_shares.BATCH", 2)
    assert close(vz.attribute_pair(minilm, ONE, TWO).shares, found.shares)


def test_what_it_refuses(minilm):
    refused(TooLong, r"258 tokens; .* at most 256", vz.attribute_pair, minilm, "a " * 256, TWO)
    refused(InputError, "second has 2 inputs; give one", vz.attribute_pair, minilm, ONE, [ONE, TWO])
    encoder = random_encoder().train()
    with pytest.raises(SelectionError, match="training mode"):
        vz.attribute_pair(encoder, torch.randn(4, 16), torch.randn(4, 16))
