"""Modules that are known are given the mask in their own convention, which is said."""

import pytest
import torch
from torch import nn

import viz_encoder as vz
from tests.audit.plants import banded, causal, padding
from viz_encoder.audit.adapters import adapt
from viz_encoder.config import EncoderConfig
from viz_encoder.errors import InputError


def torch_encoder(**more):
    layer = nn.TransformerEncoderLayer(8, 2, 16, **{"batch_first": True, **more})
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def documents(valid):
    """What neither a key mask nor one pattern can say: it differs by sample."""
    blocks = torch.arange(valid.shape[1]) // (2 + torch.arange(len(valid)))[:, None]
    return padding(valid) & (blocks[:, :, None] == blocks[:, None, :])


@pytest.mark.parametrize("intent", [padding, causal, banded(3)])
@pytest.mark.parametrize("batch_first", [True, False])
def test_transformer_encoder(intent, batch_first):
    torch.manual_seed(0)
    report = vz.audit_mask(torch_encoder(batch_first=batch_first), intent)
    assert report.check("maps").verdict == "PASS", str(report)
    assert any("src_key_padding_mask=" in note for note in report.not_tested)


@pytest.mark.parametrize("intent", [padding, causal, documents])
def test_multihead_attention_with_and_without_weights(intent):
    torch.manual_seed(0)
    report = vz.audit_mask(nn.MultiheadAttention(8, 2, batch_first=True), intent)
    assert report.check("maps").verdict == "PASS", str(report)
    assert any("attn_mask=" in note for note in report.not_tested)


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
    narrow = {"embedding_size": 4, "vocab_size": 20, "intermediate_size": 16}
    albert = transformers.AlbertModel(transformers.AlbertConfig(**small, **narrow))
    assert vz.audit_mask(albert, padding).verdict == "PASS"


def test_what_cannot_be_called_is_answered():
    with pytest.raises(InputError, match="must be callable"):
        vz.audit_mask("bert", padding, d_model=8)
    with pytest.raises(InputError, match="make_mask="):
        vz.audit_mask(torch_encoder(), [padding, causal])
