"""The three panels as a figure: their numbers, their words and the cells that are outlined."""

import numpy as np
import torch

import viz_encoder as vz
from viz_encoder.figures.mask_panels import draw

TEXT = "The bank approved the loan"


def test_three_maps_and_every_leak_outlined(minilm):
    trace = vz.capture(minilm, TEXT)
    n = trace.n_tokens
    intent = torch.ones(n, n).tril().bool()
    figure = draw(trace, intent, layer=3, head=5)
    intended, passed, observed, leaks = figure.data
    np.testing.assert_array_equal(np.array(intended.z, dtype=bool), intent)
    assert np.array(passed.z).all()
    np.testing.assert_allclose(np.array(observed.z), trace.attention(3, 5).numpy(), atol=1e-7)
    found = {(int(y.split()[0]), int(x.split()[0])) for x, y in zip(leaks.x, leaks.y, strict=True)}
    assert found == {(q, k) for q in range(n) for k in range(q + 1, n)}
    titles = [figure.layout[f"xaxis{i}"].title.text for i in ("", "2", "3")]
    said = ["Intended", "Passed", f"Observed: {n * (n - 1) // 2} leaking"]
    assert titles == [f"<b>{each}</b><br>Key (who is looked at)" for each in said]
    assert figure.layout.yaxis.title.text == "Query (who looks)"


def test_a_mask_that_ran_has_nothing_outlined(minilm):
    n = vz.capture(minilm, TEXT).n_tokens
    intent = torch.ones(n, n).tril().bool()
    figure = draw(vz.capture(minilm, TEXT, mask=intent), intent, layer=1, head=2)
    assert len(figure.data) == 3
    assert "Observed: no leak" in figure.layout.xaxis3.title.text


def test_in_heads_that_the_intent_leaves_out_nothing_leaks(minilm):
    trace = vz.capture(minilm, TEXT)
    intent = torch.ones(trace.n_tokens, trace.n_tokens).tril().bool()
    where = np.zeros((6, 12), bool)
    where[3, 5] = True
    assert "leaking" in draw(trace, intent, layer=3, head=5, where=where).layout.xaxis3.title.text
    other = draw(trace, intent, layer=3, head=4, where=where)
    assert "Observed: no leak" in other.layout.xaxis3.title.text
    assert np.array(other.data[0].z).all()  # and nothing is forbidden there
