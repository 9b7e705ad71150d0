"""What is counted of one layer: real queries only, each intent by itself, in numpy's numbers."""

import numpy as np
import torch

from tests.audit.plants import causal, padding
from viz_encoder.audit.measure.slots import Slots
from viz_encoder.trace.attention_call import AttentionCall
from viz_encoder.training.leaks import LayerIntent, LeakFinder

VALID = torch.arange(6) < torch.tensor([4, 6, 2])[:, None]


def ran_with(mask):
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 3, 2, 6, 4, generator=generator).unbind()
    return AttentionCall("sdpa", q, k, v, 0.5, mask[:, None])


def maps_of(ran):
    scores = (ran.q @ ran.k.mT).double().numpy() * 0.5
    scores = np.where(ran.mask.numpy(), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def test_closed_rows_of_padding_are_not_lost():
    rows_too = padding(VALID) & VALID[:, :, None]
    found = LeakFinder().find(ran_with(rows_too), LayerIntent(padding(VALID), VALID))
    assert not found.leak and found.lost.tolist() == [0, 0]
    short = rows_too & ~torch.eye(6, dtype=torch.bool)
    lost = LeakFinder().find(ran_with(short), LayerIntent(padding(VALID), VALID)).lost
    assert lost.tolist() == [int(VALID.sum())] * 2


def test_the_share_is_a_mean_over_real_queries():
    ran = ran_with(padding(VALID))
    found = LeakFinder().find(ran, LayerIntent(causal(VALID), VALID))
    over = maps_of(ran) * ~causal(VALID)[:, None].numpy() * VALID[:, None, :, None].numpy()
    meant = over.sum((0, 2, 3)) / int(VALID.sum())
    np.testing.assert_allclose(found.share.numpy(), meant, rtol=1e-5)
    np.testing.assert_allclose(found.largest.numpy(), over.max((0, 2, 3)), rtol=1e-5)
    head, sample, query, key = found.place
    assert over[sample, head, query, key] == over.max()


def test_the_row_that_is_farthest_from_1_is_of_real_queries_and_whole_ones_hold():
    ran, meant = ran_with(causal(VALID)), LayerIntent(causal(VALID), VALID)
    maps = torch.from_numpy(maps_of(ran)).float()
    assert LeakFinder().find(ran, meant).short is None  # a kernel's: nothing to be said
    whole = ran._replace(maps=maps)
    assert LeakFinder().find(whole, meant).short is None
    cut = maps.clone()
    cut[0, 1, 2] *= 0.4
    cut[0, 0, 5] = 0.0  # a row of padding
    cut[1, 1, 3] *= 0.7
    found = LeakFinder().find(whole._replace(maps=cut), meant).short
    assert found[:3] == (0, 1, 2) and abs(found.total - 0.4) < 1e-5 and found.open_hold
    cut[1, 1, 5] *= 0.9  # no key is forbidden to the last one of a whole text
    assert not LeakFinder().find(whole._replace(maps=cut), meant).short.open_hold
    sink = 1 - cut.sum(dim=-1)
    assert LeakFinder().find(whole._replace(maps=cut, sink=sink), meant).short is None


def test_one_mask_is_held_against_the_intent_of_each_layer():
    ran, finder = ran_with(padding(VALID)), LeakFinder()
    right, wrong = LayerIntent(padding(VALID), VALID), LayerIntent(causal(VALID), VALID)
    assert [finder.find(ran, meant).leak for meant in (right, wrong, right)] == [False, True, False]


def test_what_is_added_to_all_keys_alike_is_added_beside_slots_too():
    generator = torch.Generator().manual_seed(1)
    q = torch.randn(3, 2, 6, 4, generator=generator)
    k, v = torch.randn(2, 3, 2, 7, 4, generator=generator).unbind()
    ran = AttentionCall("sdpa", q, k, v, 0.5)  # a slot before the tokens, and no mask
    meant, slots = LayerIntent(causal(VALID), VALID), Slots(first=1, n_open=1)
    found, added = (
        LeakFinder().find(one, meant, slots)
        for one in (ran, ran._replace(bias=torch.zeros(3, 1, 6, 1)))
    )
    assert found.leak and torch.equal(found.largest, added.largest)
    assert torch.equal(found.lost, added.lost) and found.place == added.place
