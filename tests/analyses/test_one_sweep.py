"""One sweep gives the survey and the proof: equal to each alone, and to plain sums in float64."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.by_hand import run_of
from viz_encoder.analyses import survey as survey_of
from viz_encoder.analyses.survey import STATISTICS
from viz_encoder.checkpoints import LoadedEncoder, ModelCard
from viz_encoder.config import Positions
from viz_encoder.model import Encoder
from viz_encoder.trace import LayerTrace, block_sums, head_sweep, proof

N, HEADS, D = 203, 4, 8  # a prime-ish length: no block and no cell divides it


def of(config):
    torch.manual_seed(1)
    made = {"n_layers": 2, "n_heads": HEADS, "d_model": 32, "d_ff": 32, "vocab_size": 99}
    encoder = Encoder(vz.EncoderConfig(**made | {"max_positions": 256} | config)).eval()
    loaded = LoadedEncoder(encoder, None, ModelCard("made up", "here"))
    ids = torch.randint(0, 99, (1, N), generator=torch.Generator().manual_seed(2))
    return vz.capture(loaded, ids)


def attended(layer):
    """What a kernel gives back, by plain float64 matrices, as its signature."""
    from viz_encoder.model.attention import signs

    whole = maps_of(layer) @ layer.v.double().repeat_interleave(len(layer.q) // len(layer.v), dim=0)
    return (whole @ signs(whole.shape[-1], whole)).float()


def maps_of(layer):
    """softmax(scale · q kᵀ + bias) over the allowed keys, step by step in float64."""
    k = layer.k.double().repeat_interleave(len(layer.q) // len(layer.k), dim=0)
    scores = layer.scale * torch.einsum("hqd,hkd->hqk", layer.q.double(), k)
    scores = scores if layer.bias is None else scores + layer.bias.double()
    allowed = torch.ones_like(scores).bool()
    allowed = allowed if layer.mask is None else layer.mask.expand_as(scores)
    powers = torch.where(allowed, (scores - scores.amax(-1, keepdim=True)).exp(), 0)
    return powers / powers.sum(-1, keepdim=True).clamp_min(1e-300)


def made_of(valid=None, n_kv=HEADS, spread=1.0, **given):
    """A run of one made-up layer with grouped keys, a bias or a mask."""
    draws = torch.Generator().manual_seed(3)
    q, k, v = (spread * torch.randn(h, N, D, generator=draws) for h in (HEADS, n_kv, n_kv))
    layer = LayerTrace(q, k, v, D**-0.5, **given)
    layer = replace(layer, signature=attended(layer))
    return run_of(layer, valid=valid, special=[at in (0, N - 1) for at in range(N)])


def padding():
    valid = torch.ones(N, dtype=torch.bool)
    valid[:3] = valid[150:] = False
    return valid


def scattered():
    draws = torch.rand(HEADS, N, N, generator=torch.Generator().manual_seed(5)) < 0.4
    draws[:, 17] = False
    return draws


def near(reach):
    at = torch.arange(N)
    return ((at[:, None] - at).abs() <= reach)[None]


AWAY = (torch.arange(N)[:, None] - torch.arange(N)).abs().float()
RUNS = {
    "plain": lambda: of({}),
    "rotary": lambda: of({"positions": Positions.NONE, "rotary_base": 1e4}),
    "relative": lambda: of({"relative_buckets": 32, "scale": 1.0}),
    "window": lambda: of({"window": 16}),
    "GQA": lambda: made_of(n_kv=2),
    "ALiBi": lambda: made_of(bias=-AWAY * torch.tensor([0.5, 0.1, 0.02, 0.0])[:, None, None]),
    "padding": lambda: made_of(padding(), mask=padding()[None, None]),
    "local": lambda: made_of(mask=near(9)),
    "a mask per head with an empty row": lambda: made_of(mask=scattered()),
    "bias and mask": lambda: made_of(bias=AWAY.sin()[None], mask=near(40)),
    "large scores": lambda: made_of(spread=3.0),
}


@pytest.fixture(scope="module", params=RUNS)
def trace(request):
    return RUNS[request.param]()


def fresh(trace):
    """The same run of which nothing is known."""
    return replace(trace, layers=tuple(replace(layer) for layer in trace.layers))


def statistics(weights, trace):
    """All of STATISTICS of one head from a whole map in float64."""
    real = trace.valid.numpy().nonzero()[0]
    special, n = np.array(trace.sample.special), len(weights)
    rows, keys = weights[real], np.arange(n)
    after = [i for i in real if i + 1 < n and trace.valid[i + 1]]
    before = [i for i in real if i > 0 and trace.valid[i - 1]]
    return {
        "entropy": -(rows * np.log(np.where(rows > 0, rows, 1))).sum(axis=1).mean(),
        "distance": (rows * np.abs(real[:, None] - keys)).sum(axis=1).mean(),
        "previous": np.mean([weights[i, i - 1] for i in before]),
        "next": np.mean([weights[i, i + 1] for i in after]),
        "same": weights[real, real].mean(),
        "first": rows[:, 0].mean(),
        "special": rows[:, special].sum(axis=1).mean(),
        "largest": rows.max(),
    }


def check(trace, size=64):
    """Everything that one sweep gives, within 2e-5 of its largest value."""
    trace = fresh(trace)
    found = survey_of(trace, size)
    for layer, surveyed in zip(trace.layers, found, strict=True):
        whole = trace_maps(layer)
        step = -(-N // size)
        for head, weights in enumerate(whole):
            for name, value in statistics(weights, trace).items():
                scale = max(1.0, abs(value))
                got = surveyed.statistics[name][head]
                assert got == pytest.approx(value, abs=2e-5 * scale), name
            padded = np.pad(weights, (0, -N % step)).reshape(-(-N // step), step, -1, step)
            pairs = np.minimum(step, N - np.arange(0, N, step))
            means = padded.sum(axis=(1, 3)) / np.outer(pairs, pairs)
            tops = surveyed.thumbnails_max[head], padded.max(axis=(1, 3))
            for got, expected in (tops, (surveyed.thumbnails_mean[head], means)):
                shown = ~np.isnan(got)
                assert shown.any() and np.abs(got - expected)[shown].max() <= 2e-5
                assert np.abs(expected[~shown]).max(initial=0) == 0
    return trace.proof


def trace_maps(layer):
    """By this file's own float64 where the layer says all; else the whole map at once."""
    if layer.relative is not None:
        return layer.weights(slice(None), slice(None)).double().numpy()
    return maps_of(layer).numpy()


@pytest.mark.parametrize("size", [64, 7])
def test_one_sweep_is_the_survey_and_the_proof(trace, size):
    together, alone = check(trace, size), fresh(trace).proof
    assert together.passed and alone.passed, (together.sentence, alone.sentence)
    assert together.error == pytest.approx(alone.error, abs=1e-6)
    assert together.row_sums == pytest.approx(alone.row_sums, abs=1e-6)
    same = ("empty_rows", "nan_rows", "tolerance", "kernel", "sinks")
    assert [getattr(together, n) for n in same] == [getattr(alone, n) for n in same]
    assert together.sentence[:60] == alone.sentence[:60]


def test_after_the_survey_the_proof_sweeps_no_more(monkeypatch):
    trace = of({})
    survey_of(trace)
    monkeypatch.setattr(LayerTrace, "weights", None)
    assert trace.proof.passed


@pytest.mark.parametrize("switch", ["hide_special", "renormalize"])
def test_a_survey_of_what_is_shown_leaves_the_proof_to_itself(switch):
    trace = made_of()
    survey_of(trace, **{switch: True})
    assert trace.layers[0] not in proof._KEPT
    assert trace.proof.passed


def test_a_tensor_changed_in_place_after_the_survey_is_swept_again():
    trace = made_of()
    survey_of(trace)
    trace.layers[0].k[1, 5] += 1
    assert not trace.proof.passed and trace.proof.worst[:2] == (0, 1)


KEPT_PARTS = {
    "maps": lambda: {"maps": torch.rand(HEADS, N, N).softmax(dim=-1)},
    "relative": lambda: {"relative": torch.randn(HEADS, 2 * N - 1)},
    "sink": lambda: {"sink": torch.zeros(HEADS, N)},
}


@pytest.mark.parametrize("part", KEPT_PARTS)
def test_so_is_any_other_part_of_a_layer(part):
    layer = replace(made_of().layers[0], signature=None, **KEPT_PARTS[part]())
    before = proof.evidence_of(layer)
    assert proof.evidence_of(layer) is before
    getattr(layer, part)[2, 7] += 1
    assert proof.evidence_of(layer) is not before


def test_a_run_that_does_not_follow_fails_by_both_ways(trace):
    layer = trace.layers[0]
    signature = layer.signature.clone()
    signature[2, 101] *= 1.01
    layers = (replace(layer, signature=signature), *trace.layers[1:])
    for known in (False, True):
        spoiled = replace(trace, layers=tuple(replace(each) for each in layers))
        if known:
            survey_of(spoiled)
        assert not spoiled.proof.passed and spoiled.proof.worst == (0, 2, 101)


def last_block_dropped(blocks):
    return blocks[:-1]


def row_offset_wrong(blocks):
    first, second, *rest = blocks
    rows = slice(second.rows.start + 1, second.rows.stop + 1)
    return [first, replace(second, rows=rows), *rest]


@pytest.mark.parametrize("fault", [last_block_dropped, row_offset_wrong])
def test_a_planted_fault_in_the_walk_is_seen(fault, monkeypatch):
    """What the checks above are worth: both go red, the numbers and the proof."""
    trace = made_of()
    whole = block_sums.blocks_of
    monkeypatch.setattr(
        head_sweep, "blocks_of", lambda *args, **more: fault(list(whole(*args, **more)))
    )
    with pytest.raises(AssertionError):
        check(trace)
    spoiled = fresh(trace)
    survey_of(spoiled)
    assert not spoiled.proof.passed


def test_every_statistic_is_checked():
    trace = made_of()
    assert set(statistics(maps_of(trace.layers[0])[0].numpy(), trace)) == set(STATISTICS)
