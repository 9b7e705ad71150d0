"""Models of pictures and of speech, called as docs/masks.md calls them, right and wrong."""

import pytest
import torch

import viz_encoder as vz
from tests.audit.plants import padding
from tests.audit.swin_cases import allowed
from tests.slow import slow
from viz_encoder.audit import AuditInputs
from viz_encoder.errors import InputError

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
