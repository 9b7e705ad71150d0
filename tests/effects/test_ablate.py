"""Heads of any model ablated: the ablation proof on the zoo, hooks, and what must fail."""

import copy
from contextlib import contextmanager

import pytest
import torch
import torch.utils.checkpoint
import transformers as hf
from torch import nn

import viz_encoder as vz
from tests.trace.zoo import SOME
from viz_encoder.effects import prove

NEAR = 2e-5
FOLDED = ("DeBERTa-v2",)  # heads in the batch: refused
NO_LINEAR = ("GPT-2",)  # W_O is a Conv1D: no proof, but ablated all the same
CUTS = {(1, 2): "zero", (2, 0): "zero"}
SIZES = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4}


def part_of(model, case):
    return model.get_submodule(case.within) if case.within else model


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
def test_the_proof_holds_on_every_model_of_the_zoo(case):
    model = part_of(case.build("sdpa" if case.kind == "sdpa" else "eager"), case)
    inputs, _ = case.read()
    given = {name: x for name, x in inputs.items() if not name.startswith("decoder")}

    def call(model):
        return model(**given)

    if case.name in FOLDED:
        with (
            pytest.raises(vz.VizEncoderError, match="cannot be told apart"),
            vz.ablate(model, CUTS),
        ):
            call(model)
        return
    if case.name in NO_LINEAR:
        with pytest.raises(vz.VizEncoderError, match="no linear map"):
            prove(model, call, CUTS)
        return
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    if case.name == "ALBERT":  # all layers share one W_O: its columns cannot be zeroed for one
        proof = prove(model, call, dict.fromkeys(((0, 1), (1, 1), (2, 1)), "zero"))
    else:
        proof = prove(model, call, CUTS)
    assert all(torch.equal(weight, weights[name]) for name, weight in model.state_dict().items())
    assert proof.holds, str(proof)
    assert [part.claim for part in proof.parts] == ["untouched", "asked", "below", "columns"]


@pytest.fixture
def bert():
    torch.manual_seed(0)
    config = hf.BertConfig(**SIZES, intermediate_size=40, vocab_size=50)
    return hf.BertModel(config).eval()


IDS = torch.arange(5, 32).reshape(3, 9)


@contextmanager
def hooked(bert, layer, head):
    """By hooks on transformers' own module: its projection gets zeros for that head."""

    def put(_, args):
        merged = args[0].clone()
        merged[..., head * 6 : (head + 1) * 6] = 0
        return (merged,)

    handle = bert.encoder.layer[layer].attention.output.dense.register_forward_pre_hook(put)
    yield
    handle.remove()


def test_it_is_what_hooks_on_transformers_modules_give(bert):
    with torch.no_grad():
        for layer, head in ((0, 0), (1, 3), (2, 1)):
            with hooked(bert, layer, head):
                expected = bert(IDS).last_hidden_state
            with vz.ablate(bert, {(layer, head): "zero"}):
                found = bert(IDS).last_hidden_state
            assert torch.equal(found, expected)
            assert not torch.equal(found, bert(IDS).last_hidden_state)


def test_head_mask_of_transformers_5_removes_nothing_and_the_proof_says_so(bert):
    mask = torch.ones(3, 4)
    mask[1, 2] = 0
    proof = prove(
        bert,
        lambda model: model(IDS),
        {(1, 2): "zero"},
        cut=lambda model: model(IDS, head_mask=mask),
    )
    failed = [part.claim for part in proof.parts if not part.holds]
    assert not proof.holds and failed == ["asked", "columns"]
    assert "FAILS" in str(proof)


def test_w_o_output_sliced_by_head_removes_no_head_and_the_proof_says_so(bert):
    def sliced(model):
        def put(_, args, out):
            out = out.clone()
            out[..., 12:18] = 0
            return out

        handle = model.encoder.layer[1].attention.output.dense.register_forward_hook(put)
        try:
            return model(IDS)
        finally:
            handle.remove()

    proof = prove(bert, lambda model: model(IDS), {(1, 2): "zero"}, cut=sliced)
    assert [part.claim for part in proof.parts if not part.holds] == ["asked", "columns"]


def test_a_cut_that_reaches_another_head_or_a_layer_below_fails(bert):
    cut = {(1, 2): "zero"}
    more = prove(bert, lambda m: m(IDS), cut, cut=lambda m: ablated(m, {**cut, (1, 3): "zero"}))
    assert "asked" in [part.claim for part in more.parts if not part.holds]
    below = prove(bert, lambda m: m(IDS), cut, cut=lambda m: ablated(m, {**cut, (0, 0): "zero"}))
    assert "below" in [part.claim for part in below.parts if not part.holds]
    noisy = prove(
        bert, lambda m: m(IDS), cut, cut=lambda m: ablated(m, cut), untouched=lambda m: m(IDS + 1)
    )
    assert [part.claim for part in noisy.parts if not part.holds] == ["untouched"]


def ablated(model, cuts):
    with vz.ablate(model, cuts):
        return model(IDS)


def test_afterwards_the_model_is_bit_for_bit_what_it_was(bert):
    before = {name: x.clone() for name, x in bert.state_dict().items()}
    hooks = [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in bert.modules()]
    with torch.no_grad():
        plain = bert(IDS).last_hidden_state
        ablated(bert, CUTS)
        with pytest.raises(RuntimeError, match="of the test"), vz.ablate(bert, CUTS):
            bert(IDS)
            raise RuntimeError("of the test")
        with pytest.raises(RuntimeError, match="type"), vz.ablate(bert, CUTS):
            bert(IDS.float())  # fails inside of the model
        assert torch.equal(bert(IDS).last_hidden_state, plain)
    assert all(torch.equal(x, before[name]) for name, x in bert.state_dict().items())
    assert hooks == [(len(m._forward_hooks), len(m._forward_pre_hooks)) for m in bert.modules()]


def test_gradients_are_those_of_a_model_without_the_columns(bert):
    zeroed = copy.deepcopy(bert)
    zeroed.encoder.layer[1].attention.output.dense.weight.data[:, 12:18] = 0
    with vz.ablate(bert, {(1, 2): "zero"}):
        bert(IDS).last_hidden_state.square().sum().backward()
    zeroed(IDS).last_hidden_state.square().sum().backward()
    for (name, ours), theirs in zip(bert.named_parameters(), zeroed.parameters(), strict=True):
        if ours.grad is None or name.endswith("layer.1.attention.output.dense.weight"):
            continue
        scale = theirs.grad.abs().max().clamp_min(1e-6)
        assert (ours.grad - theirs.grad).abs().max() <= NEAR * scale, name
    value = bert.encoder.layer[1].attention.self.value.weight.grad
    assert bool((value[12:18] == 0).all()) and bool((value[:12] != 0).any())


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_multihead_attention_of_torch(need_weights, batch_first):
    torch.manual_seed(0)
    module = nn.MultiheadAttention(24, 4, batch_first=batch_first).eval()
    x = torch.randn(2, 9, 24)
    stand_in = torch.randn(6)
    for cut in ("zero", stand_in):
        proof = prove(module, lambda m: m(x, x, x, need_weights=need_weights), {(0, 2): cut})
        assert proof.holds, str(proof)


@pytest.mark.parametrize("batch_first", [True, False])
def test_the_fused_path_of_torch_stands_aside(batch_first):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(24, 4, 40, batch_first=batch_first)
    model = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()
    x = torch.randn(2, 9, 24)
    proof = prove(model, lambda m: m(x), CUTS)
    assert proof.holds, str(proof)


def without_the_first(mixed):
    """What stands in Given.edit, as vz.effect has it."""
    changed = mixed.clone()
    changed[:, 0] = 0
    return changed


@pytest.mark.parametrize("edits", [None, {3: without_the_first}])
def test_our_own_encoder_by_ablate_and_by_its_edits(edits):
    grammar = vz.load("grammar")
    ids = grammar.read("the keys to the cabinet [MASK] old").values
    cut = edits and (lambda model: model(ids, edits=edits))
    proof = prove(grammar.model, lambda model: model(ids), {(3, 0): "zero"}, cut=cut)
    assert proof.holds, str(proof)


class Twice(nn.Module):
    def __init__(self, bert):
        super().__init__()
        self.bert = bert

    def forward(self, ids):
        return self.bert(ids).last_hidden_state + self.bert(ids + 1).last_hidden_state


def test_each_run_of_the_module_counts_its_layers_anew(bert):
    model = Twice(bert)
    with torch.no_grad():
        with vz.ablate(bert, {(1, 2): "zero"}):
            found = model(IDS)
        with hooked(bert, 1, 2):
            expected = model(IDS)
    assert torch.equal(found, expected)


def test_other_models_in_the_block_are_left_alone(bert):
    other = copy.deepcopy(bert)
    with torch.no_grad():
        plain = other(IDS).last_hidden_state
        with vz.ablate(bert, CUTS):
            bert(IDS)
            assert torch.equal(other(IDS).last_hidden_state, plain)


def test_a_stand_in_fits_by_value_token_or_batch(bert):
    with torch.no_grad():
        values = torch.randn(6)
        outs = []
        for cut in (values, values.expand(9, 6), values.expand(3, 9, 6)):
            with vz.ablate(bert, {(0, 1): cut}):
                outs.append(bert(IDS).last_hidden_state)
        assert torch.equal(outs[0], outs[1]) and torch.equal(outs[0], outs[2])
        with (
            pytest.raises(vz.VizEncoderError, match=r"\(5,\)"),
            vz.ablate(bert, {(0, 1): torch.ones(5)}),
        ):
            bert(IDS)


@pytest.mark.parametrize(
    ("cuts", "said"),
    [
        ({(3, 0): "zero"}, "no layer 3"),
        ({(0, 4): "zero"}, "no head 4"),
        ({3: "zero"}, "3 is not a head"),
        ({(0, 0): "mean"}, "'mean'"),
        ({(-1, 0): "zero"}, "not a head; give"),
        ({(True, 0): "zero"}, "not a head"),
        ([(3, 0)], "give a dict"),
        ({(0, 0): torch.ones(6, dtype=torch.int64)}, "floating-point"),
        ({(0, 0): torch.tensor(1.0)}, "floating-point"),
        ({(0, 0): torch.ones(6, device="meta")}, "floating-point"),
    ],
)
def test_what_is_not_there_is_said(bert, cuts, said):
    with pytest.raises(vz.VizEncoderError, match=said), vz.ablate(bert, cuts):
        bert(IDS)


def test_a_block_in_which_nothing_ran_is_refused(bert):
    with pytest.raises(vz.VizEncoderError, match="was not run"), vz.ablate(bert, CUTS):
        pass
    blind = nn.Linear(3, 3)
    with pytest.raises(vz.VizEncoderError, match="without any attention"), vz.ablate(blind, CUTS):
        blind(torch.ones(3))


@pytest.mark.parametrize("whole", [True, False])
def test_checkpointed_layers_are_refused_in_the_backward_pass(bert, whole):
    """Torch takes modes away there, so the layers that run again would run with all heads."""
    checkpointed = bert if whole else bert.encoder.layer[1]
    forward = checkpointed.forward
    checkpointed.forward = lambda *args, **kwargs: torch.utils.checkpoint.checkpoint(
        forward, *args, use_reentrant=False, **kwargs
    )
    with pytest.raises(vz.VizEncoderError, match="checkpointing"), vz.ablate(bert, CUTS):
        bert(IDS)[0].sum().backward()


def test_a_compiled_model_is_refused(bert):
    with (
        pytest.raises(vz.VizEncoderError, match="compiled"),
        vz.ablate(torch.compile(bert, backend="eager"), CUTS),
    ):
        pass
