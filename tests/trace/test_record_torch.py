"""record() on torch's own attention modules: the slow path, the fused path, and their bits."""

import itertools

import pytest
import torch
from torch import nn

from viz_encoder.errors import TraceError
from viz_encoder.trace import fused, record

torch.set_num_threads(1)
pytestmark = pytest.mark.filterwarnings(
    "ignore:enable_nested_tensor", "ignore:The PyTorch API of nested tensors"
)
N_SAMPLES, N_TOKENS, D_MODEL = 3, 7, 16
RIGHT = (
    torch.arange(N_TOKENS) >= torch.tensor([7, 4, 5])[:, None]
)  # True = padding, as torch has it
CAUSAL = torch.ones(N_TOKENS, N_TOKENS, dtype=torch.bool).triu(1)


def same_bits(one, other):
    """NaN included."""
    one, other = one.contiguous(), other.contiguous()
    return one.dtype == other.dtype and torch.equal(one.view(torch.uint8), other.view(torch.uint8))


def uneven(module):
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.4)
    return module


def encoder(batch_first, norm_first, final_norm=True, **options):
    layer = nn.TransformerEncoderLayer(
        D_MODEL, 4, 24, 0.1, batch_first=batch_first, norm_first=norm_first, **options
    )
    norm = nn.LayerNorm(D_MODEL) if final_norm else None
    return uneven(nn.TransformerEncoder(layer, 3, norm=norm)).eval()


def source(batch_first=True, n_tokens=N_TOKENS):
    x = torch.randn(N_SAMPLES, n_tokens, D_MODEL, generator=torch.Generator().manual_seed(1))
    return x if batch_first else x.transpose(0, 1)


def true_maps(model, trace, sample_input, padding, causal):
    """Each layer's maps by nn.MultiheadAttention itself, from the hidden state before the layer."""
    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        for index, layer in enumerate(model.layers):
            x = sample_input if index == 0 else trace.hidden(index)
            x = layer.norm1(x) if layer.norm_first else x
            x = x[None] if layer.self_attn.batch_first else x[:, None]
            yield layer.self_attn(
                x,
                x,
                x,
                attn_mask=CAUSAL if causal else None,
                key_padding_mask=None if padding is None else padding[None],
                average_attn_weights=False,
            )[1][0]
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)


def in_turn(*axes):
    """All combinations; one more switch is on in every other one, with each value of each axis."""
    return [(*case, (n + n // 2) % 2 == 0) for n, case in enumerate(itertools.product(*axes))]


SWITCH = (True, False)
GRID = in_turn(SWITCH, ("none", "right", "left"), SWITCH, SWITCH)


@pytest.mark.parametrize(("batch_first", "pad", "causal", "fast", "norm_first"), GRID)
def test_transformer_encoder(batch_first, norm_first, pad, causal, fast):
    model, x = encoder(batch_first, norm_first), source(batch_first)
    padding = {"none": None, "right": RIGHT, "left": RIGHT.flip(1)}[pad]
    options = {"src_key_padding_mask": padding, "mask": CAUSAL if causal else None}
    with torch.set_grad_enabled(not fast):
        plain = model(x, **options)
        with record(model) as recording:
            output = model(x, **options)
    assert same_bits(plain, output)
    assert [call.fused for call in recording.calls] == [fast and batch_first] * 3
    assert [call.name for call in recording.calls] == [f"layers.{n}.self_attn" for n in range(3)]
    for sample in range(N_SAMPLES):
        real = torch.ones(N_TOKENS, dtype=torch.bool) if padding is None else ~padding[sample]
        if causal and pad == "left":
            continue  # its first queries may attend to nothing, and torch gives NaN from there on
        trace = recording.trace(tokens=list("abcdefg"), sample=sample)
        assert trace.valid.tolist() == real.tolist()
        mine = x[sample] if batch_first else x[:, sample]
        unseen = None if padding is None else padding[sample]
        with torch.no_grad():
            for layer, expected in enumerate(true_maps(model, trace, mine, unseen, causal)):
                assert (trace.attention(layer) - expected)[:, real].abs().max() <= 5e-6
        out = output[sample] if batch_first else output[:, sample]
        assert (trace.output - out)[real].abs().max() <= 1e-5
        assert torch.equal(trace.hidden(0)[real], mine[real])
        assert trace.proof.passed, trace.proof.sentence


def test_the_fused_path_needs_no_mode_in_its_way():
    """What the test above relies on: under a plain mode the bits are others."""
    model, x = encoder(True, False), source()
    with torch.no_grad():
        plain = model(x, src_key_padding_mask=RIGHT)
        with torch.overrides.BaseTorchFunctionMode():
            other = model(x, src_key_padding_mask=RIGHT)
    assert not torch.equal(plain, other)


USES, MASKED = ("self", "cross", "unbatched"), ("none", "padding", "causal", "both", "float")


@pytest.mark.parametrize(
    ("batch_first", "use", "masked", "grad", "weights"), in_turn(SWITCH, USES, MASKED, SWITCH)
)
def test_multi_head_attention(batch_first, weights, use, masked, grad):
    model = uneven(nn.MultiheadAttention(D_MODEL, 4, batch_first=batch_first)).eval()
    q = source(batch_first or use == "unbatched")
    k = source(batch_first, N_TOKENS).flip(0 if batch_first else 1) if use == "cross" else q
    options = {
        "key_padding_mask": RIGHT if masked in ("padding", "both") else None,
        "attn_mask": CAUSAL if masked in ("causal", "both") else None,
    }
    if masked == "float":
        bias = torch.randn(N_TOKENS, N_TOKENS, generator=torch.Generator().manual_seed(2))
        options["attn_mask"] = bias.masked_fill(CAUSAL, -torch.inf)
    if use == "unbatched":
        q = k = q[0]
        options["key_padding_mask"] = None if options["key_padding_mask"] is None else RIGHT[1]
    options["need_weights"] = weights
    with torch.set_grad_enabled(grad):
        plain = model(q, k, k, **options)
        with record(model) as recording:
            output = model(q, k, k, **options)
        expected = model(q, k, k, **options | {"need_weights": True}, average_attn_weights=False)[1]
    assert same_bits(plain[0], output[0])
    assert output[1] is None if not weights else same_bits(plain[1], output[1])
    (call,) = recording.calls
    assert call.kind == "multi_head_attention" and call.cross == (use == "cross")
    fused = batch_first and not grad and use == "self" and masked != "float"
    assert call.fused == fused
    for sample in range(1 if use == "unbatched" else N_SAMPLES):
        trace = recording.trace(sample=sample, cross=call.cross)
        want = expected if use == "unbatched" else expected[sample]
        assert (trace.attention(0) - want).abs().max() <= 5e-6
        assert trace.proof.passed, trace.proof.sentence


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("norm", [nn.LayerNorm, nn.RMSNorm])
def test_queries_that_are_a_norm_of_the_keys_are_of_the_same_tokens(norm, dtype):
    model, norm = uneven(nn.MultiheadAttention(D_MODEL, 4)).to(dtype), norm(D_MODEL).to(dtype)
    x = source(False).to(dtype)
    given = ((norm(x), x), (x, norm(x)), (norm(x), x.roll(1, 0)), (norm(x), x + 0.1 * x.mean(0)))
    with record(model) as recording:
        for query, key in given:
            model(query, key, key)
    assert [call.cross for call in recording.calls] == [False, False, True, True]


@pytest.mark.parametrize("options", [{"add_bias_kv": True}, {"add_zero_attn": True}])
@pytest.mark.parametrize("weights", [True, False])
def test_keys_that_torch_adds(options, weights):
    model = uneven(nn.MultiheadAttention(D_MODEL, 4, batch_first=True, **options)).eval()
    x = source()
    with record(model) as recording:
        model(x, x, x, key_padding_mask=RIGHT, need_weights=weights)
    expected = model(x, x, x, key_padding_mask=RIGHT, average_attn_weights=False)[1]
    with pytest.raises(TraceError, match=f"{N_TOKENS} queries × {N_TOKENS + 1} keys"):
        recording.trace(sample=1)
    trace = recording.trace(sample=1, key_tokens=[*"abcdefghij"[:N_TOKENS], "added"])
    assert trace.attention(0).shape == (4, N_TOKENS, N_TOKENS + 1)
    assert (trace.attention(0) - expected[1]).abs().max() <= 5e-6
    assert trace.proof.passed


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_gradients_of_an_encoder_in_training(batch_first, norm_first):
    model, x = encoder(batch_first, norm_first).train(), source(batch_first)

    def gradients():
        torch.manual_seed(6)
        model.zero_grad()
        model(x, src_key_padding_mask=RIGHT).square().sum().backward()
        return [weight.grad.clone() for weight in model.parameters()]

    plain = gradients()
    with record(model) as recording:
        recorded = gradients()
    assert all(map(torch.equal, plain, recorded))
    assert {call.dropout for call in recording.calls} == {0.1}
    assert "Dropout of 0.1" in recording.trace().notes[0]


def test_a_nested_tensor_of_the_users_own():
    model = encoder(True, False).eval()
    x = source()
    nested = torch.nested.nested_tensor([x[0, :7], x[1, :4], x[2, :5]])
    with torch.no_grad():
        plain = model.layers[0](nested)
        with record(model) as recording:
            output = model.layers[0](nested)
    assert all(map(torch.equal, plain.unbind(), output.unbind()))
    trace = recording.trace(sample=1)
    assert trace.valid.tolist() == [True] * 4 + [False] * 3
    assert trace.proof.passed and trace.notes


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_the_fused_path_in_other_precisions(dtype):
    model, x = encoder(True, False).to(dtype), source().to(dtype)
    with torch.inference_mode():
        plain = model(x)
        with record(model) as recording:
            output = model(x)
    assert same_bits(plain, output)
    trace = recording.trace()
    assert recording.calls[0].fused and trace.proof.passed, (trace.notes, trace.proof.sentence)


def fused_run(change=lambda model, x, output: None, **options):
    """A fused run, what change() did after it, and the maps of that run by torch itself."""
    model, x = encoder(True, False), source()
    with torch.no_grad():
        with record(model, **options) as recording:
            output = model(x)
        (first, *_), mine = recording.calls, x[1].clone()
        weights = model.layers[0].self_attn(mine[None], mine[None], mine[None])[1][0]
        change(model, x, output)
    assert first.fused and first.shape == (N_SAMPLES, 4, N_TOKENS, N_TOKENS)
    return recording, weights


CHANGES = {
    "nothing": lambda model, x, output: None,
    "the input in place": lambda model, x, output: x.zero_(),
    "the output in place": lambda model, x, output: output.mul_(3),
    "the weights' type": lambda model, x, output: model.double(),
    "new weights": lambda model, x, output: setattr(
        model.layers[0].self_attn, "in_proj_weight", nn.Parameter(torch.zeros(48, 16))
    ),
}


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_a_fused_run_is_computed_from_what_it_ran_on(change, hidden):
    recording, weights = fused_run(CHANGES[change], hidden=hidden)
    trace = recording.trace(sample=1)
    assert (trace.attention(0).mean(dim=0) - weights).abs().max() <= 5e-6
    assert trace.proof.passed, trace.notes


def test_weights_changed_before_the_trace_are_told():
    """A fused kernel's queries are computed when asked for, so the weights must still be there."""

    def train(model, x, output):
        model.layers[1].linear1.weight.mul_(1.5)

    recording, _ = fused_run(train)
    assert "fused" in repr(recording.calls[1])
    with pytest.raises(TraceError, match="before changing them"):
        recording.trace()

    def behind_torchs_back(model, x, output):
        model.layers[1].linear1.weight.data.mul_(1.5)

    trace = fused_run(behind_torchs_back)[0].trace()
    assert (
        any("does not match its recomputed maps" in note for note in trace.notes)
        and not trace.proof.passed
    )


def test_what_a_fused_kernel_ran_on_is_computed_once_and_after_the_block(monkeypatch):
    computed, whole = [], fused.FusedRun.call
    monkeypatch.setattr(fused.FusedRun, "call", lambda run: computed.append(run) or whole(run))
    model = encoder(True, False)
    with torch.inference_mode(), record(model) as outer, record(model) as inner:
        model(source(), src_key_padding_mask=RIGHT)
    assert not computed
    for recording in (outer, inner, outer):
        assert recording.trace(sample=1).proof.passed
    assert len(computed) == 3


def test_weights_made_in_inference_mode_are_copied():
    with torch.inference_mode():
        model = encoder(True, False)
        with record(model) as recording:
            model(source())
        for weight in model.parameters():
            weight.zero_()
    assert recording.trace().proof.passed and recording.calls[0].fused
