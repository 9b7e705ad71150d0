"""Both parts of a block against what transformers' own modules put out, caught by hooks."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.by_hand import loud
from tests.checkpoints.cases.bert import build as bert
from tests.checkpoints.cases.dinov2 import plain as dinov2
from tests.checkpoints.cases.vit import vit
from tests.checkpoints.parity import TOLERANCE, Case, pictures, save, texts
from tests.refusals import refused
from viz_encoder.analyses.residual_change import block_parts, hidden_change, residual_change
from viz_encoder.errors import SelectionError, TraceError

# Where each reference puts out what is added: attention's part and the feed-forward network's,
# what each is added to, and what comes out; "in" is a module's first input.
PRE = {
    "x": ("", "in"), "after": ("", "out"),
    "ViT": {"attention": "attention.o_proj", "feed_forward": "mlp", "middle": "layernorm_after"},
    "DINOv2": {"attention": "layer_scale1", "feed_forward": "layer_scale2", "middle": "norm2"},
}  # fmt: skip


def caught(model, names):
    """What a module takes or gives, by the names asked for, once the model has run."""
    seen = {}
    for name, (module, side) in names.items():

        def hook(_, given, out, name=name, side=side):
            first = given[0] if side == "in" else out
            seen[name] = first[0] if isinstance(first, tuple) else first

        model.get_submodule(module).register_forward_hook(hook)
    return seen


def points(which, prefix):
    """Names of the modules of one block."""
    if which == "BERT":
        return {
            "x": (f"{prefix}.attention.self.query", "in"),
            "attention": (f"{prefix}.attention.output.dense", "out"),
            "middle": (f"{prefix}.attention.output", "out"),
            "feed_forward": (f"{prefix}.output.dense", "out"),
            "after": (f"{prefix}.output", "out"),
        }
    own = PRE[which]
    return {
        "x": (prefix, "in"),
        "attention": (f"{prefix}.{own['attention']}", "out"),
        "middle": (f"{prefix}.{own['middle']}", "in"),
        "feed_forward": (f"{prefix}.{own['feed_forward']}", "out"),
        "after": (prefix, "out"),
    }


SETUPS = {
    "BERT": (Case("BERT", "bert", bert(), None), "encoder.layer", (7, 4, 1)),
    "ViT": (Case("ViT", "vit", vit(), None, kind="image"), "layers", (12, 28, 22)),
    "DINOv2": (dinov2("DINOv2", "Model"), "encoder.layer", (20, 35, 29)),
}


@pytest.fixture(scope="module", params=SETUPS)
def setup(request, tmp_path_factory):
    """Our encoder, its traces of a batch, and every block of the reference as it ran."""
    case, stack, size = SETUPS[request.param]
    folder = tmp_path_factory.mktemp("checkpoint")
    reference = save(case, folder)
    encoder = vz.load(folder, device="cpu")
    names = {
        (layer, what): where
        for layer in range(3)
        for what, where in points(request.param, f"{stack}.{layer}").items()
    }
    seen = caught(reference, names)
    inputs = texts(size) if case.kind == "text" else pictures(*size)
    with torch.no_grad():
        if case.kind == "text":
            mask = inputs.valid.long()
            reference(inputs.values, attention_mask=mask, token_type_ids=inputs.segments)
        elif request.param == "ViT":
            reference(inputs.values, interpolate_pos_encoding=True)
        else:
            reference(inputs.values)
    return encoder, vz.capture(encoder, inputs), seen


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_the_vectors_are_the_reference_s(setup, layer):
    encoder, traces, seen = setup
    for sample, trace in enumerate(traces):
        parts, real = block_parts(encoder, trace, layer), trace.valid
        for what in ("x", "attention", "middle", "feed_forward", "after"):
            want = seen[layer, what][sample][real]
            apart = (getattr(parts, what)[real] - want).abs().max() / want.abs().max()
            assert apart <= TOLERANCE, (what, sample)


def test_the_numbers_are_the_reference_s(setup):
    encoder, traces, seen = setup
    for sample, trace in enumerate(traces):
        found, moved = residual_change(encoder, trace), hidden_change(trace)
        real = trace.valid.nonzero()[:, 0].tolist()
        assert found.tokens.tolist() == moved.tokens.tolist() == real
        assert found.apart <= TOLERANCE
        for layer in range(3):
            of = {what: seen[layer, what][sample][real].double() for what in
                  ("x", "attention", "middle", "feed_forward", "after")}  # fmt: skip
            long = {what: vector.norm(dim=-1) for what, vector in of.items()}
            expected = {
                "attention": long["attention"],
                "feed_forward": long["feed_forward"],
                "attention_shares": long["attention"] / long["x"],
                "feed_forward_shares": long["feed_forward"] / long["middle"],
            }
            for name, want in expected.items():
                assert getattr(found, name)[layer] == pytest.approx(want.numpy(), rel=1e-4)
                worst = np.abs(getattr(found, name)[layer] - want.numpy()).max()
                assert worst <= TOLERANCE * float(want.max())
            cosines = torch.cosine_similarity(of["x"], of["after"], dim=-1).numpy()
            assert np.abs(moved.cosines[layer] - cosines).max() <= TOLERANCE
            change = ((of["after"] - of["x"]).norm(dim=-1) / long["x"]).numpy()
            assert np.abs(moved.changes[layer] - change).max() <= TOLERANCE * change.max()
            assert moved.norms[layer + 1] == pytest.approx(long["after"].numpy(), rel=1e-5)
        assert moved.norms[0] == pytest.approx(
            seen[0, "x"][sample][real].double().norm(dim=-1).numpy(), rel=1e-5
        )


def test_padding_and_special_tokens(minilm):
    texts = ["A short one", "A text that is much longer than that"]
    trace = vz.capture(minilm, texts)[0]
    alone = residual_change(minilm, vz.capture(minilm, texts[0]))
    found = residual_change(minilm, trace)
    assert found.tokens.tolist() == alone.tokens.tolist()
    for name in ("attention", "feed_forward", "attention_shares", "feed_forward_shares"):
        assert getattr(found, name) == pytest.approx(getattr(alone, name), rel=2e-5)
    again = residual_change(minilm, loud(trace))
    assert np.array_equal(again.attention_shares, found.attention_shares)
    inner = residual_change(minilm, trace, hide_special=True)
    assert inner.tokens.tolist() == alone.tokens.tolist()[1:-1]
    assert np.array_equal(inner.attention, found.attention[:, 1:-1])
    assert hidden_change(trace, hide_special=True).norms.shape == (7, 3)


def test_a_custom_mask_counts_and_a_query_that_sees_nothing(minilm):
    n_tokens = vz.capture(minilm, "one two three").n_tokens
    mask = torch.eye(n_tokens, dtype=torch.bool)
    mask[2] = False
    trace = vz.capture(minilm, "one two three", mask=mask)
    assert residual_change(minilm, trace).apart <= TOLERANCE
    parts, block = block_parts(minilm, trace, 3), minilm.model.layers[3]
    assert torch.allclose(parts.attention[2], block.attn.o.bias, atol=1e-7)


def test_shared_values_and_small_blocks(minilm, monkeypatch):
    trace = vz.capture(minilm, "one two three four")
    first = trace.layers[0]
    some = replace(first, k=first.k[:4], v=first.v[:4])
    many = replace(first, k=some.k.repeat_interleave(3, 0), v=some.v.repeat_interleave(3, 0))
    x = trace.hidden(0)
    block = minilm.model.layers[0]
    outs = []
    for bytes_, ran in ((2**26, many), (100, some)):
        monkeypatch.setattr("viz_encoder.trace.layer.BLOCK_BYTES", bytes_)
        mixed = torch.cat([w @ many.v for _, w in ran.blocks(slice(0, 12))], dim=1)
        with torch.inference_mode():
            middle = block.attn_norm(x + block.attn.o(mixed.transpose(0, 1).flatten(1)))
            after = block.ff_norm(middle + block.ff(middle[None])[0])
        own = replace(
            trace, layers=(ran, *trace.layers[1:]),
            hidden_states=(x, after, *trace.hidden_states[2:]),
        )  # fmt: skip
        outs.append(block_parts(minilm, own, 0).attention)
    assert torch.allclose(*outs, atol=1e-6)


def test_dropout_stays_off_and_the_model_as_it_was(minilm):
    trace = vz.capture(minilm, "one two")
    expected = residual_change(minilm, trace)
    minilm.model.train()
    try:
        found = residual_change(minilm, trace)
        assert minilm.model.training
    finally:
        minilm.model.eval()
    assert np.array_equal(found.feed_forward, expected.feed_forward)


def test_another_model_is_refused(minilm, tmp_path):
    trace = vz.capture(minilm, "one two")
    with pytest.raises(SelectionError, match="give the model that ran"):
        residual_change(vz.load("grammar", device="cpu"), trace)
    crossed = replace(trace, layers=(replace(trace.layers[0], cross=True), *trace.layers[1:]))
    refused(SelectionError, "cross-attention", block_parts, minilm, crossed, 0)
    state = trace.hidden(4).clone()
    state[1, 0] += 2e-3 * state.abs().max()  # other weights would change it more
    other = replace(
        trace, hidden_states=(*trace.hidden_states[:4], state, *trace.hidden_states[5:])
    )
    refused(TraceError, "Block 3, recomputed, differs", residual_change, minilm, other)
