"""Steps of a recorded model of torch: every number against numpy in double precision."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.analyses.test_step import NEAR, ByHand, near
from tests.refusals import refused
from viz_encoder.errors import SelectionError, TraceError

of = vz.analyses
D, HEADS, WIDE, TOKENS, TOKEN = 24, 4, 40, 7, 3
DESIGNS = {
    "post-norm": {},
    "pre-norm": {"norm_first": True},
    "without biases": {"bias": False},
    "tokens first": {"batch_first": False},
    "gelu": {"activation": "gelu", "layer_norm_eps": 1e-3},
    "a module as activation": {"activation": nn.GELU()},
}


def recorded(design, gradients, last=None, n_layers=2):
    """A seeded stack of torch's layers with weights that are all its own, and a run of it."""
    torch.manual_seed(0)
    design = {"batch_first": True, **design}
    layer = nn.TransformerEncoderLayer(D, HEADS, WIDE, **design)
    module = nn.TransformerEncoder(layer, n_layers, last, enable_nested_tensor=False).eval()
    with torch.no_grad():
        for weight in module.parameters():
            weight += 0.3 * torch.randn_like(weight)
    x = torch.randn(2, TOKENS, D)
    with torch.set_grad_enabled(gradients), vz.record(module) as recording:
        module(x if design["batch_first"] else x.transpose(0, 1))
    return module, recording.trace(sample=1)


OURS = {"self_attn.out_proj": "attn.o", "linear1": "ff.up", "linear2": "ff.down"}
OURS |= {"norm1": "attn_norm", "norm2": "ff_norm"}


class OfTorch(ByHand):
    """One layer of torch, whose tensors have our names."""

    def __init__(self, module, trace, layer):
        self.trace, self.ran, self.layer = trace, trace.layers[layer], layer
        self.at = {name: x.double().numpy() for name, x in module.state_dict().items()}
        self.tensors = {
            f"layers.{layer}.{OURS[part]}.{kind}": x
            for name, x in self.at.items()
            for part, _, kind in [name.rpartition(".")]
            if part in OURS
        }
        relu = module.activation is torch.nn.functional.relu
        self.config = SimpleNamespace(
            **{"norm": "layer", "norm_eps": module.norm1.eps, "final_norm": False, "gated": False},
            **{"norm_placement": "pre" if module.norm_first else "post", "n_layers": 0},
            **{"n_heads": HEADS, "activation": "relu" if relu else "gelu"},
        )
        states = trace.hidden(layer).detach().double().numpy()
        name = f"layers.{layer}.attn_norm"
        self.seen = [self.norm(name, one) if module.norm_first else one for one in states]
        bias = self.at.get("self_attn.in_proj_bias", 0.0)
        self.rows = np.array([self.at["self_attn.in_proj_weight"] @ x + bias for x in self.seen])


@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_every_number_of_a_recorded_layer(design, gradients):
    module, trace = recorded(design, gradients)
    for layer in range(2):
        hand = OfTorch(module.layers[layer], trace, layer)
        expected = hand.block(TOKEN)
        block = of.block_step(trace.parts, trace, layer, TOKEN)
        for one in block:
            if one.vector is not None:
                near(one.vector, expected.pop(one.name))
        assert expected == {} and block.apart <= NEAR
        near(block.feed_forward.after, hand.units)
        heads = of.heads_step(trace.parts, trace, layer, TOKEN)
        weight = hand.at["self_attn.out_proj.weight"]
        outs = heads.outs.astype(float)
        near(heads.parts, [weight[:, 6 * h : 6 * h + 6] @ outs[h] for h in range(HEADS)])
        found = of.projection_step(trace.parts, trace, layer, 2, TOKEN, 5)
        own = slice(12, 18)
        near(found.sums, hand.rows[TOKEN, own])
        near(found.weight, hand.at["self_attn.in_proj_weight"][own])
        near(found.x, hand.seen[TOKEN])
        near(found.x_key, hand.seen[5])
        assert found.apart <= NEAR and (found.bias is None) == (design.get("bias") is False)
    entered = of.embedding_step(trace.parts, trace, TOKEN)
    near(entered.out, trace.hidden(0)[TOKEN])
    assert "tables were not read" in entered.says


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_what_each_part_of_a_recorded_block_adds(design):
    module, trace = recorded(design, True)
    found = of.residual_change(trace.parts, trace)
    for layer in range(2):
        states = OfTorch(module.layers[layer], trace, layer).block(TOKEN)
        added = {name: np.linalg.norm(states[name]) for name in ("x", "output", "ffn")}
        before = {True: "residual_attention", False: "norm_attention"}[found.pre_norm]
        shares = added["output"] / added["x"], added["ffn"] / np.linalg.norm(states[before])
        near(found.attention[layer, TOKEN], added["output"])
        near(found.feed_forward[layer, TOKEN], added["ffn"])
        near(found.attention_shares[layer, TOKEN], shares[0])
        near(found.feed_forward_shares[layer, TOKEN], shares[1])
    assert found.pre_norm == design.get("norm_first", False) and found.apart <= NEAR


@pytest.mark.parametrize("last", [nn.LayerNorm(D), nn.LayerNorm(D, eps=1e-2, bias=False)])
def test_the_norm_after_the_last_block(last):
    module, trace = recorded({"norm_first": True}, True, last)
    stages = {one.name: one for one in of.block_step(trace.parts, trace, 1, TOKEN)}
    hand = OfTorch(module.layers[1], trace, 1)
    after = hand.block(TOKEN)["residual_ffn"]
    hand.tensors |= {f"last.{n}": x.double().numpy() for n, x in module.norm.state_dict().items()}
    hand.config.norm_eps = module.norm.eps
    near(stages["norm_final"].vector, hand.norm("last", after))
    near(stages["norm_final"].vector, trace.output[TOKEN])
    assert "norm_final" not in [one.name for one in of.block_step(trace.parts, trace, 0, TOKEN)]


def test_layers_of_a_model_of_ones_own_are_found():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.out = nn.Embedding(9, D), nn.Linear(D, 2)
            self.blocks = nn.ModuleList(
                nn.TransformerEncoderLayer(D, HEADS, WIDE, batch_first=True) for _ in range(3)
            )

        def forward(self, ids):
            x = self.embed(ids)
            for block in self.blocks:
                x = block(x)
            return self.out(x)

    torch.manual_seed(0)
    model = Own().eval()
    with vz.record(model) as recording:
        model(torch.arange(7)[None])
    trace = recording.trace()
    for layer in range(3):
        expected = OfTorch(model.blocks[layer], trace, layer).block(TOKEN)
        block = of.block_step(trace.parts, trace, layer, TOKEN)
        near(next(one.vector for one in block if one.name == "ffn"), expected["ffn"])


class Blocks(nn.Module):
    """Pre-norm blocks with torch's attention and a network of their own."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm": nn.LayerNorm(D),
                    "attend": nn.MultiheadAttention(D, HEADS, batch_first=True),
                    "network": nn.Linear(D, D),
                }
            )
            for _ in range(2)
        )

    def forward(self, x):
        for block in self.blocks:
            seen = block["norm"](x)
            x = x + block["attend"](seen, seen, seen, need_weights=False)[0]
            x = x + block["network"](x).tanh()
        return x


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("batched", [True, False])
def test_attention_is_read_in_every_layout(batch_first, batched):
    torch.manual_seed(0)
    attend = nn.MultiheadAttention(D, HEADS, batch_first=batch_first).eval()
    x = torch.randn(TOKENS, TOKENS, D)  # as many samples as tokens, so that no axis can be guessed
    given = x if batch_first else x.transpose(0, 1)
    with vz.record(attend) as recording:
        attend(*[given if batched else x[2]] * 3)
    trace = recording.trace(sample=2 if batched else 0)
    found = of.projection_step(trace.parts, trace, 0, 1, TOKEN, 5)
    near(found.x, x[2, TOKEN])
    near(found.x_key, x[2, 5])
    near(found.q_before, found.q.astype(float) * np.sqrt(D / HEADS))  # torch divided q
    assert found.k_before is None and "divides q" in found.says


def test_a_class_of_its_own_with_torch_s_as_a_base_is_recorded_as_before():
    class Own(nn.TransformerEncoderLayer):
        def __init__(self):
            nn.Module.__init__(self)
            self.attend = nn.MultiheadAttention(D, HEADS, batch_first=True)

        def forward(self, x):
            return x + self.attend(x, x, x)[0]

    model = nn.Sequential(Own())
    with vz.record(model) as recording:
        model(torch.randn(1, TOKENS, D))
    trace = recording.trace()
    assert trace.attention(0).shape == (HEADS, TOKENS, TOKENS)
    refused(SelectionError, "were not read", of.heads_step, trace.parts, trace, 0, 1)


@pytest.mark.parametrize("gradients", [True, False])
def test_of_another_block_torch_s_attention_is_read_alone(gradients):
    torch.manual_seed(0)
    model, x = Blocks().eval(), torch.randn(1, TOKENS, D)
    with torch.set_grad_enabled(gradients), vz.record(model) as recording:
        model(x)
    trace, attend = recording.trace(), model.blocks[0]["attend"]
    seen = model.blocks[0]["norm"](x)[0].detach().double().numpy()
    at = {name: one.double().numpy() for name, one in attend.state_dict().items()}
    found = of.projection_step(trace.parts, trace, 0, 1, TOKEN, 5)
    near(found.x, seen[TOKEN])
    near(found.sums, (at["in_proj_weight"] @ seen[TOKEN] + at["in_proj_bias"])[6:12])
    heads = of.heads_step(trace.parts, trace, 0, TOKEN)
    out = attend(*[torch.from_numpy(seen).float()[None]] * 3)[0][0, TOKEN]
    near(heads.sum, out.detach())
    with pytest.raises(SelectionError, match="feed-forward part was not read"):
        of.block_step(trace.parts, trace, 0, TOKEN)


def test_what_cannot_be_read_is_said():
    class Own(nn.Module):
        def forward(self, x):
            return nn.functional.scaled_dot_product_attention(x, x, x)

    model = nn.Sequential(Own())
    with vz.record(model) as recording:
        model(torch.randn(1, 2, 5, 4))
    trace = recording.trace()
    for work in (of.heads_step, of.block_step):
        with pytest.raises(SelectionError, match=r"reads those of nn\.TransformerEncoderLayer and"):
            work(trace.parts, trace, 0, 1)
    _, trace = recorded({"activation": lambda x: x.sin()}, True)
    assert of.heads_step(trace.parts, trace, 1, TOKEN).lengths.all()
    refused(SelectionError, "activation is <lambda>", of.block_step, trace.parts, trace, 1, TOKEN)
    refused(SelectionError, "activation is <lambda>", of.residual_change, trace.parts, trace)


def test_dropout_is_said_and_leaves_the_projections():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(D, HEADS, WIDE, batch_first=True)
    module = nn.TransformerEncoder(layer, 1).train()
    with vz.record(module) as recording:
        module(torch.randn(1, TOKENS, D))
    trace = recording.trace()
    assert of.projection_step(trace.parts, trace, 0, 0, 1, 2).apart <= NEAR
    for work in (of.heads_step, of.block_step):
        refused(SelectionError, r"Dropout was on \(train mode\)", work, trace.parts, trace, 0, 1)
    with pytest.raises(SelectionError, match=r"Dropout was on \(train mode\)"):
        of.residual_change(trace.parts, trace)
    assert "Dropout was on" in trace.parts.undivided
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    layer = module.layers[0]
    layer.self_attn.dropout = 0.0
    with vz.record(module) as recording:
        module(torch.randn(1, TOKENS, D))
    trace = recording.trace()
    assert of.block_step(trace.parts, trace, 0, 1).apart <= NEAR


def test_weights_that_changed_since_are_refused():
    module, trace = recorded({}, True)
    kept = trace.parts.layers[0].attention.tensors["in_proj_weight"]
    assert kept.data_ptr() == module.layers[0].self_attn.in_proj_weight.data_ptr()  # no copy
    with torch.no_grad():
        module.layers[0].linear1.weight.mul_(1.0)
    with pytest.raises(TraceError, match="weights were changed after this run"):
        of.block_step(trace.parts, trace, 0, TOKEN)
    assert of.block_step(trace.parts, trace, 1, TOKEN).apart <= NEAR
    module.layers[1].linear2.weight.data.mul_(2.0)  # which torch does not count
    refused(TraceError, "recomputed, differs", of.block_step, trace.parts, trace, 1, TOKEN)


def test_padding_that_torch_left_out_is_said():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(D, HEADS, WIDE, batch_first=True)
    module, x = nn.TransformerEncoder(layer, 2).eval(), torch.randn(2, TOKENS, D)
    padding = torch.zeros(2, TOKENS, dtype=torch.bool)
    padding[1, 5:] = True
    with torch.no_grad(), vz.record(module) as recording:
        module(x, src_key_padding_mask=padding)
    trace = recording.trace(sample=1)
    assert trace.parts.ragged and of.block_step(trace.parts, trace, 1, 4).apart <= NEAR
    assert of.residual_change(trace.parts, trace).apart <= NEAR
    with pytest.raises(SelectionError, match="Token 6 is padding, which torch left out"):
        of.block_step(trace.parts, trace, 1, 6)


def test_another_recording_and_a_saved_run(tmp_path):
    _, one = recorded({}, True)
    _, two = recorded({}, True)
    refused(SelectionError, r"give trace\.parts", of.block_step, two.parts, one, 0, TOKEN)
    refused(SelectionError, r"give trace\.parts", of.residual_change, two.parts, one)
    one.save(tmp_path / "run.safetensors")
    assert vz.Trace.load(tmp_path / "run.safetensors").parts is None
