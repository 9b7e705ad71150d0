"""The survey and the overview against plain loops over the whole map."""

from importlib import import_module

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.by_hand import layer_of, run_of
from viz_encoder.analyses.findings import role_shares
from viz_encoder.analyses.overview import overview, row
from viz_encoder.analyses.rollout import rollout
from viz_encoder.analyses.survey import STATISTICS, survey, surveys
from viz_encoder.errors import SelectionError
from viz_encoder.trace import LayerTrace

survey_module = import_module("viz_encoder.analyses.survey")

TEXTS = ["The animal didn't cross the street because it was too tired, and slept.", "A short one"]


@pytest.fixture(scope="module")
def traces(minilm):
    """Two runs of one padded batch; the second has padding queries and masked keys."""
    return vz.capture(minilm, TEXTS)


def blocks(n, step):
    return [range(start, min(start + step, n)) for start in range(0, n, step)]


def by_loops(weights, allowed, step, reduce):
    """Thumbnail of one map: the largest or the mean of each block, NaN where all is masked."""
    row_step, key_step = step if isinstance(step, tuple) else (step, step)
    parts = blocks(len(weights), row_step), blocks(weights.shape[1], key_step)
    out = np.full((len(parts[0]), len(parts[1])), np.nan)
    for i, rows in enumerate(parts[0]):
        for j, keys in enumerate(parts[1]):
            at = np.ix_(rows, keys)
            if allowed[at].any():
                out[i, j] = getattr(weights[at], reduce)()
    return out


@pytest.mark.parametrize("block_bytes", [4 * 2**20, 20_000])
def test_several_runs_swept_together_are_as_each_alone(traces, block_bytes, monkeypatch):
    monkeypatch.setattr(survey_module, "BLOCK_BYTES", block_bytes)
    for one, trace in zip(surveys(traces, 5), traces, strict=True):
        for layer, alone in zip(one, survey(trace, 5), strict=True):
            for name in ("thumbnails_max", "thumbnails_mean"):
                two = getattr(layer, name), getattr(alone, name)
                assert np.allclose(*two, atol=1e-6, equal_nan=True), name
            for name, value in alone.statistics.items():
                assert np.allclose(layer.statistics[name], value, atol=2e-5), name


@pytest.mark.parametrize(
    "valid", [[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 1, 1]]
)
@pytest.mark.parametrize("block_bytes", [2**20, 50])
def test_a_head_that_looks_at_its_neighbor_has_all_its_weight_there(
    valid, block_bytes, monkeypatch
):
    """Padding on either side or within: only queries with a real neighbor are averaged."""
    monkeypatch.setattr(survey_module, "BLOCK_BYTES", block_bytes)
    n, at = len(valid), torch.arange(len(valid))
    maps = torch.stack([torch.eye(n)[(at + shift).clamp(0, n - 1)] for shift in (-1, 1)])
    found = survey(run_of(layer_of(maps), valid=valid))[0].statistics
    assert found["previous"].tolist() == [1, 0]
    assert found["next"].tolist() == [0, 1]


@pytest.mark.parametrize("n", [6, 7])
def test_what_a_statistic_can_be_at_most(n):
    """Heads that have all of one statistic, and one that attends evenly."""
    at = torch.arange(n)
    end = torch.where(at < n / 2, n - 1, 0)
    looks = {"distance": end, "previous": at - 1, "next": at + 1, "same": at, "first": at * 0}
    maps = [torch.eye(n)[where.clamp(0, n - 1)] for where in looks.values()]
    maps = torch.stack([*maps, torch.full((n, n), 1 / n)])
    found = survey(run_of(layer_of(maps)))[0].statistics
    said = {name: statistic.of(n) for name, statistic in STATISTICS.items()}
    for head, name in enumerate(looks):
        extra = 1 / n if name in ("previous", "next") else 0  # its edge falls on itself
        assert found[name][head] == pytest.approx(said[name]["most"], abs=1e-6), name
        assert found["same"][head] == pytest.approx(
            {"same": 1, "first": 1 / n}.get(name, extra), abs=1e-6
        )
    assert found["entropy"][-1] == pytest.approx(said["entropy"]["most"], abs=1e-6)
    for name in ("entropy", "distance"):
        assert found[name][-1] == pytest.approx(said[name]["even"], abs=1e-6)
    for name, values in found.items():
        assert values.max() <= said[name]["most"] + 1e-6
        assert said[name]["title"] and said[name]["unit"] in ("nats", "tokens", "share")


def test_an_empty_part_is_refused(traces):
    with pytest.raises(SelectionError, match="empty"):
        overview(traces[0], 0, 0, rows=slice(3, 3), keys=slice(0, 3))


def test_one_token(minilm):
    from viz_encoder.checkpoints import LoadedEncoder, ModelCard
    from viz_encoder.model import Encoder

    config = vz.EncoderConfig(n_layers=1, n_heads=2, d_model=8, d_ff=8, vocab_size=9)
    encoder = LoadedEncoder(Encoder(config), None, ModelCard("tiny", "here"))
    surveyed = survey(vz.capture(encoder, torch.tensor([[3]])))[0]
    assert surveyed.thumbnails_max.tolist() == [[[1.0]], [[1.0]]]
    neighbors = {name: surveyed.statistics.pop(name) for name in ("previous", "next")}
    assert np.isnan(list(neighbors.values())).all()  # one token has neither
    assert np.isfinite(list(surveyed.statistics.values())).all()
    assert surveyed.statistics["entropy"].tolist() == pytest.approx([0, 0])


def test_of_a_head_of_nan_no_statistic_is_a_number():
    """Not even its weight on a kind of token that the run does not have."""
    q = torch.zeros(2, 5, 4)
    q[1] = torch.nan
    trace = run_of(LayerTrace(q, torch.ones_like(q), torch.ones_like(q), 1.0))
    statistics = survey(trace)[0].statistics
    for role in ("delimiter", "punctuation"):
        statistics[role] = role_shares(trace, role).shares[0]
    for name, (known, unknown) in statistics.items():
        assert np.isfinite(known) and np.isnan(unknown), name


def test_cross_attention_is_surveyed_over_its_own_keys():
    model = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    for n_keys in (11, 3):
        keys = torch.randn(1, n_keys, 8)
        allowed = torch.ones(5, n_keys, dtype=torch.bool)
        allowed[2:4, :3] = allowed[4, 1:] = False  # whole cells of it, and parts of others
        allowed[2, 2] = n_keys > 3
        with torch.no_grad(), vz.record(model) as recording:
            model(torch.randn(1, 5, 8), keys, keys, attn_mask=~allowed)
        trace = recording.trace(cross=True)
        surveyed, weights = survey(trace, 4)[0], trace.attention(0).numpy()
        expected = by_loops(weights[1], allowed.numpy(), (2, -(-n_keys // 4)), "mean")
        assert np.allclose(surveyed.thumbnails_mean[1], expected, atol=1e-6, equal_nan=True)
        assert surveyed.statistics["largest"] == pytest.approx(weights.max(axis=(1, 2)))
        assert np.isnan(surveyed.statistics["distance"]).all()
        tile = overview(trace, 0, 1, rows=slice(1, 5), keys=slice(2, n_keys))
        assert np.abs(np.nan_to_num(tile.values) - weights[1, 1:, 2:]).max() <= 1e-6


@pytest.mark.parametrize("head", [0, "mean", "max"])
def test_hidden_tokens_far_apart_cost_no_more(traces, head, monkeypatch):
    """The rows between two kept tokens must not be computed."""
    seen = []
    weights = LayerTrace.weights
    monkeypatch.setattr(
        LayerTrace, "weights", lambda *given: seen.append(weights(*given)) or seen[-1]
    )
    trace, kept = traces[0], [0, traces[0].n_tokens - 1]
    overview(trace, 0, head, rows=slice(None), keys=slice(None), tokens=kept)
    assert max(part.shape[1] for part in seen) == 2


def test_analyses_leave_the_trace_as_it_was():
    """Kept maps are handed out as they are, so nothing may be computed in place on them."""
    kept = torch.rand(2, 6, 6).softmax(dim=-1)
    trace = run_of(layer := layer_of(kept.clone()), valid=[1, 1, 1, 1, 0, 0])
    survey(trace, 4)
    for head in (0, "mean", "max", (0, 1)):
        overview(trace, 0, head, rows=slice(None), keys=slice(None), size=4)
        row(trace, 0, head, 2)
    rollout(trace, 1)
    assert torch.equal(layer.maps, kept)
