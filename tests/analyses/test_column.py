"""One key's column against whole maps, and against scores and softmax written out in float64."""

import numpy as np
import pytest

from tests.by_hand import maps_of
from viz_encoder.analyses.column import column
from viz_encoder.trace import head_rows


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("block_bytes", [2**20, 4 * 15 * 4])
def test_a_column_is_what_each_query_gives_the_key(traces, which, block_bytes, monkeypatch):
    monkeypatch.setattr(head_rows, "BLOCK_BYTES", block_bytes)
    trace = traces[which]
    for layer, head, key in [(0, 0, 0), (3, 5, 2), (5, 11, 4)]:
        got = column(trace, layer, head, key).weights
        assert np.abs(got - maps_of(trace, layer)[head][:, key]).max() <= 1e-6
        assert np.abs(got - trace.attention(layer, head)[:, key].numpy()).max() <= 1e-7


def test_a_forbidden_key_is_nan_and_no_zero(traces):
    padding = int((~traces[1].valid).nonzero()[0])
    assert np.isnan(column(traces[1], 1, 3, padding).weights).all()
    assert not np.isnan(column(traces[1], 1, 3, 0).weights).any()
