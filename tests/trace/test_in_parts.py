"""Attention in parts (Longformer, BigBird, LongT5) as whole maps, against the models' own."""

import pytest
import torch
from torch import nn

from tests.trace.test_one_stack import SPARSE, T5, TEXT, built, ids, recorded
from viz_encoder.errors import TraceError
from viz_encoder.trace import record

WINDOWED = {**TEXT, "attention_window": [4, 8], "pad_token_id": 1}


def longformer():
    torch.manual_seed(0)
    return built("Longformer", WINDOWED)


def naive_longformer(out, layer, sample, row, n_global):
    """One row from what the model gives: global keys first, then the window around the token."""
    window, n_tokens = WINDOWED["attention_window"][layer], out.last_hidden_state.shape[1]
    if row < n_global:
        return out.global_attentions[layer][sample, :, :, row]
    given = out.attentions[layer][sample, :, row]
    most = given.shape[-1] - window - 1  # of all samples
    found = torch.zeros(given.shape[0], n_tokens)
    for at in range(window + 1):
        if 0 <= (key := row - window // 2 + at) < n_tokens:
            found[:, key] += given[:, most + at]
    found[:, :n_global] += given[:, :n_global]
    return found


def test_sliding_chunks_and_global_tokens_are_whole_maps():
    model, text, marked = longformer(), ids(16).repeat(2, 1), torch.zeros(2, 16, dtype=torch.long)
    marked[0, 0], marked[1, :2] = 1, 1
    recording = recorded(model, text, global_attention_mask=marked)
    with torch.no_grad():
        out = model(text, global_attention_mask=marked, output_attentions=True)
    for sample, n_global in ((0, 1), (1, 2)):
        trace = recording.trace(sample=sample)
        for layer in (0, 1):
            for row in range(16):
                expected = naive_longformer(out, layer, sample, row, n_global)
                assert torch.equal(trace.attention(layer)[:, row], expected)
        assert trace.proof.passed and len(trace.hidden_states) == 3
        assert not any("softmax" in note for note in trace.notes)
    assert [call.shape for call in recording.calls] == [(8, 1, 2, 16)] * 2  # as it ran, still there


def test_padding_that_the_model_adds_needs_no_name():
    recording = recorded(longformer(), ids(13))
    trace = recording.trace(tokens=[f"t{at}" for at in range(13)])
    assert trace.tokens[12:] == ("t12", "[PAD]", "[PAD]", "[PAD]") and int(trace.valid.sum()) == 13
    assert trace.tokens[13:] == ("[PAD]",) * 3
    with pytest.raises(TraceError, match="12 names, but the run has 16"):
        recording.trace(tokens=["a"] * 12)


def test_blocks_by_chance_are_in_the_map_and_blocks_met_twice_are_added():
    model = built("BigBird", {**TEXT, **SPARSE, "attention_probs_dropout_prob": 0.0}, "eager")
    model.config.hidden_dropout_prob = 0.0
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    with torch.no_grad():
        model.train()  # only here, its random blocks are random
        expected = model(ids(128), output_attentions=True).attentions
        trace = recorded(model, ids(128)).trace()
        for layer in (0, 1):
            assert torch.equal(trace.attention(layer), expected[layer][0])
        model.eval()  # here they are the first block again and again, which the model counts once
        trace = recorded(model, ids(128)).trace()
        assert trace.proof.passed
        own = model(ids(128), output_attentions=True).attentions[0][0]
        assert torch.allclose(trace.attention(0)[:, 8:120, 8:], own[:, 8:120, 8:], atol=1e-7)
        assert torch.all(trace.attention(0)[:, 8:120, :8] > 1.5 * own[:, 8:120, :8])


def test_blocks_and_their_neighbors_are_whole_maps():
    options = {**T5, "local_radius": 3, "encoder_attention_type": "local"}
    trace = recorded(built("LongT5", options, "eager", "EncoderModel"), ids(17)).trace()
    near = torch.arange(17)[:, None] - torch.arange(17)
    assert torch.equal(trace.attention(0)[0] > 0, near.abs() <= 3) and trace.proof.passed


def test_what_cannot_be_put_together_says_why():
    model = longformer().train()
    with pytest.raises(TraceError, match=r"not put together, because it gave something else.*eval"):
        recorded(model, ids(16)).trace()
    with record(model.eval()) as recording:
        model(ids(16))
        with pytest.raises(TraceError, match="after the block"):
            recording.trace()
    with torch.no_grad():
        model.encoder.layer[0].attention.self.value.weight.mul_(2)
    with pytest.raises(TraceError, match="its weights have changed"):
        recording.trace()
    options = {**T5, "local_radius": 3, "encoder_attention_type": "transient-global"}
    model = built("LongT5", {**options, "global_block_size": 4}, "eager", "EncoderModel")
    with pytest.raises(TraceError, match=r"4 of its 16 tokens, to 16 keys.*summaries of blocks"):
        recorded(model, ids(16)).trace()
