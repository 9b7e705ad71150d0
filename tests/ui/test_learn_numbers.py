"""The Learn tab's numbers: the route gives what the analyses give, and says what it cannot."""

import httpx
import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.ui.reruns import changed_run, put
from viz_encoder.analyses.step import (
    attention_step,
    block_step,
    embedding_step,
    heads_step,
    projection_step,
)
from viz_encoder.ui.tabs.learn.token_numbers import NumbersAsked, token_numbers

TEXT = "the keys to the cabinet [MASK] old"
PLACE = {"layer": 2, "head": 0, "query": 6, "key": 2, "dim": 3}
WHOLE = NumbersAsked(**PLACE)


@pytest.fixture(scope="module")
def masked(client):
    return client.predict(TEXT, "", "grammar", api_name="/run_text")["key"]


@pytest.fixture(scope="module")
def trace(grammar):
    return vz.capture(grammar, TEXT)


def ask(site, run, **place):
    return httpx.get(f"{site}viz/run/{run}/learn/token", params={**PLACE, **place}, timeout=60)


def same(told, expected):
    """Bit for bit the same float32; null where it is not finite."""
    expected = np.asarray(expected, np.float32)
    found = np.array(told, dtype=float).astype(np.float32)
    assert np.array_equal(found, np.where(np.isfinite(expected), expected, np.nan), equal_nan=True)


def test_every_number_comes_back_exactly(site, masked, grammar, trace):
    told = ask(site, masked).json()
    row, block = attention_step(trace, 2, 0, 6), block_step(grammar, trace, 2, 6)
    for name in ("q", "v", "dots", "scores", "weights", "out"):
        same(told["attention"][name], getattr(row, name))
    same(told["attention"]["k"], row.k[2])
    assert told["attention"]["scale"] == 0.25 and told["attention"]["allowed"] == [1] * 9
    same(told["heads"]["parts"], block.heads.parts)
    same(told["heads"]["lengths"], block.heads.lengths)
    assert [stage["id"] for stage in told["stages"]] == [stage.name for stage in block]
    for stage, expected in zip(told["stages"], block, strict=True):
        if expected.vector is None:
            assert stage["vector"] is None and stage["length"] is None
        else:
            same(stage["vector"], expected.vector)
            length = np.linalg.norm(expected.vector.astype(float))
            assert stage["length"] == pytest.approx(length, rel=1e-6)
    same(told["ffn"]["after"], block.feed_forward.after)
    assert told["ffn"]["on"] == int((block.feed_forward.before > 0).sum())
    assert told["ffn"]["activation"] == "gelu"
    assert [unit for unit, _ in told["ffn"]["strongest"]][:3] == [183, 242, 137]
    found = projection_step(grammar, trace, 2, 0, 6, 2)
    same(told["projection"]["column"], found.weight[3])
    assert told["projection"]["sum"] == pytest.approx(float(found.q[3]), rel=1e-5)
    embedded = embedding_step(grammar, trace, 6)
    same(told["embedding"]["token"], embedded.token)
    assert told["embedding"]["id"] == embedded.id and told["embedding"]["segment"] is None
    assert told["missing"] == {} and 0 < told["agrees"] < 1e-6
    assert told["ids"] == grammar.read(TEXT).values[0].tolist()
    norm = next(stage["norm"] for stage in told["stages"] if stage["id"] == "norm_ffn")
    before = np.array(norm["before"])
    assert norm["kind"] == "LayerNorm" and norm["mean"] == pytest.approx(before.mean(), abs=1e-6)
    scaled = (before - norm["mean"]) / norm["std"]
    out = np.array(norm["weight"]) * scaled + np.array(norm["bias"])
    assert np.abs(out - norm["after"]).max() < 1e-5 * np.abs(out).max()


def test_a_place_that_is_not_there(site, masked):
    for place, says in (
        ({"layer": 4}, "no layer 4"), ({"head": 4}, "no head 4"), ({"query": 9}, "no query 9"),
        ({"key": -1}, "no key -1"), ({"dim": 16}, "no dimension 16; choose 0 to 15"),
    ):  # fmt: skip
        answer = ask(site, masked, **place)
        assert answer.status_code == 404 and says in answer.text


def test_a_removed_head_is_shown_as_nothing_and_a_masked_token_by_its_id(runner, grammar):
    key = changed_run(runner, text_key(runner), ["h2.1"])
    told = token_numbers(runner.store.get(key), WHOLE)
    assert told["missing"] == {} and told["agrees"] < 1e-6
    assert told["heads"]["lengths"][1] == 0 and not any(told["heads"]["parts"][1])
    key = changed_run(runner, text_key(runner), ["m2"])
    told = token_numbers(runner.store.get(key), NumbersAsked(2, 0, 2, 2, 0))
    assert told["missing"] == {}
    assert told["embedding"]["id"] == grammar.reader.tokenizer.token_to_id("[MASK]")


def test_a_picture_and_a_long_text(runner):
    shown = runner.picture("scene", None, "a wide scene")["key"]
    told = token_numbers(runner.store.get(shown), NumbersAsked(0, 0, 3, 2, 0))
    assert told["missing"] == {} and told["embedding"]["id"] is None
    assert len(told["embedding"]["token"]) == len(told["embedding"]["position"])
    long = runner.text("all-MiniLM-L6-v2", "word " * 300)["key"]
    told = token_numbers(runner.store.get(long), NumbersAsked(0, 0, 3, 299, 0))
    assert told["attention"]["v"] is None and len(told["attention"]["dots"]) > 256


def test_a_saved_run_says_what_is_missing_and_why(runner, trace):
    key = put(runner.store, trace)
    told = token_numbers(runner.store.get(key), WHOLE)
    parts = ("embedding", "projection", "heads", "stages", "ffn")
    assert [told[name] for name in parts] == [None] * 5 and set(told["missing"]) == set(parts)
    assert all("model of this run is not loaded here" in why for why in told["missing"].values())
    weights = trace.attention(2, 0)[6].numpy()
    assert np.abs(told["attention"]["weights"] - weights).max() < 1e-6


def test_a_model_with_its_own_softmax_has_weights_alone(runner):
    class Own(torch.nn.Module):
        def forward(self, x):
            return (x @ x.mT).softmax(dim=-1) @ x

    model = torch.nn.Sequential(Own())
    with vz.record(model) as recording:
        model(torch.randn(1, 2, 5, 4))
    trace = recording.trace()
    told = token_numbers(runner.store.get(put(runner.store, trace)), NumbersAsked(0, 1, 3, 2, 0))
    assert told["attention"]["q"] is None and told["attention"]["scores"] is None
    assert "computes its softmax itself" in told["missing"]["scores"]
    same(told["attention"]["weights"], trace.attention(0, 1)[3].numpy())


class Mixed(torch.nn.Module):
    """torch's attention, and a network of its own."""

    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(
            [torch.nn.MultiheadAttention(24, 4, batch_first=True) for _ in range(2)]
        )

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x, x, x, need_weights=False)[0]
        return x.tanh()


def recorded(model):
    torch.manual_seed(0)
    x = torch.randn(1, 6, 24)
    with vz.record(model.eval()) as recording:
        model(x)
    return recording.trace(tokens=["the", "cat", "sat", "on", "a", "mat"])


def whole():
    layer = torch.nn.TransformerEncoderLayer(24, 4, 40, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2)


def test_a_recorded_encoder_of_torch_has_every_step(runner):
    trace = recorded(whole())
    told = token_numbers(runner.store.get(put(runner.store, trace)), NumbersAsked(1, 2, 3, 4, 5))
    assert told["missing"] == {} and 0 < told["agrees"] < 1e-6 and told["ids"] is None
    block = block_step(trace.parts, trace, 1, 3)
    same(told["stages"][-1]["vector"], block[-1].vector)
    same(told["heads"]["parts"], block.heads.parts)
    same(told["ffn"]["after"], block.feed_forward.after)
    same(told["projection"]["x"], trace.hidden(1)[3].numpy())
    same(told["embedding"]["out"], trace.hidden(0)[3].numpy())


def test_of_torch_s_attention_alone_the_other_steps_say_so(runner):
    trace = recorded(Mixed())
    told = token_numbers(runner.store.get(put(runner.store, trace)), NumbersAsked(1, 2, 3, 4, 5))
    missing = told["missing"]
    assert missing.pop("embedding") == "This run kept no hidden states."  # added outside of blocks
    why = "feed-forward part was not read: record() reads nn.TransformerEncoderLayer."
    assert missing == dict.fromkeys(["stages", "ffn"], f"This model's {why}")
    assert told["agrees"] < 1e-6
    same(told["heads"]["sum"], heads_step(trace.parts, trace, 1, 3).sum)


def test_a_saved_recording_says_how_to_see_its_weights(runner, tmp_path):
    recorded(whole()).save(tmp_path / "run.safetensors")
    key = put(runner.store, vz.Trace.load(tmp_path / "run.safetensors"))
    told = token_numbers(runner.store.get(key), NumbersAsked(1, 2, 3, 4, 5))
    assert set(told["missing"]) == {"embedding", "projection", "heads", "stages", "ffn"}
    for why in told["missing"].values():
        assert "the run holds no text or picture" in why and "again" not in why


def text_key(runner):
    return runner.text("grammar", TEXT)["key"]


def test_all_outputs_and_what_is_added_for_each_position(site, masked, grammar, trace):
    assert np.array_equal(vectors(site, masked, "outputs"), trace.output.numpy())
    rows = dict(grammar.model.named_parameters())["embed.position"].detach().numpy()
    assert np.array_equal(vectors(site, masked, "positions"), rows[: trace.n_tokens])


def vectors(site, run, name):
    answer = httpx.get(f"{site}viz/run/{run}/learn/{name}", timeout=60)
    shape = [int(side) for side in answer.headers["x-shape"].split(",")]
    return np.frombuffer(answer.content, "<f4").reshape(shape)
