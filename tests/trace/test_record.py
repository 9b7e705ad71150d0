"""What record() promises whatever the model: it leaves no trace, mixes nothing and says why."""

import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules import module as torch_module
from torch.overrides import _get_current_function_mode_stack as mode_stack
from torch.utils.checkpoint import checkpoint

from viz_encoder.errors import TraceError
from viz_encoder.trace import record

torch.set_num_threads(1)
D_MODEL, N_HEADS = 12, 4


class Attention(nn.Module):
    """Self- or cross-attention with all the options that SDPA has."""

    def __init__(self, n_kv_heads=N_HEADS, **options):
        super().__init__()
        self.q = nn.Linear(D_MODEL, D_MODEL)
        self.kv = nn.Linear(D_MODEL, 2 * n_kv_heads * D_MODEL // N_HEADS)
        self.n_kv_heads, self.options = n_kv_heads, options

    def forward(self, x, memory=None):
        memory = x if memory is None else memory
        q = self.q(x).unflatten(-1, (N_HEADS, -1)).transpose(1, 2)
        kv = self.kv(memory).unflatten(-1, (2 * self.n_kv_heads, -1)).transpose(1, 2)
        k, v = kv.chunk(2, dim=1)
        gqa = {"enable_gqa": True} if self.n_kv_heads < N_HEADS else {}
        mixed = F.scaled_dot_product_attention(q, k, v, **self.options, **gqa)
        return mixed.transpose(1, 2).flatten(-2)


class Block(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.attn, self.norm = Attention(**options), nn.LayerNorm(D_MODEL)

    def forward(self, x):
        return x + self.attn(self.norm(x))


class Model(nn.Module):
    def __init__(self, n_layers=2, **options):
        super().__init__()
        self.blocks = nn.ModuleList(Block(**options) for _ in range(n_layers))
        self.norm = nn.LayerNorm(D_MODEL)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


def source(n_tokens=5, n_samples=2):
    return torch.randn(
        n_samples, n_tokens, D_MODEL, generator=torch.Generator().manual_seed(n_tokens)
    )


def torch_is_clean(*models):
    hooks = (
        torch_module._global_forward_hooks,
        torch_module._global_forward_pre_hooks,
        torch_module._global_forward_hooks_always_called,
        torch_module._global_forward_hooks_with_kwargs,
        *(part._forward_pre_hooks_with_kwargs for model in models for part in model.modules()),
        *(part._forward_pre_hooks for model in models for part in model.modules()),
    )
    dispatch = torch.utils._python_dispatch._len_torch_dispatch_stack()
    return not any(hooks) and not mode_stack() and not dispatch


def softmax_of(q, k, mask=None, bias=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores = scores if bias is None else scores + bias
    return (
        scores.masked_fill(~mask, -torch.inf).softmax(-1)
        if mask is not None
        else (scores.softmax(-1))
    )


def test_a_whole_model():
    model, x = Model(), source()
    plain = model(x)
    with record(model) as recording:
        output = model(x)
    assert torch.equal(plain, output) and torch_is_clean(model)
    trace = recording.trace(tokens=["[CLS]", "a", "b", "c", "</s>"], sample=1)
    assert [layer.name for layer in trace.layers] == ["blocks.0.attn", "blocks.1.attn"]
    assert trace.proof.passed and trace.origin.model == "Model"
    assert trace.sample.special == (True, False, False, False, True)
    assert torch.equal(trace.hidden(0), x[1]) and len(trace.hidden_states) == 3
    assert torch.equal(trace.hidden(1), model.blocks[0](x)[1])
    assert torch.equal(trace.output, output[1])
    normed = model.blocks[0].norm(x[1])
    q, (k, _) = model.blocks[0].attn.q(normed), model.blocks[0].attn.kv(normed).chunk(2, -1)
    q, k = (part.unflatten(-1, (N_HEADS, -1)).transpose(0, 1) for part in (q, k))
    assert (trace.attention(0) - softmax_of(q, k)).abs().max() < 1e-6
    assert repr(recording.calls[0]) == "<blocks.0.attn: sdpa, 2 samples, 4 heads, 5 × 5>"


def test_all_is_as_before_after_an_exception():
    model = nn.TransformerEncoderLayer(D_MODEL, 2, 8, batch_first=True).eval()
    with torch.no_grad(), pytest.raises((RuntimeError, AssertionError)), record(model):
        model(torch.randn(2, 3, D_MODEL + 1))
    assert torch_is_clean(model)
    with pytest.raises(KeyboardInterrupt), record(Broken(KeyboardInterrupt)) as recording:
        recording.module(source())
    assert torch_is_clean(recording.module)
    with record(broken := Broken(ValueError)) as recording:
        with pytest.raises(ValueError):
            broken(source())
        broken.fault = None
        output = broken(source())
    assert recording.trace().proof.passed and torch.equal(recording.trace().output, output[0])


class Broken(Model):
    def __init__(self, fault):
        super().__init__()
        self.fault = fault

    def forward(self, x):
        if self.fault is not None:
            super().forward(x)
            raise self.fault
        return super().forward(x)


def test_nested_recordings_do_not_mix():
    one, two = Model(2), Model(3)
    with record(one) as outer:
        one(source(5))
        with record(two) as inner:
            one(source(6))
            two(source(7))
        one(source(8))
        two(source(9))
    assert [call.shape[2] for call in outer.calls] == [5, 5, 6, 6, 8, 8]
    assert [call.shape[2] for call in inner.calls] == [7, 7, 7]
    assert (outer.n_runs, inner.n_runs) == (3, 1) and torch_is_clean(one, two)


def test_a_mode_of_the_users_own_stays_where_it_is():
    model = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(D_MODEL, 2, 8, batch_first=True), 2
    ).eval()
    device = torch.device("cpu")
    with torch.no_grad():
        with device:
            plain = model(source())
        with record(model) as outside, device:
            first = model(source())
        with device, record(model) as inside:
            second = model(source())
    assert torch.equal(plain, first) and torch.equal(plain, second)
    for recording in (outside, inside):
        assert [call.fused for call in recording.calls] == [False, False]
        assert recording.trace().proof.passed
    assert torch_is_clean(model)


def test_concurrent_recordings_do_not_mix():
    models = [Model(2).eval() for _ in range(4)]
    barrier = threading.Barrier(len(models))
    seen = {}

    def work(index):
        barrier.wait()
        with record(models[index]) as recording:
            for n_tokens in range(3, 9):
                models[index](source(n_tokens + 10 * index))
                models[index - 1](source(99))  # another thread's model, and not recorded here
        seen[index] = recording

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(models))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, recording in seen.items():
        sizes = [call.shape[2] for call in recording.calls]
        assert sizes == [n + 10 * index for n in range(3, 9) for _ in range(2)]
    assert torch_is_clean(*models)


def test_several_runs():
    model = Model()
    with record(model) as recording:
        for n_tokens in (3, 4, 5):
            model(source(n_tokens))
    assert [recording.trace(run=run).n_tokens for run in (0, 1, -1)] == [3, 4, 5]
    assert recording.trace().n_tokens == 5
    for asked, said in (
        ({"run": 3}, "called 3 times"),
        ({"sample": 2}, "samples 0 to 1"),
        ({"tokens": ["a", "b"]}, "2 names"),
        ({"within": "decoder"}, "within 'decoder'"),
    ):
        with pytest.raises(TraceError, match=said):
            recording.trace(**asked)


def test_a_checkpointed_layer_runs_again_backwards_and_counts_once():
    class Checkpointed(Model):
        def forward(self, x):
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)
            return x

    model = Checkpointed()
    with record(model) as recording:
        model(source()).sum().backward()
    assert len(recording.calls) == 2 and recording.trace().proof.passed


@pytest.mark.parametrize("n_kv_heads", [1, 2])
@pytest.mark.parametrize("hidden", [True, False])
def test_grouped_queries(hidden, n_kv_heads):
    model, x = Model(n_kv_heads=n_kv_heads), source()
    with record(model, hidden=hidden) as recording:
        model(x)
    trace = recording.trace()
    assert trace.layers[0].k.shape[0] == n_kv_heads and trace.attention(0).shape == (4, 5, 5)
    layer = trace.layers[0]
    for head in range(N_HEADS):
        expected = softmax_of(layer.q[head], layer.k[head * n_kv_heads // N_HEADS])
        assert (trace.attention(0, head) - expected).abs().max() < 1e-6
    assert trace.proof.passed and bool(trace.hidden_states) == hidden


NEVER = torch.finfo(torch.float32).min
PADDED = torch.tensor([True, True, True, False, False])


@pytest.mark.parametrize(
    ("given", "mask", "bias"),
    [
        (PADDED[None, None, None].expand(2, 1, 5, 5), PADDED, None),
        (torch.where(PADDED, 0.0, -torch.inf).expand(5, 5), PADDED, None),
        (torch.where(PADDED, 0.0, NEVER).expand(2, 1, 5, 5), PADDED, None),
        (torch.arange(5.0).expand(5, 5), None, torch.arange(5.0)),
        (
            torch.where(PADDED, torch.arange(5.0), -torch.inf)[None],
            PADDED,
            torch.arange(5.0) * PADDED,
        ),
        (torch.where(PADDED, torch.arange(5.0), NEVER)[None], PADDED, torch.arange(5.0) * PADDED),
        (torch.full((5, 5), NEVER), None, torch.tensor([NEVER])),
        (torch.zeros(5, 5), None, None),
    ],
    ids=["bool", "-inf", "min", "bias", "bias and -inf", "bias and min", "all min", "zeros"],
)
def test_masks(given, mask, bias):
    model = Model(attn_mask=given)
    with record(model) as recording:
        model(source())
    trace, (first, second) = recording.trace(), recording.calls
    layer = trace.layers[0]
    assert (layer.mask is None) == (mask is None) and (layer.bias is None) == (bias is None)
    if mask is not None:
        assert torch.equal(layer.mask.expand(1, 5, 5), mask.expand(1, 5, 5))
    if bias is not None:
        assert torch.equal(layer.bias.expand(1, 5, 5), bias.expand(1, 5, 5))
    assert first.attention.mask is second.attention.mask
    assert first.attention.bias is second.attention.bias
    assert trace.proof.passed, trace.proof.sentence
    assert trace.valid.tolist() == (
        PADDED if mask is not None else torch.ones(5)
    ).bool().tolist() or (bias is not None and bool((bias == NEVER).all()))


def test_equal_masks_made_anew_in_each_layer_are_kept_once():
    class Fresh(Attention):
        def forward(self, x, memory=None):
            self.options = {"attn_mask": PADDED[None].repeat(5, 1)}
            return super().forward(x, memory)

    model = Model()
    for block in model.blocks:
        block.attn = Fresh()
    with torch.inference_mode(), record(model) as recording:
        model(source())
    masks = [call.attention.mask for call in recording.calls]
    assert masks[0] is masks[1] and recording.trace().proof.passed


def test_a_mask_changed_in_place_between_layers_is_another_mask():
    mask = torch.ones(5, 5, dtype=torch.bool).tril()

    class Narrowing(Attention):
        def forward(self, x, memory=None):
            out = super().forward(x, memory)
            mask[:, -1] = False
            return out

    model = Model()
    for block in model.blocks:
        block.attn = Narrowing(attn_mask=mask)
    with record(model) as recording:
        model(source())
    masks = [call.attention.mask for call in recording.calls]
    assert masks[0][0, 0, 4, 4] and not masks[1][0, 0, 4, 4]
    assert recording.trace().proof.passed


def test_what_is_kept_is_copied():
    """A static cache is written to again; a view of a fused buffer would pin all of it."""

    def overwrite(q, k, v, **options):
        out = original(q, k, v, **options)
        for tensor in (q, k, v):
            tensor.zero_()
        return out

    original = F.scaled_dot_product_attention
    model = Model(1)
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(F, "scaled_dot_product_attention", overwrite)
        with record(model) as recording:
            model(source())
    attended = recording.calls[0].attention
    assert recording.trace().proof.passed and attended.q.abs().max() > 0
    for tensor in (attended.q, attended.k, attended.v):
        assert tensor.untyped_storage().nbytes() == tensor.nbytes


class TwoStacks(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.cross, self.decoder = Model(2), Attention(), Model(1)

    def forward(self, x, y):
        x = self.encoder(x)
        return self.decoder(self.cross(y, x))


@pytest.mark.parametrize("n_tokens", [5, 4])
def test_cross_attention_and_several_stacks(n_tokens):
    model = TwoStacks()
    with record(model) as recording:
        model(source(5), source(n_tokens).flip(0))
    assert [call.cross for call in recording.calls] == [False, False, True, False]
    assert recording.trace(within="encoder").n_layers == 2
    assert recording.trace(within="decoder").n_tokens == n_tokens
    cross = recording.trace(cross=True, key_tokens=list("abcde"))
    assert cross.attention(0).shape == (4, n_tokens, 5) and cross.proof.passed
    assert cross.key_tokens == tuple("abcde")
    with pytest.raises(TraceError, match=r"within='encoder'\) for 2 layers of 5 × 5"):
        recording.trace()


class ByHand(Attention):
    def forward(self, x, memory=None):
        q = self.q(x)
        weights = (q @ q.mT).softmax(dim=-1)[:, None].expand(-1, 2, -1, -1)
        return (weights @ x[:, None]).mean(dim=1)


class Head(nn.Module):
    """A classifier's softmax over three axes, and pooling by a softmax over tokens."""

    def __init__(self):
        super().__init__()
        self.body, self.out = Model(), nn.Linear(D_MODEL, 4)

    def forward(self, x):
        return self.out(self.body(x)).softmax(-1)


def by_hand():
    model = Model()
    for block in model.blocks:
        block.attn = ByHand()
    return model


def test_softmax_by_hand():
    model = by_hand()
    with record(model) as recording:
        model(source())
    assert {call.kind for call in recording.calls} == {"softmax"} and len(recording.calls) == 2
    trace = recording.trace()
    assert trace.layers[0].maps is not None and "kept exactly as they ran" in trace.notes[0]
    with record(model, eager=False) as recording:
        model(source())
    with pytest.raises(TraceError, match="eager=True"):
        recording.trace()


@pytest.mark.parametrize(
    ("equation", "seen"),
    [
        ("bhij,bjhd->bihd", True),
        ("bjhd,bhij->bihd", True),
        ("...hij,...jhd->...ihd", True),
        ("bhji,bjhd->bihd", True),  # turned before
        ("bhij,bihd->bjhd", False),  # mixes queries, of which nothing sums to 1
        ("bhij,hg->bgij", False),  # heads that talk: the weights that mix are others
    ],
)
def test_an_einsum_is_proven_or_is_no_attention(equation, seen):
    class ByEinsum(Attention):
        def forward(self, x, memory=None):
            v = self.q(x).unflatten(2, (N_HEADS, -1))
            weights = torch.einsum("bihd,bjhd->bhij", v, v).softmax(dim=-1)
            if "g" in equation:
                talked = torch.einsum(equation, weights, torch.eye(N_HEADS))
                return (talked @ v.transpose(1, 2)).transpose(1, 2).flatten(2)
            weights = weights.mT if equation.startswith("bhji") else weights
            parts = (v, weights) if equation.startswith("bj") else (weights, v)
            return torch.einsum(equation, *parts).flatten(2)

    model = nn.Sequential(ByEinsum())
    with record(model) as recording:
        model(source())
    assert bool(recording.calls) == seen
    if seen:
        assert recording.trace().proof.passed


def test_auto_keeps_softmax_maps_only_where_nothing_else_attends():
    model = Model()
    model.blocks[0].attn = ByHand()
    kinds = {}
    for eager in ("auto", True, False):
        with record(model, eager=eager) as recording:
            model(source())
        kinds[eager] = [call.kind for call in recording.calls]
    assert kinds == {"auto": ["sdpa"], True: ["softmax", "sdpa"], False: ["sdpa"]}


def test_a_softmax_that_multiplies_nothing_is_no_attention():
    with record(head := Head(), eager=True) as recording:
        head(source())
    assert [call.kind for call in recording.calls] == ["sdpa", "sdpa"]


def test_why_nothing():
    def reason(model, run, **options):
        with record(model, **options) as recording:
            run()
        with pytest.raises(TraceError) as caught:
            recording.trace()
        return str(caught.value)

    model, linear = Model(), nn.Linear(D_MODEL, D_MODEL)
    assert "not called in the block" in reason(model, lambda: None)
    assert "without any attention that" in reason(linear, lambda: linear(source()))

    def on_wrong_sizes():
        with pytest.raises(RuntimeError):
            model(source()[..., 1:])

    assert "it raised an exception before it attended" in reason(model, on_wrong_sizes)

    def on_a_thread():
        thread = threading.Thread(target=model, args=(source(),))
        thread.start()
        thread.join()

    assert "another thread" in reason(model, on_a_thread)
    linear.config = type("Config", (), {"_attn_implementation": "flash_attention_2"})()
    assert "'flash_attention_2'" in reason(linear, lambda: linear(source()))


def test_a_compiled_model_is_refused():
    model = Model()
    model.blocks[1]._compiled_call_impl = lambda *_: None  # what nn.Module.compile leaves
    with pytest.raises(TraceError, match="_orig_mod"), record(model):
        pass
    assert torch_is_clean(model)


def test_autocast():
    model = Model()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        plain = model(source())
        with record(model) as recording:
            output = model(source())
    trace = recording.trace()
    assert torch.equal(plain, output) and trace.layers[0].q.dtype == torch.bfloat16
    assert trace.proof.passed, trace.proof.sentence


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_is_named():
    traced = torch.jit.trace(Model().eval(), (source(),))
    with record(traced) as recording:
        traced(source())
    with pytest.raises(TraceError, match="TorchScript"):
        recording.trace()


def test_a_fault_of_ours_never_reaches_the_model(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("viz_encoder.trace.torch_ops.Operations._from_sdpa", broken)
    model = Model()
    plain = model(source())
    with record(model) as recording:
        output = model(source())
    assert torch.equal(plain, output)
    with pytest.raises(TraceError, match="ours"):
        recording.trace()


class Outside(nn.Module):
    """Adds the residual outside of the modules that attend."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.MultiheadAttention(16, 2, batch_first=True) for _ in range(2)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = x + layer(x, x, x, need_weights=False)[0]
        return x


def test_what_is_not_a_hidden_state_is_not_shown_as_one(rng):
    model = Outside().eval()
    with torch.no_grad(), record(model) as recording:
        model(torch.randn(1, 5, 16, generator=rng))
    trace = recording.trace()
    assert trace.proof.passed and trace.hidden_states == ()
    assert any("between its blocks" in note for note in trace.notes)
