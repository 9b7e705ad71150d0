"""Trace: any map, row or block of it equals a plain computation written separately."""

import math
from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import viz_encoder as vz
from viz_encoder.checkpoints import LoadedEncoder, ModelCard
from viz_encoder.errors import SelectionError
from viz_encoder.inputs import Inputs, Sample
from viz_encoder.model import Encoder
from viz_encoder.trace import layer as layer_module

TOLERANCE = 1e-6


def make(n_layers=2, **axes) -> LoadedEncoder:
    torch.manual_seed(11)
    config = vz.EncoderConfig(
        n_layers=n_layers, n_heads=3, d_model=24, d_ff=30, vocab_size=50, max_positions=64, **axes
    )
    model = Encoder(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return LoadedEncoder(model, None, ModelCard("tiny", "made here"))


def by_the_book(model: Encoder, ids: torch.Tensor, allowed: torch.Tensor) -> list[torch.Tensor]:
    """Maps "head query key" of each layer of a post-norm encoder, one query and head at a time."""
    c, w = model.config, model.state_dict()
    x = w["embed.tokens.word.weight"][ids] + w["embed.tokens.segment.weight"][0]
    x = x + w["embed.position"][: len(ids)]
    norm = lambda x, name: torch.layer_norm(  # noqa: E731
        x, (c.d_model,), w[f"{name}.weight"], w[f"{name}.bias"], c.norm_eps
    )
    line = lambda x, name: x @ w[f"{name}.weight"].T + w[f"{name}.bias"]  # noqa: E731
    x, maps = norm(x, "embed.norm"), []
    for number in range(c.n_layers):
        at = f"layers.{number}"
        q, k, v = (line(x, f"{at}.attn.{part}") for part in "qkv")
        weights = torch.zeros(c.n_heads, len(ids), len(ids))
        mixed = torch.zeros_like(x)
        for head in range(c.n_heads):
            mine = slice(head * c.d_head, (head + 1) * c.d_head)
            for query in range(len(ids)):
                keys = [j for j in range(len(ids)) if allowed[head, query, j]]
                scores = [float(q[query, mine] @ k[j, mine]) / math.sqrt(c.d_head) for j in keys]
                top = max(scores, default=0.0)
                total = sum(math.exp(s - top) for s in scores)
                for j, score in zip(keys, scores, strict=True):
                    weights[head, query, j] = math.exp(score - top) / total
            mixed[:, mine] = weights[head] @ v[:, mine]
        maps.append(weights)
        x = norm(x + line(mixed, f"{at}.attn.o"), f"{at}.attn_norm")
        x = norm(
            x + line(torch.nn.functional.gelu(line(x, f"{at}.ff.up")), f"{at}.ff.down"),
            f"{at}.ff_norm",
        )
    return maps


IDS = torch.tensor([3, 17, 4, 4, 29, 41, 8, 0, 12])
N = len(IDS)
NEAR = (torch.arange(N)[:, None] - torch.arange(N)).abs()


def per_head() -> torch.Tensor:
    allowed = torch.rand(3, N, N, generator=torch.Generator().manual_seed(2)) > 0.4
    allowed[1, 4] = False  # a query that may attend to nothing
    return allowed


CASES = {
    "no mask": ({}, None, torch.ones(3, N, N, dtype=torch.bool)),
    "causal": ({"causal": True}, None, torch.ones(3, N, N, dtype=torch.bool).tril()),
    "window": ({"window": 2}, None, (NEAR <= 2).expand(3, N, N)),
    "causal window": ({"window": 1, "causal": True}, None, ((NEAR <= 1).tril()).expand(3, N, N)),
    "per head": ({}, per_head()[None], per_head()),
    "window, per head": ({"window": 2}, per_head()[None], per_head() & (NEAR <= 2)),
}


@pytest.mark.parametrize("case", CASES)
def test_every_map_equals_the_textbook(case):
    axes, mask, allowed = CASES[case]
    encoder = make(**axes)
    trace = vz.capture(encoder, IDS[None], mask=mask)
    for layer, expected in enumerate(by_the_book(encoder.model, IDS, allowed)):
        assert float((trace.attention(layer) - expected).abs().max()) <= TOLERANCE
    assert trace.proof.passed


def test_a_padded_batch_equals_the_textbook():
    encoder, length = make(), 5
    valid = torch.ones(2, N, dtype=torch.bool)
    valid[1, length:] = False
    sample = Sample(tokens=("x",) * N, special=(False,) * N)
    inputs = Inputs(IDS.repeat(2, 1), valid, (sample,) * 2, padded=True)
    for real, trace in zip(valid, vz.capture(encoder, inputs), strict=True):
        expected = by_the_book(encoder.model, IDS, real.expand(3, N, N))
        for layer in range(trace.n_layers):
            assert float((trace.attention(layer) - expected[layer]).abs().max()) <= TOLERANCE
        assert trace.proof.passed


@given(
    start=st.integers(-12, 12), stop=st.integers(-12, 12), step=st.integers(1, 4),
    head=st.none() | st.integers(0, 2),
)  # fmt: skip
def test_any_slice_of_rows_is_that_slice_of_the_map(start, stop, step, head):
    trace, rows = traced(), slice(start, stop, step)
    whole = trace.attention(1, head)
    part = trace.attention(1, head, rows)
    expected = whole[..., rows, :]
    assert part.shape == expected.shape
    assert torch.allclose(part, expected, atol=TOLERANCE)


@cache
def traced():
    return vz.capture(make(window=2, causal=True), IDS[None])


def test_parts_equal_the_whole():
    trace = vz.capture(make(), IDS[None])
    whole = trace.attention(1)
    assert torch.allclose(trace.attention(1, 2), whole[2], atol=TOLERANCE)
    assert torch.allclose(trace.attention(1, "mean"), whole.mean(dim=0), atol=TOLERANCE)
    assert torch.allclose(trace.attention(-1, "max"), whole.amax(dim=0), atol=TOLERANCE)
    with pytest.raises(SelectionError, match='choose 0 to 2, "mean" or "max"'):
        trace.attention(1, "sum")
    assert torch.allclose(trace.attention(1, 2, slice(3, 5)), whole[2, 3:5], atol=TOLERANCE)
    assert torch.allclose(
        trace.attention(1, rows=slice(None, None, 2)), whole[:, ::2], atol=TOLERANCE
    )


def test_blocks_equal_the_whole(monkeypatch):
    monkeypatch.setattr(layer_module, "BLOCK_BYTES", 4 * 3 * N * 2)
    trace = vz.capture(make(causal=True), IDS[None])
    rows, parts = zip(*trace.blocks(0), strict=True)
    assert [r.stop - r.start for r in rows] == [2, 2, 2, 2, 1]
    assert torch.allclose(torch.cat(parts, dim=1), trace.attention(0), atol=TOLERANCE)


def test_hidden_states_and_output():
    encoder = make(norm_placement="pre", final_norm=True)
    trace = vz.capture(encoder, IDS[None])
    assert len(trace.hidden_states) == 3
    with torch.no_grad():
        normed = encoder.model.final_norm(trace.hidden(2))
    assert torch.allclose(trace.output, normed, atol=1e-6)
    assert not torch.allclose(trace.output, trace.hidden(2), atol=1e-3)


@pytest.mark.parametrize(
    ("layer", "head", "says"),
    [
        (2, 0, r"There is no layer 2; choose 0 to 1\."),
        (-3, 0, r"There is no layer -3; choose 0 to 1\."),
        (0, 3, r"There is no head 3; choose 0 to 2"),
        (0, -4, r"There is no head -4; choose 0 to 2"),
        (0, True, r"head is True; it must be (a whole|the) number"),
        (10**30, 0, r"layer is .*; it must be a whole number below 2\^63\."),
        (0, 10**30, r"head is .*; it must be (a whole|the) number"),
    ],
)
def test_what_is_not_there_is_said(layer, head, says):
    trace = vz.capture(make(), IDS[None])
    with pytest.raises(SelectionError, match=says):
        trace.attention(layer, head)
    with pytest.raises(SelectionError, match=says):
        trace.blocks(layer, head)


@pytest.mark.parametrize(
    ("layer", "says"),
    [
        (3, r"There is no state 3; choose 0 to 2\."),
        (-4, r"There is no state -4; choose 0 to 2\."),
        (True, r"state is True; it must be a whole number\."),
    ],
)
def test_hidden_states_that_are_not_there(layer, says):
    with pytest.raises(SelectionError, match=says):
        traced().hidden(layer)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (slice(None, None, -1), "give a forward slice"),
        (slice(0.5), "must be a slice of whole numbers"),
        (slice(0, 3, 0), "must be a slice of whole numbers"),
    ],
)
def test_rows_that_are_no_forward_slice_are_refused(rows, says):
    trace = vz.capture(make(), IDS[None])
    with pytest.raises(SelectionError, match=says):
        trace.attention(0, rows=rows)


def test_held_bytes_double_when_the_length_does():
    encoder = make()
    held = [vz.capture(encoder, IDS.repeat(n)[None, : 16 * n]).nbytes for n in (2, 4)]
    assert 1.99 < held[1] / held[0] < 2.01


def test_capture_leaves_the_model_as_it_was():
    encoder = make(dropout=0.5)
    encoder.model.train()
    first, second = vz.capture(encoder, IDS[None]), vz.capture(encoder, IDS[None])
    assert encoder.model.training
    assert torch.equal(first.output, second.output)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype):
    encoder, full = make(), vz.capture(make(), IDS[None])
    encoder.model.to(dtype)
    trace = vz.capture(encoder, IDS[None])
    assert trace.origin.dtype == str(dtype).removeprefix("torch.")
    assert trace.attention(0).dtype == torch.float32
    assert float((trace.attention(1) - full.attention(1)).abs().max()) < 0.1
    assert trace.proof.passed


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_cuda_equals_cpu():
    torch.backends.cuda.matmul.allow_tf32 = False
    here, there = (
        vz.load("all-MiniLM-L6-v2", device="cpu"),
        vz.load("all-MiniLM-L6-v2", device="cuda"),
    )
    text = "The animal didn't cross the street because it was too tired"
    cpu, cuda = vz.capture(here, text), vz.capture(there, text)
    assert cuda.origin.device.startswith("cuda") and cuda.proof.passed
    for layer in range(cpu.n_layers):
        assert float((cpu.attention(layer) - cuda.attention(layer).cpu()).abs().max()) <= 1e-4
