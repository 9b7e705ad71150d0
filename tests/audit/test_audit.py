"""The audit as a whole, and the modules that it knows by themselves."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.audits import SMALL, audit, encoder_of_torch
from tests.audit.plants import NoMaps, Stack, banded, causal, padding
from viz_encoder.audit import AuditInputs, AuditScope, checks, verdict
from viz_encoder.audit.adapters import adapt
from viz_encoder.audit.audit_context import AuditContext
from viz_encoder.audit.question import Evidence, Question
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import InputError, MaskError


def test_a_check_that_crashes_is_red(monkeypatch):
    broken = Question("gradient", "Broken", lambda context: 1 / 0, Evidence.LINKS)
    monkeypatch.setattr("viz_encoder.audit.audit.QUESTIONS", (*checks.QUESTIONS[:6], broken))
    report = audit(Stack())
    assert report.verdict == "ERROR" and not report.ok
    assert "ZeroDivisionError" in report.check("gradient").evidence
    with pytest.raises(MaskError):
        vz.assert_mask(Stack(), padding, **SMALL)


def test_a_check_declares_whose_answers_it_reads(monkeypatch):
    every = (*checks.QUESTIONS, *checks.OF_OWN_BATCH)
    known = {one.name for one in every} | set(Evidence.__members__)
    for one in every:
        assert {*one.after, *one.needs, *one.before} <= known, one.name
    read = set()

    class Noted(dict):
        asked = ""

        def get(self, name, default=None):
            if self.asked and name in self:  # else it is asked later, or a kind
                read.add((self.asked, name))
            return super().get(name, default)

        __getitem__ = get

    def answer(context, question):
        context.answers.asked = question.name
        found = usual(context, question)
        context.answers.asked = ""
        return found

    usual = verdict._answer
    monkeypatch.setattr(verdict, "_answer", answer)
    monkeypatch.setattr(
        "viz_encoder.audit.audit.AuditContext", partial(AuditContext, answers=Noted())
    )
    audit(NoMaps(), causal, padding)
    declared = {(one.name, name) for one in every for name in (*one.explained_by, *one.needs)}
    assert read <= declared and ("lengths", "output_pooling") in read


def test_the_model_is_left_as_it_was():
    model = Stack().train()
    model.layers[0].eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = torch.get_rng_state()
    audit(model, causal, scope=AuditScope(dtype=torch.bfloat16))
    assert model.training and not model.layers[0].training and model.layers[1].training
    assert all(torch.equal(before[name], now) for name, now in model.state_dict().items())
    assert torch.equal(state, torch.get_rng_state())
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"d_model": None}, "d_model="),
        ({"intent": lambda valid: valid.float()}, "torch.float32"),
        ({"intent": lambda valid: valid[:, :2]}, "must give"),
        ({"intent": [padding] * 3}, "3 intents are given for 2 layers"),
        ({"intent": None}, "intent is a function"),
        ({"d_model": -1}, "d_model is -1"),
        ({"d_model": 0}, "d_model is 0"),
        ({"n_layers": 0}, "n_layers is 0"),
        ({"n_layers": 1}, "n_layers is 1, but 2 attention layers were seen; leave n_layers out"),
        ({"seed": "a"}, "seed is 'a'"),
        ({"inputs": torch.zeros(2)}, "inputs is float32 2; it must be an AuditInputs"),
        ({"scope": {"window": 3}}, r"scope is \{'window'\}; it must be an AuditScope"),
    ],
)
def test_wrong_arguments_are_answered(options, words):
    given = {"intent": padding, **SMALL, **options}
    intent = given.pop("intent")
    with pytest.raises(InputError, match=words):
        vz.audit_mask(Stack(), intent, **given)


@pytest.mark.parametrize(
    ("group", "fields", "words"),
    [
        (AuditInputs, {"valid": torch.ones(7, 7).bool()}, "7 samples of 7 tokens"),
        (AuditInputs, {"padding_side": "middle"}, "'middle'"),
        (
            AuditScope,
            {"lengths": (1,)},
            "lengths holds 1; each must be a whole number of at least 2",
        ),
        (AuditScope, {"lengths": "12"}, "lengths is '12'"),
        (AuditScope, {"lengths": ["12"]}, "lengths holds '12'"),
        (
            AuditScope,
            {"lengths": [10**9]},
            "1,000,000,000 tokens; an audit goes up to 4,096",
        ),
        (AuditScope, {"max_positions": 10**9}, "up to 4,096"),
        (AuditScope, {"window": 10**9}, "up to 4,096"),
        (AuditScope, {"window": -1}, "window is -1"),
        (AuditScope, {"dtype": "bf16"}, "dtype is 'bf16'"),
        (AuditScope, {"dtype": torch.int8}, "dtype is torch.int8"),
    ],
)
def test_what_an_audit_cannot_try_is_answered(group, fields, words):
    with pytest.raises(InputError, match=words):
        group(**fields)


def test_a_make_mask_that_raises_is_the_code_that_fails():
    report = audit(Stack(), padding, lambda valid: valid[99])
    assert report.verdict == "FAIL" and "in make_mask" in report.sentence


def test_intents_are_counted_against_the_layers_of_a_module():
    with pytest.raises(InputError, match="3 intents are given for 2 layers"):
        vz.audit_mask(encoder_of_torch(), [padding] * 3, lambda valid: ~valid)
    for n_intents in (3, 4):
        with pytest.raises(InputError, match=f"{n_intents} intents are given, but 2 attention"):
            vz.audit_mask(Stack(), [padding] * n_intents, padding, d_model=8)
    assert vz.audit_mask(Stack(), [padding] * 2, padding, d_model=8).verdict == "PASS"


def test_an_audit_tells_how_far_it_is_and_ends_where_it_is_told_to():
    model, told = Stack().train(), []
    vz.audit_mask(model, padding, padding, **SMALL, progress=told.append)
    assert told == [number / len(checks.QUESTIONS) for number in range(len(checks.QUESTIONS))]

    def stop(share):
        if share > 0.5:
            raise InputError("Enough.")

    drawn = torch.get_rng_state()
    with pytest.raises(InputError, match="Enough"):
        vz.audit_mask(model, padding, padding, **SMALL, progress=stop)
    assert model.training  # left as it was found
    assert torch.equal(torch.get_rng_state(), drawn)


class Drawn(nn.Module):
    """It draws from numpy and torch, whether it trains or not."""

    def __init__(self):
        super().__init__()
        self.stack = Stack()

    def forward(self, x, keep):
        drawn = np.random.rand() + float(torch.rand(()))
        return self.stack(x * (1 + 0.0 * drawn), keep)


def test_random_numbers_after_an_audit_are_those_without_one():
    model, x = Drawn().eval(), torch.randn(2, 5, 8)
    keep = padding(torch.arange(5) < torch.tensor([[3], [5]]))
    for run in (
        lambda: vz.audit_mask(model, padding, **SMALL),
        lambda: vz.audit_batch(lambda b: model(*b), (x, keep), lambda b: b[1]),
    ):
        np.random.seed(0)
        torch.manual_seed(0)
        run()
        drawn = np.random.rand(), float(torch.rand(()))
        np.random.seed(0)
        torch.manual_seed(0)
        assert drawn == (np.random.rand(), float(torch.rand(())))


def torch_encoder(**more):
    layer = nn.TransformerEncoderLayer(8, 2, 16, **{"batch_first": True, **more})
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def documents(valid):
    """What neither a key mask nor one pattern can say: it differs by sample."""
    blocks = torch.arange(valid.shape[1]) // (2 + torch.arange(len(valid)))[:, None]
    return padding(valid) & (blocks[:, :, None] == blocks[:, None, :])


def one_layer(**more):
    return nn.TransformerEncoderLayer(8, 2, 16, **more)


def attention():
    return nn.MultiheadAttention(8, 2, batch_first=True)


KNOWN = (
    (torch_encoder, causal, "src_key_padding_mask="),
    (partial(torch_encoder, batch_first=False), banded(3), "src_key_padding_mask="),
    (partial(one_layer, batch_first=True), causal, "src_key_padding_mask="),
    (partial(one_layer, batch_first=False), padding, "src_key_padding_mask="),
    (attention, padding, "attn_mask="),
    (attention, documents, "attn_mask="),
)


@pytest.mark.parametrize("make, intent, told", KNOWN)
def test_modules_of_torch_are_given_the_mask_in_their_own_convention(make, intent, told):
    torch.manual_seed(0)
    report = vz.audit_mask(make().eval(), intent)
    assert report.check("maps").verdict == "PASS", str(report)
    assert any(told in note for note in report.not_tested)


def test_padding_and_pattern_are_passed_apart_where_they_can_be():
    module = nn.MultiheadAttention(8, 2, batch_first=True)
    valid = torch.arange(7) < torch.tensor([5, 3, 7])[:, None]
    assert set(adapt(module, padding, None).make_mask(valid)) == {"key_padding_mask"}
    both = adapt(module, causal, None).make_mask(valid)
    assert torch.equal(both["key_padding_mask"], ~valid)
    assert torch.equal(both["attn_mask"], torch.ones(7, 7).triu(1).bool())
    whole = adapt(module, documents, None).make_mask(valid)["attn_mask"]
    assert whole.shape == (6, 7, 7)
    assert all(
        torch.equal(~whole[2 * b + h], documents(valid)[b]) for b in range(3) for h in (0, 1)
    )


def test_a_mask_of_ones_own_goes_where_its_shape_belongs():
    module = torch_encoder()
    right = vz.audit_mask(module, padding, lambda valid: ~valid)
    wrong = vz.audit_mask(module, padding, lambda valid: valid)
    keywords = vz.audit_mask(module, padding, lambda valid: {"src_key_padding_mask": ~valid})
    assert right.verdict == keywords.verdict == "PASS" and wrong.verdict == "FAIL"
    assert wrong.failed[0].code == "inverted"


def test_our_encoder():
    torch.manual_seed(0)
    config = EncoderConfig(n_layers=2, n_heads=2, d_model=8, d_ff=16, embedding="vector")
    encoder = vz.Encoder(config)
    assert vz.audit_mask(encoder, padding).verdict == "PASS"
    report = vz.audit_mask(encoder, causal, lambda valid: {"valid": valid})
    assert report.verdict == "FAIL" and report.check("maps").code == "pattern_ignored"


def test_transformers_models():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    small = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.BertConfig(**small, intermediate_size=16, vocab_size=20)
    model = transformers.BertModel(config)
    report = vz.audit_mask(model, padding)
    assert report.verdict == "PASS" and any("attention_mask=" in n for n in report.not_tested)
    wrong = vz.audit_mask(model, padding, lambda valid: (~valid).long())
    assert wrong.verdict == "FAIL" and wrong.check("maps").code == "inverted"
    assert vz.audit_mask(model, padding, inputs=AuditInputs(vocab_size=20)).verdict == "PASS"
    with pytest.raises(InputError, match=r"pattern & valid\[:, None, :\]"):
        vz.audit_mask(model, lambda valid: torch.ones_like(padding(valid)))
    narrow = {"embedding_size": 4, "vocab_size": 20, "intermediate_size": 16}
    albert = transformers.AlbertModel(transformers.AlbertConfig(**small, **narrow))
    assert vz.audit_mask(albert, padding).verdict == "PASS"


def test_what_cannot_be_called_is_answered():
    with pytest.raises(InputError, match="must be callable"):
        vz.audit_mask("bert", padding, d_model=8)
    with pytest.raises(InputError, match="make_mask="):
        vz.audit_mask(torch_encoder(), [padding, causal])
