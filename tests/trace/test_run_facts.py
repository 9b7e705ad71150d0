"""What a recorded trace says of its run where its maps alone would mislead."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from viz_encoder.errors import InputError, TraceError


class Layer(nn.Module):
    """Four heads of 8, without W_O: by one kernel or another."""

    def __init__(self, kind):
        super().__init__()
        self.kind, self.qkv = kind, nn.Linear(32, 96)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(2, (3, 4, 8)).permute(2, 0, 3, 1, 4)
        return x + getattr(self, self.kind)(q, k, v).transpose(1, 2).flatten(2)

    def sdpa(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    def eager(self, q, k, v):
        return (q @ k.mT / 8**0.5).softmax(dim=-1) @ v

    def lost(self, q, k, v):
        return (q @ k.mT / 8**0.5).softmax(dim=-1).nan_to_num() @ v

    def folded(self, q, k, v):
        q, k, v = (part.flatten(0, 1) for part in (q, k, v))
        mixed = torch.bmm(torch.bmm(q / 8**0.5, k.mT).softmax(dim=-1), v)
        return mixed.unflatten(0, (-1, 4))

    def chunked(self, q, k, v):
        parts = [F.scaled_dot_product_attention(part, k, v) for part in q.split(3, dim=2)]
        return torch.cat(parts, dim=2)

    def one_by_one(self, q, k, v):
        samples = zip(q, k, v, strict=True)
        return torch.stack([F.scaled_dot_product_attention(*one) for one in samples])


class Model(nn.Module):
    def __init__(self, *kinds):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(map(Layer, kinds))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def recorded(model, x, **options):
    with torch.no_grad(), vz.record(model, **options) as recording:
        model(x)
    return recording


@pytest.fixture
def x(rng):
    return torch.randn(2, 6, 32, generator=rng)


@pytest.mark.parametrize(
    ("kinds", "missing"),
    [
        (("sdpa", "lost", "sdpa"), "layers.1"),
        (("eager", "sdpa", "sdpa"), "layers.0"),
        (("sdpa", "eager"), "layers.1"),
        (("lost", "sdpa"), "layers.0"),
    ],
)
def test_a_softmax_that_is_no_layer_is_named(x, kinds, missing):
    trace = recorded(Model(*kinds), x).trace()
    assert trace.n_layers == kinds.count("sdpa")
    said = [note for note in trace.notes if note.startswith("A softmax over 6 × 6 ran in")]
    assert len(said) == 1 and f"ran in '{missing}'" in said[0], trace.notes


@pytest.mark.parametrize("kinds", [("sdpa", "sdpa"), ("eager", "eager")])
def test_a_whole_recording_says_nothing_of_the_kind(x, kinds):
    trace = recorded(Model(*kinds), x).trace(sample=0)
    assert trace.n_layers == 2
    assert not [note for note in trace.notes if "softmax over" in note or "sequence" in note]
    mixed = recorded(Model("sdpa", "eager"), x, eager=True).trace()
    assert mixed.n_layers == 2 and not [note for note in mixed.notes if "softmax over" in note]


def test_a_softmax_that_cannot_be_a_map_is_not_named(x):
    class Gated(Model):
        def forward(self, x):
            return super().forward(x * x[..., :4].softmax(dim=-1).sum(dim=-1, keepdim=True))

    trace = recorded(Gated("sdpa"), x).trace()
    assert not [note for note in trace.notes if "softmax over" in note]


@pytest.mark.parametrize(
    ("kind", "ran_on"), [("folded", "8 sequences"), ("one_by_one", "4 sequences")]
)
def test_attention_over_something_other_than_the_batch_is_said(x, kind, ran_on):
    trace = recorded(Model(kind), x).trace()
    assert any(f"attention call ran on {ran_on}" in note for note in trace.notes), trace.notes


def test_batches_are_known_on_either_axis_and_without_one():
    for batch_first, shape in ((True, (2, 6, 32)), (False, (6, 2, 32)), (True, (6, 32))):
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=batch_first).eval()
        trace = recorded(layer, torch.randn(shape)).trace()
        assert not [note for note in trace.notes if "which is not the batch" in note], shape


def test_a_run_that_raised_says_so(x):
    class Boom(nn.Module):
        def forward(self, x):
            raise ValueError("boom")

    model = nn.Sequential(Layer("sdpa"), Layer("sdpa"), Boom(), Layer("sdpa"))
    with torch.no_grad(), vz.record(model) as recording:
        with pytest.raises(ValueError, match="boom"):
            model(x)
        model[2] = nn.Identity()
        model(x)
    first, second = recording.trace(run=0), recording.trace(run=1)
    assert any("raised an exception in this run: only the 2 layers" in n for n in first.notes)
    assert not [note for note in second.notes if "raised" in note] and second.n_layers == 3


@pytest.mark.parametrize(
    ("valid", "said"),
    [
        (torch.ones(3, dtype=torch.bool), r"torch.bool tensor of shape \(3,\)"),
        (torch.tensor([1, 1, 0, 0, 0, 0]), "torch.int64 tensor"),
        (torch.tensor([0.0, 0, -1e9, -1e9, 0, 0]), "torch.float32 tensor"),
        (torch.ones(1, 6, dtype=torch.bool), r"shape \(1, 6\)"),
        (torch.zeros(6, dtype=torch.bool), "every token as padding"),
    ],
)
def test_valid_is_one_bool_a_token(x, valid, said):
    recording = recorded(Model("sdpa"), x)
    with pytest.raises(InputError, match=said):
        recording.trace(valid=valid)
    right = torch.tensor([True, True, True, True, False, False])
    assert recording.trace(valid=right).valid is right


def test_a_removed_head_is_said_in_either_order(x):
    model = Model("sdpa", "sdpa")
    with torch.no_grad(), vz.ablate(model, {(1, 2): "zero"}), vz.record(model) as inner:
        model(x)
    with torch.no_grad(), vz.record(model) as outer:
        with vz.ablate(model, {(1, 2): "zero"}):
            model(x)
        model(x)
    for trace in (inner.trace(), outer.trace(run=0)):
        assert any(note.startswith("Head 1.2 was removed by ablate") for note in trace.notes)
    assert not [note for note in outer.trace(run=1).notes if "ablate" in note]


def test_a_head_is_removed_from_the_layer_that_a_recording_numbers_so_or_refused(x):
    model = Model("eager", "sdpa", "sdpa")
    mixed = pytest.raises(TraceError, match="some of its attention by a softmax of its own")
    with torch.no_grad(), mixed, vz.ablate(model, {(1, 0): "zero"}):
        model(x)
    model = Model("sdpa", "eager", "sdpa")
    outputs = {}
    for number, layer in enumerate(model.layers):
        layer.register_forward_hook(
            lambda _, given, out, number=number: outputs.__setitem__(number, out - given[0])
        )
    with torch.no_grad(), vz.record(model) as recording, vz.ablate(model, {(1, 0): "zero"}):
        model(x)
    assert recording.calls[1].name == "layers.2"
    cut = [bool((outputs[number][..., :8] == 0).all()) for number in range(3)]
    assert cut == [False, False, True]


def test_attention_of_the_other_kind_is_offered(x):
    attention = nn.MultiheadAttention(32, 4, batch_first=True)
    with torch.no_grad(), vz.record(attention) as recording:
        attention(x, x.flip(1), x - 1)
    with pytest.raises(
        TraceError, match=r"no self-attention at all.*recording\.trace\(cross=True\) for"
    ):
        recording.trace()
    assert recording.trace(cross=True).n_layers == 1


def test_queries_in_chunks_are_no_layers(x):
    recording = recorded(Model("chunked"), x)
    with pytest.raises(TraceError, match=r"'layers\.0' attends in 2 parts a pass \(3 × 6\)"):
        recording.trace()
    assert [call.shape[2:] for call in recording.calls] == [(3, 6), (3, 6)]
