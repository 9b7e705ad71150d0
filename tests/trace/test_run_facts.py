"""What a recorded trace says of its run where its maps alone would mislead."""

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.trace.test_one_stack import Attention, Stack, recorded
from viz_encoder.errors import InputError, TraceError


@pytest.fixture
def x(rng):
    return torch.randn(2, 6, 32, generator=rng)


@pytest.mark.parametrize(
    ("kinds", "missing"),
    [
        (("plain", "lost", "plain"), "blocks.1"),
        (("eager", "plain", "plain"), "blocks.0"),
        (("plain", "eager"), "blocks.1"),
        (("lost", "plain"), "blocks.0"),
    ],
)
def test_a_softmax_that_is_no_layer_is_named(x, kinds, missing):
    trace = recorded(Stack(*kinds), x).trace()
    assert trace.n_layers == kinds.count("plain")
    said = [note for note in trace.notes if note.startswith("A softmax over 6 × 6 ran in")]
    assert len(said) == 1 and f"ran in '{missing}'" in said[0], trace.notes


@pytest.mark.parametrize("kinds", [("plain", "plain"), ("eager", "eager")])
def test_a_whole_recording_says_nothing_of_the_kind(x, kinds):
    trace = recorded(Stack(*kinds), x).trace(sample=0)
    assert trace.n_layers == 2
    assert not [note for note in trace.notes if "softmax over" in note or "sequence" in note]
    mixed = recorded(Stack("plain", "eager"), x, eager=True).trace()
    assert mixed.n_layers == 2 and not [note for note in mixed.notes if "softmax over" in note]


def test_a_softmax_that_cannot_be_a_map_is_not_named(x):
    class Gated(Stack):
        def forward(self, x):
            return super().forward(x * x[..., :4].softmax(dim=-1).sum(dim=-1, keepdim=True))

    trace = recorded(Gated("plain"), x).trace()
    assert not [note for note in trace.notes if "softmax over" in note]


@pytest.mark.parametrize(
    ("kind", "ran_on"), [("folded", "8 sequences"), ("one_by_one", "4 sequences")]
)
def test_attention_over_something_other_than_the_batch_is_said(x, kind, ran_on):
    trace = recorded(Stack(kind), x).trace()
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

    model = nn.Sequential(Attention("plain"), Attention("plain"), Boom(), Attention("plain"))
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
    recording = recorded(Stack("plain"), x)
    with pytest.raises(InputError, match=said):
        recording.trace(valid=valid)
    right = torch.tensor([True, True, True, True, False, False])
    assert recording.trace(valid=right).valid is right


def test_a_removed_head_is_said_in_either_order(x):
    model = Stack("plain", "plain")
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
    model = Stack("eager", "plain", "plain")
    mixed = pytest.raises(TraceError, match="some of its attention by a softmax of its own")
    with torch.no_grad(), mixed, vz.ablate(model, {(1, 0): "zero"}):
        model(x)
    model = Stack("plain", "eager", "plain")
    outputs = {}
    for number, layer in enumerate(model.blocks):
        layer.register_forward_hook(
            lambda _, given, out, number=number: outputs.__setitem__(number, out)
        )
    with torch.no_grad(), vz.record(model) as recording, vz.ablate(model, {(1, 0): "zero"}):
        model(x)
    assert recording.calls[1].name == "blocks.2"
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
    recording = recorded(Stack("chunked"), x)
    with pytest.raises(TraceError, match=r"'blocks\.0' attends in 2 parts a pass \(3 × 6\)"):
        recording.trace()
    assert [call.shape[2:] for call in recording.calls] == [(3, 6), (3, 6)]
