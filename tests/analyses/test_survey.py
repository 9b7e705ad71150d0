"""The survey and the overview against plain loops over the whole map."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from viz_encoder.analyses import survey as survey_module
from viz_encoder.analyses.overview import overview, row
from viz_encoder.analyses.survey import STATISTICS, survey
from viz_encoder.errors import SelectionError

TEXTS = ["The animal didn't cross the street because it was too tired, and slept.", "A short one"]


@pytest.fixture(scope="module")
def traces(minilm):
    """Two runs of one padded batch; the second has padding queries and masked keys."""
    return vz.capture(minilm, TEXTS)


def blocks(n, step):
    return [range(start, min(start + step, n)) for start in range(0, n, step)]


def by_loops(weights, allowed, step, reduce):
    """Thumbnail of one map: the largest or the mean of each block, NaN where all is masked."""
    parts = blocks(len(weights), step)
    out = np.full((len(parts), len(parts)), np.nan)
    for i, rows in enumerate(parts):
        for j, keys in enumerate(parts):
            at = np.ix_(rows, keys)
            if allowed[at].any():
                out[i, j] = getattr(weights[at], reduce)()
    return out


def statistics_by_loops(weights, valid, special):
    real = [i for i, v in enumerate(valid) if v]
    rows = weights[real]
    n = len(weights)
    share = lambda shift: [weights[i, i + shift] if 0 <= i + shift < n else 0 for i in real]  # noqa: E731
    logs = np.log(np.where(rows > 0, rows, 1))
    return {
        "entropy": -(rows * logs).sum(axis=1).mean(),
        "distance": np.mean([sum(weights[i, j] * abs(i - j) for j in range(n)) for i in real]),
        "diagonal": np.mean(share(0)),
        "previous": np.mean(share(-1)),
        "next": np.mean(share(1)),
        "first": rows[:, 0].mean(),
        "special": rows[:, np.array(special)].sum(axis=1).mean(),
        "largest": rows.max(),
    }


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("size", [64, 5])
@pytest.mark.parametrize("block_bytes", [4 * 2**20, 300])
def test_survey_equals_loops(traces, which, size, block_bytes, monkeypatch):
    monkeypatch.setattr(survey_module, "BLOCK_BYTES", block_bytes)
    trace = traces[which]
    n, step = trace.n_tokens, -(-trace.n_tokens // size)
    allowed = np.broadcast_to(trace.valid.numpy(), (n, n))
    for layer, surveyed in enumerate(survey(trace, size)):
        for head in (0, 5, 11):
            weights = trace.attention(layer, head).numpy().astype(np.float64)
            for found, reduce in (
                (surveyed.thumbnails_max, "max"),
                (surveyed.thumbnails_mean, "mean"),
            ):
                expected = by_loops(weights, allowed, step, reduce)
                assert np.allclose(found[head], expected, atol=1e-6, equal_nan=True)
            expected = statistics_by_loops(weights, trace.valid.tolist(), trace.sample.special)
            assert set(expected) == set(STATISTICS)
            for name, value in expected.items():
                assert surveyed.statistics[name][head] == pytest.approx(value, abs=2e-5), name


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("head", [3, "mean", "max", (1, 4)])
@pytest.mark.parametrize("size", [512, 4])
def test_overview_equals_loops(traces, which, head, size):
    trace = traces[which]
    every = trace.attention(2).numpy()
    whole = {3: every[3], "mean": every.mean(axis=0), "max": every.max(axis=0)}.get(
        head, every[[1, 4]].mean(axis=0)
    )
    kept = [i for i, special in enumerate(trace.sample.special) if not special]
    for tokens in (None, kept):
        index = np.arange(trace.n_tokens) if tokens is None else np.array(tokens)
        rows, keys = slice(1, len(index)), slice(0, len(index) - 1)
        tile = overview(trace, 2, head, rows=rows, keys=keys, size=size, tokens=tokens)
        part = whole[np.ix_(index[rows], index[keys])]
        allowed = np.broadcast_to(trace.valid.numpy()[index[keys]], part.shape)
        for i, row_block in enumerate(blocks(part.shape[0], tile.row_step)):
            for j, key_block in enumerate(blocks(part.shape[1], tile.key_step)):
                at = np.ix_(row_block, key_block)
                expected = part[at][allowed[at]].max() if allowed[at].any() else np.nan
                assert tile.values[i, j] == pytest.approx(expected, abs=1e-6, nan_ok=True)
        assert max(tile.values.shape) <= size


def test_a_row_is_exact_and_marks_what_is_masked(traces):
    found = row(traces[1], 4, 7, 2)
    expected = traces[1].attention(4, 7)[2].numpy()
    assert np.array_equal(np.isnan(found), ~traces[1].valid.numpy())
    assert np.nanmax(np.abs(found - expected)) <= 1e-6


def test_an_empty_part_is_refused(traces):
    with pytest.raises(SelectionError, match="empty"):
        overview(traces[0], 0, 0, rows=slice(3, 3), keys=slice(0, 3))


def test_a_single_spike_survives_any_pooling(minilm):
    trace = vz.capture(minilm, "word " * 400)
    whole = trace.attention(3)
    for head in range(trace.n_heads):
        assert survey(trace, 8)[3].thumbnails_max[head].max() == pytest.approx(
            float(whole[head].max()), abs=1e-6
        )


def test_one_token(minilm):
    from viz_encoder.checkpoints import LoadedEncoder, ModelCard
    from viz_encoder.model import Encoder

    config = vz.EncoderConfig(n_layers=1, n_heads=2, d_model=8, d_ff=8, vocab_size=9)
    encoder = LoadedEncoder(Encoder(config), None, ModelCard("tiny", "here"))
    surveyed = survey(vz.capture(encoder, torch.tensor([[3]])))[0]
    assert surveyed.thumbnails_max.tolist() == [[[1.0]], [[1.0]]]
    assert np.isfinite(list(surveyed.statistics.values())).all()
    assert surveyed.statistics["entropy"].tolist() == pytest.approx([0, 0])
