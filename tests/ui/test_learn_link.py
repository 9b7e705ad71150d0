"""A link to step 4 of the lesson holds whether products are divided by √d."""

import numpy as np
import pytest

import viz_encoder as vz

TEXT = "the keys to the cabinet [MASK] old"
LAYER, HEAD, QUERY, KEY = 2, 0, 6, 2
DIVIDE = ".viz-learn-here input"
PLACE = {"layer": LAYER, "head": HEAD, "query": QUERY, "key": KEY}


@pytest.mark.slow
def test_a_link_holds_whether_it_is_divided(visit, grammar):
    learn = {"tab": "learn", "learn.step": 4, "learn.divide": 0}
    page = visit(a=TEXT, kind="text", model="grammar", **learn, **PLACE).page
    page.wait_for_selector("#viz-learn [data-painted]")
    layer = vz.capture(grammar, TEXT).layers[LAYER]
    dots = layer.k[HEAD].double().numpy() @ layer.q[HEAD, QUERY].double().numpy()

    def weights(scores):
        exps = np.exp(scores - scores.max())
        return exps / exps.sum()

    def shown():
        cells = page.locator(".viz-learn-scores [data-weight]")
        return cells.evaluate_all("cells => cells.map((cell) => Number(cell.dataset.weight))")

    assert not page.is_checked(DIVIDE)
    np.testing.assert_allclose(shown(), weights(dots), atol=2e-6)
    page.click(".viz-learn-touched button")
    assert page.is_checked(DIVIDE)
    np.testing.assert_allclose(shown(), weights(dots / np.sqrt(layer.q.shape[-1])), atol=2e-6)
    page.evaluate("vizTab.selection.flush()")
    assert "learn.divide" not in page.url
    page.uncheck(DIVIDE)
    page.evaluate("vizTab.selection.flush()")
    assert "learn.divide=0" in page.url
