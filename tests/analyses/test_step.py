"""Every number of one token's way against numpy in double precision, from the weights alone."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.checkpoints.cases import CASES
from tests.checkpoints.parity import inputs_of, save
from tests.refusals import refused
from tests.slow import slow_but
from viz_encoder.bundled import asset
from viz_encoder.effects.changed_capture import changed
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.inputs import Grid
from viz_encoder.trace.same_model import require_made_by
from viz_encoder.ui.state.examples import PICTURES

of = vz.analyses
NEAR = 1e-6  # of the row's largest number
# Float32's rounding in sums over d_ff, of the run too; the smallest real mistake we know is 7e-4.
ROUNDED = 5e-6
TEXT = "the keys to the cabinet [MASK] old"
erf = np.vectorize(math.erf)
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "quick_gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def near(found, expected, within=NEAR, of=None):
    """Within that share of the largest number expected, or of what it was summed up from."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert found.shape == expected.shape
    largest = np.abs(expected if of is None else of).max()
    assert np.abs(found - expected).max() <= within * largest


class ByHand:
    """One layer of one token, from tensors of the file and states that ran, in double precision."""

    def __init__(self, encoder, trace, layer):
        self.config, self.trace, self.ran = encoder.config, trace, trace.layers[layer]
        self.tensors = {n: t.double().numpy() for n, t in encoder.model.state_dict().items()}
        self.layer = layer

    def linear(self, name, x):
        weight = self.tensors[f"layers.{self.layer}.{name}.weight"]
        return weight @ x + self.tensors.get(f"layers.{self.layer}.{name}.bias", 0.0)

    def norm(self, name, x):
        if f"{name}.weight" not in self.tensors:
            return x
        weight, bias = self.tensors[f"{name}.weight"], self.tensors.get(f"{name}.bias", 0.0)
        if self.config.norm == "rms":
            return weight * x / np.sqrt((x**2).mean() + self.config.norm_eps)
        spread = np.sqrt(((x - x.mean()) ** 2).mean() + self.config.norm_eps)
        return weight * (x - x.mean()) / spread + bias

    def row(self, head, query):
        """Weights and output of one row, from the queries and keys that ran."""
        q, k, v = (x[head].double().numpy() for x in (self.ran.q, self.ran.k, self.ran.v))
        scores = np.array([sum(a * b for a, b in zip(q[query], one, strict=True)) for one in k])
        scores = scores * self.ran.scale
        if self.ran.relative is not None:
            n = len(k)
            distance = [key - query + n - 1 for key in range(n)]
            scores = scores + self.ran.relative[head].double().numpy()[distance]
        if self.ran.mask is not None:
            mask = self.ran.mask.expand(len(self.ran.q), len(k), len(k))[head, query].numpy()
            scores = np.where(mask, scores, -np.inf)
        if not np.isfinite(scores).any():
            return scores, np.zeros(len(k)), 0 * v[0]
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        return scores, weights, weights @ v

    def block(self, query, removed=()):
        """The vectors after each stage, by their names."""
        x, prefix = self.trace.hidden(self.layer)[query].double().numpy(), f"layers.{self.layer}"
        pre, found = self.config.norm_placement == "pre", {"x": x}
        if pre:
            found["norm_attention"] = self.norm(f"{prefix}.attn_norm", x)
        outs = [self.row(head, query)[2] for head in range(self.config.n_heads)]
        outs = [out * (head not in removed) for head, out in enumerate(outs)]
        found["values"] = np.concatenate(outs)
        found["output"] = self.linear("attn.o", found["values"])
        middle = found["residual_attention"] = x + found["output"]
        if not pre:
            middle = found["norm_attention"] = self.norm(f"{prefix}.attn_norm", middle)
        into = middle
        if pre:
            into = found["norm_ffn"] = self.norm(f"{prefix}.ff_norm", middle)
        act = ACTIVATIONS[self.config.activation]
        up = self.linear("ff.up", into)
        self.units = act(self.linear("ff.gate", into)) * up if self.config.gated else act(up)
        found["ffn"] = self.linear("ff.down", self.units)
        after = found["residual_ffn"] = middle + found["ffn"]
        if not pre:
            after = found["norm_ffn"] = self.norm(f"{prefix}.ff_norm", after)
        if self.layer == self.config.n_layers - 1 and self.config.final_norm:
            found["norm_final"] = self.norm("final_norm", after)
        return found


def of_one(inputs, encoder, row=0):
    """One row of a batch, its sample its own, with a grid where it is of a picture."""
    grid, config, values = None, encoder.config, inputs.values[row : row + 1]
    if config.embedding == "patch":
        rows, columns = (size // config.patch_size for size in values.shape[-2:])
        grid = Grid(rows, columns, len(config.prefix))
    segments = None if inputs.segments is None else inputs.segments[row : row + 1]
    return replace(
        inputs, values=values, valid=inputs.valid[row : row + 1], segments=segments,
        samples=(replace(inputs.samples[row], grid=grid),),
        padded=not bool(inputs.valid[row].all()),
    )  # fmt: skip


@pytest.fixture(scope="module")
def masked(grammar):
    return vz.capture(grammar, TEXT)


@pytest.fixture(scope="module")
def scene():
    encoder = vz.load("scene", device="cpu")
    inputs = encoder.read(asset(PICTURES["a wide scene"]))
    return encoder, inputs, vz.capture(encoder, inputs)[0]


def check_block(encoder, trace, layer, query, within, removed=()):
    """All stages of one token, in the model's own order; gives what is said of its differences."""
    hand = ByHand(encoder, trace, layer)
    block = of.block_step(encoder, trace, layer, query, [(layer, head) for head in removed])
    expected = hand.block(query, removed)
    shown = {stage.name: stage.vector for stage in block if stage.vector is not None}
    assert list(shown) == list(expected)
    for name, vector in shown.items():
        near(vector, expected[name], within)
    last = "residual_ffn" if block.pre_norm else "norm_ffn"
    near(shown[last], trace.hidden(layer + 1)[query], within)
    near(block.feed_forward.after, hand.units, within)
    unit, value = max(enumerate(hand.units.tolist()), key=lambda one: abs(one[1]))
    assert block.feed_forward.strongest(1) == ((unit, pytest.approx(value, rel=1e-4)),)
    heads = block.heads
    total = heads.parts.sum(axis=0, dtype=np.float64) + (0 if heads.bias is None else heads.bias)
    near(total, expected["output"], within, of=heads.parts)
    near(heads.lengths, np.sqrt((heads.parts.astype(float) ** 2).sum(axis=1)), within)
    return block.apart, expected["norm_attention" if block.pre_norm else "x"]


def check_row(encoder, trace, layer, head, query, key, x, within):
    """One row of one head, and how its query, and one key and value, were made."""
    row, hand = of.attention_step(trace, layer, head, query), ByHand(encoder, trace, layer)
    scores, weights, out = hand.row(head, query)
    near(row.weights, weights, within)
    near(row.out, out, within)
    near(row.out, trace.attention(layer, head)[query].numpy() @ row.v, within)
    may = np.isfinite(scores)
    assert np.array_equal(row.allowed, may) and np.array_equal(np.isfinite(row.scores), may)
    near(row.scores[may], scores[may], within, of=row.products * row.scale)
    near(row.exps / row.sum, weights, within)
    near(row.products.sum(axis=1), row.dots, within, of=row.products)
    near(row.added.sum(axis=0), row.out, within)
    made = of.projection_step(encoder, trace, layer, head, query, key)
    near(made.x, x, within)
    bias = 0 if made.bias is None else made.bias
    near(made.sums, made.weight.astype(float) @ made.x + bias, within)
    assert np.array_equal(made.q, row.q) and np.array_equal(made.k, row.k[key])
    assert np.array_equal(made.v, row.v[key])
    turned = encoder.config.rotary_base is not None
    assert (made.q_before is not None) == turned == bool(made.says)
    if turned:  # a turn keeps each pair's length
        for before, ran in ((made.q_before, made.q), (made.k_before, made.k)):
            pairs = [np.hypot(*one.reshape(2, -1)) for one in (before, ran)]
            near(*pairs, within)
    else:
        near(made.sums, made.q, within)
    return max(row.apart, made.apart)


def check_embedding(encoder, trace, inputs, query, within):
    """The rows of the tables, their sum and the norm."""
    found, hand = of.embedding_step(encoder, trace, query, inputs), ByHand(encoder, trace, 0)
    near(found.out, trace.hidden(0)[query].numpy(), within)
    parts = [part for part in (found.token, found.segment, found.position) if part is not None]
    near(np.sum(parts, axis=0, dtype=np.float64), found.sum, within)
    config = encoder.config
    if config.embedding == "token":
        number = int(inputs.values[0, query])
        assert found.id == number
        assert np.array_equal(found.token, hand.tensors["embed.tokens.word.weight"][number])
    if config.positions == "learned" and config.embedding != "patch":
        assert np.array_equal(found.position, hand.tensors["embed.position"][query])
    assert (found.position is None) == (config.positions == "none") == bool(found.says)
    normed = hand.norm("embed.norm", found.sum.astype(float))
    near(normed if found.norm is None else found.norm.after, normed, within)
    assert (found.norm is not None) == config.embed_norm
    assert found.projected == (config.d_embed != config.d_model)
    return found.apart


def check_token(encoder, trace, inputs, layer, query, key, within):
    """Every step of one token; gives the largest difference that is said."""
    said, x = check_block(encoder, trace, layer, query, within)
    for head in (0, encoder.config.n_heads - 1):
        said = max(said, check_row(encoder, trace, layer, head, query, key, x, within))
    return max(said, check_embedding(encoder, trace, inputs, query, within))


def test_the_built_in_models(minilm, grammar, masked, scene):
    text = minilm.read("The bank of the river")
    runs = [
        (minilm, vz.capture(minilm, text)[0], text),
        (grammar, masked, grammar.read(TEXT)),
        (scene[0], scene[2], scene[1]),
    ]
    for encoder, trace, inputs in runs:
        for layer in range(trace.n_layers):
            query, key = (layer + 1) % trace.n_tokens, (2 * layer) % trace.n_tokens
            assert check_token(encoder, trace, inputs, layer, query, key, ROUNDED) <= 2 * NEAR


FAMILIES = {case.model_type: case for case in reversed(CASES)}  # the first of each
MORE = ("torch.nn, pre-norm", "ALBERT, deeper", "T5, few buckets", "DINOv3, other")
DESIGNS = [*FAMILIES.values(), *(case for case in CASES if case.name.startswith(MORE))]


@pytest.mark.parametrize("case", slow_but(DESIGNS[::5], DESIGNS), ids=lambda case: case.name)
def test_every_design_of_a_family(case, tmp_path):
    """Pre-norm, post-norm, RMSNorm, gates, rotary, relative, windows, LayerScale, shared layers."""
    save(case, tmp_path)
    encoder = vz.load(tmp_path, device="cpu", **({"part": case.part} if case.part else {}))
    inputs = of_one(inputs_of(case, encoder)[1], encoder)
    trace = vz.capture(encoder, inputs)[0]
    require_made_by(encoder, trace)
    for layer in range(trace.n_layers):
        query = (layer + 2) % trace.n_tokens
        said = check_token(encoder, trace, inputs, layer, query, max(0, query - 1), ROUNDED)
        assert said <= ROUNDED


def test_the_numbers_of_the_lesson(grammar, masked):
    """What the lesson prints, and that paper and page agree with q and k to two decimals."""
    row = of.attention_step(masked, 2, 0, 6)
    assert row.weights.round(3).tolist() == pytest.approx(
        [0.052, 0.022, 0.842, 0.004, 0.018, 0.008, 0.017, 0.032, 0.003], abs=1e-6
    )
    assert row.scores.round(2).tolist() == pytest.approx(
        [-0.33, -1.20, 2.45, -2.85, -1.38, -2.19, -1.45, -0.82, -3.05], abs=1e-6
    )
    paper = np.exp(row.q.round(2) @ row.k.round(2).T * row.scale)
    assert np.abs(paper / paper.sum() - row.weights).max() < 0.0006
    block = of.block_step(grammar, masked, 2, 6)
    assert block.heads.lengths.round(1).tolist() == pytest.approx([18.2, 37.7, 12.4, 7.4])
    lengths = {stage.name: round(stage.length, 1) for stage in block if stage.length}
    named = ("x", "output", "residual_attention", "ffn", "residual_ffn")
    assert [lengths[name] for name in named] == [99.1, 47.1, 109.4, 65.9, 142.9]
    frame = block.to_frame().set_index("stage")["length"]
    assert frame["x"] == pytest.approx(99.1, abs=0.05) and np.isnan(frame["softmax"])


def test_a_norm_is_its_mean_deviation_and_weights(grammar, masked):
    found = next(one.norm for one in of.block_step(grammar, masked, 1, 3) if one.norm)
    before = found.before.astype(float)
    assert found.kind == "LayerNorm" and found.eps == grammar.config.norm_eps
    assert found.mean == pytest.approx(before.mean(), rel=1e-12)
    assert found.std == pytest.approx(before.std(), rel=1e-12)
    scaled = (before - found.mean) / math.sqrt(found.std**2 + found.eps)
    near(found.after, found.weight * scaled + found.bias)


def test_masked_keys_and_a_query_that_sees_nothing(minilm):
    mask = torch.ones(6, 6, dtype=torch.bool).tril()
    mask[3] = False
    trace = vz.capture(minilm, "one two three four", mask=mask)
    seen, none = of.attention_step(trace, 2, 1, 2), of.attention_step(trace, 2, 1, 3)
    assert seen.allowed.tolist() == [True] * 3 + [False] * 3
    assert np.isneginf(seen.scores[3:]).all() and seen.exps[3:].tolist() == [0] * 3
    assert seen.weights.sum() == pytest.approx(1, abs=1e-6) and seen.sink is None
    assert none.max is None and none.sum == 0 and not none.weights.any() and not none.out.any()
    check_block(minilm, trace, 2, 3, ROUNDED)


def test_a_removed_head_adds_nothing(grammar):
    trace = changed(grammar, TEXT, ["h2.1"])
    unnamed = replace(trace, removed=())
    for compute in (of.block_step, of.heads_step):
        with pytest.raises(TraceError, match="Block 2 of token 6, recomputed, differs"):
            compute(grammar, unnamed, 2, 6)
    for run in (trace, unnamed):
        said, _ = check_block(grammar, run, 2, 6, NEAR, removed=(1,))
    heads = of.heads_step(grammar, trace, 2, 6)
    assert np.array_equal(heads.sum, of.block_step(grammar, trace, 2, 6).heads.sum)
    assert heads.removed == of.heads_step(grammar, unnamed, 2, 6, [(2, 1), (3, 0)]).removed
    assert said <= NEAR and heads.removed == (1,)
    assert heads.lengths[1] == 0 and not heads.parts[1].any() and heads.lengths[0] > 1


def test_maps_that_were_kept_have_no_scores():
    """A model that does its own softmax, with a sink: q and k are not known."""
    torch.manual_seed(0)

    class Own(nn.Module):
        def forward(self, x):
            scores = torch.cat([x @ x.mT / 2, x.new_ones(*x.shape[:-1], 1)], dim=-1)
            return scores.softmax(dim=-1)[..., :-1] @ x

    model, x = nn.Sequential(Own()), torch.randn(1, 2, 5, 4)
    with vz.record(model) as recording:
        model(x)
    trace = recording.trace()
    row = of.attention_step(trace, 0, 1, 2)
    assert [row.q, row.k, row.dots, row.scores, row.exps, row.sum, row.max] == [None] * 7
    scores = np.append(x[0, 1, 2].double().numpy() @ x[0, 1].double().numpy().T / 2, 1.0)
    weights = np.exp(scores) / np.exp(scores).sum()
    near(row.weights, weights[:-1])
    if row.sink is not None:
        assert row.sink == pytest.approx(weights[-1], rel=1e-5)


def test_grouped_keys_and_an_added_bias(minilm):
    """Heads that share keys, and a bias of which −∞ forbids a key."""
    trace = vz.capture(minilm, "one two three four")
    first, bias = trace.layers[0], torch.randn(1, 1, 6)
    bias[0, 0, 4] = -torch.inf
    some = replace(first, k=first.k[:4], v=first.v[:4], bias=bias, signature=None)
    own = replace(trace, layers=(some, *trace.layers[1:]))
    row = of.attention_step(own, 0, 7, 2)
    q, k = first.q[7, 2].double(), first.k[7 // 3].double()
    scores = (k @ q * first.scale + bias[0, 0]).numpy()
    weights = np.exp(scores) / np.exp(scores).sum()
    near(row.weights, weights)
    assert row.allowed.tolist() == [True, True, True, True, False, True] and row.apart is None
    near(row.scores[row.allowed], scores[row.allowed])
    assert np.array_equal(row.v, first.v[2].numpy())


def test_ids_by_name_and_what_needs_the_inputs(minilm, scene):
    text = minilm.read(("A bank", "a river"))
    trace = vz.capture(minilm, text)[0]
    for query in range(trace.n_tokens):
        alone, given = (of.embedding_step(minilm, trace, query, one) for one in (None, text))
        assert alone.id == given.id == int(text.values[0, query])
        assert np.array_equal(alone.sum, given.sum) and alone.segment is not None
    refused(SelectionError, "give inputs=encoder", of.embedding_step, scene[0], scene[2], 3)


def test_no_such_token_layer_or_model(minilm, grammar, masked):
    refused(SelectionError, "give the model that ran", of.block_step, minilm, masked, 0, 0)


def test_other_weights_than_ran_are_refused(grammar, masked):
    broken = vz.load("grammar", device="cpu")
    with torch.no_grad():
        for name in ("embed.tokens.word.weight", "layers.1.attn.q.weight", "layers.1.ff.up.weight"):
            broken.model.get_parameter(name).mul_(1.01)
    with pytest.raises(TraceError, match="embedding of token 6, recomputed, differs"):
        of.embedding_step(broken, masked, 6)
    with pytest.raises(TraceError, match=r"projection of head 1\.2, recomputed, differs"):
        of.projection_step(broken, masked, 1, 2, 6, 2)
    with pytest.raises(TraceError, match="Block 1 of token 6, recomputed, differs"):
        of.block_step(broken, masked, 1, 6)
