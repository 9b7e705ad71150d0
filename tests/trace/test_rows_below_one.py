"""Rows below 1 by design, such as attention sinks, and what is neither; the entropy of rows."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformers import GptOssConfig, GptOssModel

from tests.trace.zoo import make_uneven
from viz_encoder.analyses.survey import survey
from viz_encoder.errors import TraceError
from viz_encoder.trace import Trace, record
from viz_encoder.trace.row_measures import row_entropy

torch.set_num_threads(1)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:transformers")
GPT_OSS = {
    "vocab_size": 50,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 6,
    "intermediate_size": 16,
    "num_local_experts": 2,
    "num_experts_per_tok": 1,
    "sliding_window": 4,
    "pad_token_id": 0,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
}
N_TOKENS, D_MODEL = 9, 12


@pytest.fixture(scope="module")
def gpt_oss():
    torch.manual_seed(7)
    model = GptOssModel(GptOssConfig(**GPT_OSS)).eval()
    make_uneven(model)
    ids = torch.randint(1, 50, (2, N_TOKENS), generator=torch.Generator().manual_seed(1))
    with torch.no_grad(), record(model) as recording:
        output = model(ids, output_attentions=True)
    return recording, output.attentions


def test_the_sinks_of_gpt_oss(gpt_oss):
    recording, attentions = gpt_oss
    trace = recording.trace(sample=1)
    for layer, expected in enumerate(attentions):
        missing = 1 - expected[1].sum(dim=-1)
        assert missing.max() > 0.1
        assert (trace.attention(layer) - expected[1]).abs().max() <= 5e-6
        assert (trace.layers[layer].sink - missing).abs().max() <= 5e-6
    proof = trace.proof
    shares = torch.stack([1 - one[1].sum(dim=-1).mean(dim=-1) for one in attentions])
    assert proof.passed and (torch.tensor(proof.sinks) - shares).abs().max() <= 5e-6
    layer, head = divmod(int(shares.argmax()), 4)
    assert proof.sentence.startswith("The maps are the ones that ran")
    assert "sum to less than 1 by design" in proof.sentence
    assert f"layer {layer}, head {head}: {float(shares.max()):.1%}" in proof.sentence


def test_a_sink_is_saved_with_its_run(gpt_oss, tmp_path):
    trace = gpt_oss[0].trace()
    trace.save(tmp_path / "run.safetensors")
    loaded = Trace.load(tmp_path / "run.safetensors")
    assert torch.equal(loaded.layers[1].sink, trace.layers[1].sink)
    assert loaded.proof == trace.proof and loaded.proof.passed


def plus_one_by_pad(scores):
    return F.softmax(F.pad(scores, (0, 1)), dim=-1)[..., :-1]


def plus_one_in_front(scores):
    return F.pad(scores, (1, 0)).softmax(-1)[:, :, :, 1:]


def plus_one_by_narrow(scores):
    return torch.softmax(F.pad(scores, (1, 0)), -1).narrow(-1, 1, scores.shape[-1])


def plus_one_afterwards(scores):
    return scores.softmax(dim=-1) * scores.logsumexp(dim=-1, keepdim=True).sigmoid()


def plus_one_written_out(scores):
    return scores.exp() / (1 + scores.exp().sum(dim=-1, keepdim=True))


class PlusOne(nn.Module):
    """Softmax plus one (Miller, 2023), written in one of several ways."""

    def __init__(self, soften):
        super().__init__()
        self.qkv, self.soften = nn.Linear(D_MODEL, 3 * D_MODEL), soften

    def scores(self, x):
        q, k, _ = self.qkv(x).unflatten(-1, (12, 3)).transpose(1, 2).split(4, dim=1)
        return q @ k.mT

    def forward(self, x):
        v = self.qkv(x).unflatten(-1, (12, 3)).transpose(1, 2)[:, 8:]
        return (self.soften(self.scores(x)) @ v).transpose(1, 2).flatten(-2)


def run(soften):
    """Recorded, and the map of softmax plus one by its formula."""
    torch.manual_seed(3)
    model, x = PlusOne(soften), torch.randn(2, N_TOKENS, D_MODEL)
    with torch.no_grad():
        plain = model(x)
        with record(model) as recording:
            assert torch.equal(model(x), plain)
        return recording, plus_one_written_out(model.scores(x))[1]


@pytest.mark.parametrize("soften", [plus_one_by_pad, plus_one_in_front, plus_one_by_narrow])
def test_softmax_plus_one(soften):
    recording, expected = run(soften)
    trace = recording.trace(sample=1)
    assert (trace.attention(0) - expected).abs().max() <= 2e-6
    assert (trace.layers[0].sink - (1 - expected.sum(dim=-1))).abs().max() <= 2e-6
    assert trace.proof.passed and "by design" in trace.proof.sentence


def test_what_takes_weight_after_the_softmax_is_not_taken_for_a_sink():
    recording, expected = run(plus_one_afterwards)
    trace = recording.trace(sample=1)
    assert (trace.attention(0) - expected).abs().max() <= 2e-6
    assert trace.layers[0].sink is None and not trace.proof.passed
    sums = expected.sum(dim=-1)
    assert trace.proof.sentence.startswith("The maps are the ones that ran")
    assert f"sum to {float(sums.min()):.3g} … {float(sums.max()):.3g}, not" in trace.proof.sentence
    assert "could not be identified" in trace.proof.sentence


def test_a_softmax_written_out_is_not_seen():
    with pytest.raises(TraceError, match=r"without any attention that record\(\) can see"):
        run(plus_one_written_out)[0].trace()


FAULTS = {
    "no sink": lambda layer: {"sink": None},
    "a sink of other heads": lambda layer: {"sink": layer.sink.flip(0)},
    "a sink 1 % off": lambda layer: {"sink": layer.sink * 1.01},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_sink_that_did_not_run_is_found(gpt_oss, fault):
    trace = gpt_oss[0].trace()
    layers = (trace.layers[0], replace(trace.layers[1], **FAULTS[fault](trace.layers[1])))
    proof = replace(trace, layers=layers).proof
    assert not proof.passed and "could not be identified" in proof.sentence
    assert "by design" not in proof.sentence


def test_maps_that_did_not_run_are_still_found(gpt_oss):
    trace = gpt_oss[0].trace()
    maps = trace.layers[1].maps.clone()
    maps[2, 4, :3] = maps[2, 4, :3].flip(0)
    proof = replace(trace, layers=(trace.layers[0], replace(trace.layers[1], maps=maps))).proof
    assert not proof.passed and proof.worst == (1, 2, 4) and "NOT the ones" in proof.sentence


def test_entropy_and_distance_are_of_the_weight_that_keys_have(gpt_oss):
    trace = gpt_oss[0].trace()
    for number, found in enumerate(survey(trace)):
        share = trace.attention(number).double()
        share = share / share.sum(dim=-1, keepdim=True)
        entropy = -torch.special.xlogy(share, share).sum(dim=-1).mean(dim=-1)
        away = (torch.arange(N_TOKENS)[:, None] - torch.arange(N_TOKENS)).abs()
        distance = (share * away).sum(dim=-1).mean(dim=-1)
        assert abs(found.statistics["entropy"] - entropy.numpy()).max() <= 1e-5
        assert abs(found.statistics["distance"] - distance.numpy()).max() <= 1e-5
        first = trace.attention(number)[..., 0].mean(dim=-1)
        assert abs(found.statistics["first"] - first.numpy()).max() <= 1e-6


FEWEST = torch.finfo(torch.float32).min


def by_definition(weights):
    wide = weights.double()
    return -torch.special.xlogy(wide, wide).sum(dim=-1)


@pytest.mark.parametrize("level", [0.0, 20.0, 1_000.0, -20_000.0])
@pytest.mark.parametrize("spread", [0.1, 3.0, 300.0])
def test_however_large_the_scores_are(level, spread, rng):
    scores = torch.randn(3, 4, 40, generator=rng) * spread + level
    weights = scores.softmax(dim=-1)
    found = row_entropy(weights, scores.clone(), weights.sum(dim=-1), weights.amax(dim=-1))
    torch.testing.assert_close(found.double(), by_definition(weights), rtol=2e-5, atol=2e-6)


def test_forbidden_keys_and_a_row_of_none(rng):
    scores = torch.randn(3, 6, generator=rng).index_fill_(1, torch.tensor([1, 4]), FEWEST)
    scores[2] = FEWEST
    weights = scores.softmax(dim=-1)
    weights[2] = 0.0
    found = row_entropy(weights, scores, weights.sum(dim=-1), weights.amax(dim=-1))
    torch.testing.assert_close(found.double(), by_definition(weights), rtol=2e-5, atol=2e-6)
    assert found[2] == 0
