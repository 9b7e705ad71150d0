"""Cross-attention by hand, pictures and waveforms: what is known, and what is said of the rest."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.audit.audits import audit
from tests.audit.plants import causal, padding
from tests.audit.swin_cases import allowed
from tests.slow import slow
from viz_encoder.audit import AuditInputs, AuditScope
from viz_encoder.errors import InputError

MEMORY, LOW = torch.randn(1, 5, 8, generator=torch.Generator().manual_seed(0)), -1e30


def by_hand(q, k, keep):
    return (q @ k.mT).masked_fill(~keep, LOW).softmax(dim=-1) @ k


def one_head(q, k, keep):
    return by_hand(q[:, 0], k[:, 0], keep[:, 0])[:, None]


def fused(q, k, keep):
    return F.scaled_dot_product_attention(q, k, k, attn_mask=keep)


def first_three(valid):
    return (torch.arange(5) < 3).expand(*valid.shape, 5)


class Block(nn.Module):
    """Self-attention, then cross-attention to a memory of five, of which two are padding."""

    def __init__(self, itself, across, n_open):
        super().__init__()
        self.itself, self.across, self.n_open = itself, across, n_open

    def forward(self, x, keep):
        x = x + self.itself(x[:, None], x[:, None], keep[:, None])[:, 0]
        memory = MEMORY.expand(len(x), -1, -1)[:, None]
        keep = (torch.arange(5) < self.n_open).expand(len(x), 1, 1, 5)
        return x + self.across(x[:, None], memory, keep)[:, 0]


class MemoryFirst(nn.Module):
    """Cross-attention to a memory, then self-attention, without a module of their own."""

    def __init__(self, n_keys):
        super().__init__()
        torch.manual_seed(0)
        self.qkv, self.memory = nn.Linear(8, 24), nn.Parameter(torch.randn(1, 1, n_keys, 8))

    def forward(self, x, keep):
        q, _, _ = self.qkv(x)[:, None].chunk(3, -1)
        memory = self.memory.expand(len(x), -1, -1, -1)
        x = x + F.scaled_dot_product_attention(q, memory, memory)[:, 0]
        q, k, v = self.qkv(x)[:, None].chunk(3, -1)
        return x + F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None])[:, 0]


@pytest.mark.parametrize("n_keys", [3, 7, 11])
def test_a_memory_before_the_first_self_attention_is_no_layer_of_the_tokens(n_keys):
    told = audit(MemoryFirst(n_keys), n_layers=1)
    assert told.verdict == "PASS" and "cross-attention" in told.sentence, str(told)


@pytest.mark.parametrize("itself", [slow(fused), by_hand])
@pytest.mark.parametrize("across", [by_hand, one_head])
def test_cross_attention_by_hand_is_judged_or_said_not_to_be(itself, across):
    for n_open in (3, 5):
        told = audit(Block(itself, across, n_open), causal)
        assert "Not judged: cross-attention" in told.sentence, str(told)
        report = audit(Block(itself, across, n_open), causal, scope=AuditScope(cross=first_three))
        wrong = report.check("cross_attention").verdict
        assert (report.verdict, wrong) == (("PASS", "PASS"), ("FAIL", "FAIL"))[n_open == 5]


transformers = pytest.importorskip("transformers")
SIZES = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2}


def pictures(seed, batch, length):
    return torch.randn(batch, 3, 16, 16, generator=torch.Generator().manual_seed(seed))


def swin():
    torch.manual_seed(0)
    sizes = {"image_size": 16, "patch_size": 2, "embed_dim": 16, "window_size": 4}
    config = transformers.SwinConfig(**sizes, depths=[2], num_heads=[2])
    return transformers.SwinModel(config).eval()


def vit():
    torch.manual_seed(0)
    config = transformers.ViTConfig(**SIZES, intermediate_size=64, image_size=16, patch_size=4)
    return transformers.ViTModel(config).eval()


def windows(shift):
    return lambda valid: allowed((8, 8), 4, shift).expand(len(valid), -1, -1)


@pytest.mark.parametrize("shift", [slow(0), 1, slow(2)])
def test_swin_s_minus_100_is_read_as_a_mask(shift):
    model = swin()
    report = vz.audit_mask(
        lambda x, passed: model(x).last_hidden_state,
        [windows(0), windows(shift)],
        inputs=AuditInputs(make=pictures, valid=torch.ones(3, 64, dtype=torch.bool)),
        module=model,
    )
    assert (report.verdict == "PASS") == (shift == 2), str(report)
    if shift != 2:
        cause = f"the windows are not shifted as meant: by 2, where {shift} was meant."
        assert report.failed[0].cause == cause


def test_a_picture_s_cls_is_a_token_before_its_patches():
    model = vit()
    run = lambda x, passed: model(x).last_hidden_state  # noqa: E731
    of = lambda n: AuditInputs(make=pictures, valid=torch.ones(3, n, dtype=torch.bool))  # noqa: E731
    assert vz.audit_mask(run, padding, inputs=of(17), module=model).verdict == "PASS"
    with pytest.raises(InputError, match=r"\[:, 1:\], .*AuditInputs\(valid=…\) of 17"):
        vz.audit_mask(run, padding, inputs=of(16), module=model)
    with pytest.raises(InputError, match=r"lengths=\[…\]\), or AuditInputs\(valid="):
        vz.audit_mask(run, padding, inputs=AuditInputs(make=pictures), module=model)
    with pytest.raises(InputError, match=r"lambda x, passed: model\(pixel_values=x\)"):
        vz.audit_mask(model, padding)
    whole = lambda batch: torch.ones(2, 17, 17, dtype=torch.bool)  # noqa: E731
    assert vz.audit_batch(model, {"pixel_values": pictures(0, 2, 17)}, whole).verdict == "PASS"


def test_what_runs_besides_attention_on_waveforms_is_said_not_to_be_judged():
    """A norm over the padded samples moves real tokens, and no map shows it (fairseq, 3227)."""
    torch.manual_seed(0)
    sizes = {"conv_dim": [16, 16], "conv_kernel": [4, 2], "conv_stride": [4, 2]}
    config = transformers.Wav2Vec2Config(
        **SIZES | sizes, intermediate_size=64, num_feat_extract_layers=2, mask_time_prob=0.0,
        num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    model = transformers.Wav2Vec2Model(config).eval()
    report = vz.audit_mask(
        lambda x, mask: model(x, attention_mask=mask).last_hidden_state,
        padding,
        lambda valid: valid.repeat_interleave(8, 1).long(),
        inputs=AuditInputs(
            make=lambda seed, batch, length: torch.randn(
                batch, 8 * length, generator=torch.Generator().manual_seed(seed)
            )
        ),
        module=model,
    )
    assert report.verdict == "PASS" and "nowhere else" not in report.sentence
    assert "norms and convolutions over padded inputs" in report.sentence
