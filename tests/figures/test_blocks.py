"""Long runs are drawn in blocks: each cell is its block's largest, mean or sum, and says so."""

from importlib import import_module

import numpy as np
import pytest

import viz_encoder as vz
from viz_encoder.figures.options import VIEWS

OTHER = "A <b>lender</b> granted it"
# What names the limit, what is drawn, how a block becomes a cell, and what the title says.
FOLDED = {
    "attention_map": ("MAX_SIDE", {"layer": 0, "head": 0}, np.max, ", largest of {0} × {0}"),
    "token_similarity": ("MAX_SIDE", {"state": 2}, np.nanmean, ", mean of {0} × {0}"),
    "value_weighted": ("MAX_SIDE", {"layer": 2, "head": 1}, np.max, ", longest of {0} × {0}"),
    "link_shares": ("MAX_SIDE", {"layer": 3, "head": 1}, np.sum, ", sums of {0} × {0}"),
    "token_pairs": ("MAX_SIDE", {"other": OTHER}, np.sum, "the sum of these token pairs"),
    "rollout": ("depth.MAX_KEYS", {"query": 3}, np.max, ", largest of {0} keys"),
    "value_weighted_depth": ("depth.MAX_KEYS", {"query": 3}, np.max, ", longest of {0} keys"),
    "token_shares": ("depth.MAX_KEYS", {}, np.sum, " Each cell is the sum of {0} tokens."),
    "residual_change": ("MAX_KEYS", {"show": "each token"}, np.max, ", largest of {0} tokens"),
}


@pytest.fixture(scope="module")
def given(minilm, trace):
    """What views take."""
    found = vz.attribute(minilm, trace, of="state", token=2)
    return {"trace": trace, "encoder": minilm, "weights": minilm, "attribution": found}


@pytest.mark.parametrize("name", FOLDED)
def test_cells_of_a_long_run(given, monkeypatch, name):
    limit, options, fold, says = FOLDED[name]
    view = VIEWS[name]
    taken = [given[what] for what in view.takes]
    exact = np.array(view.draw(*taken, **options).data[0].z)
    if fold is np.nanmean:  # a token's likeness to itself is in no mean
        np.fill_diagonal(exact, np.nan)
    *other, constant = limit.split(".")
    module = import_module(f"viz_encoder.figures.{other[0] if other else name}")
    monkeypatch.setattr(module, constant, 4)
    if hasattr(module, "BLOCK_CELLS"):  # rows that are computed at a time
        monkeypatch.setattr(module, "BLOCK_CELLS", 1)
    figure = view.draw(*taken, **options)
    drawn = figure.data[0]
    assert drawn.z.shape[1] <= 4 < exact.shape[1]
    down, across = (-(-n // few) for n, few in zip(exact.shape, drawn.z.shape, strict=True))
    for (row, col), cell in np.ndenumerate(drawn.z):
        block = exact[row * down : (row + 1) * down, col * across : (col + 1) * across]
        assert cell == pytest.approx(fold(block), rel=1e-5, abs=1e-6), (row, col)
    assert says.format(across) in figure.layout.title.text
    assert drawn.x[0] == f"0–{across - 1}"
