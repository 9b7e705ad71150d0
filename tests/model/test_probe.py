"""The pooler's learned query: its vector and its weights against transformers and torch."""

import json

import pytest
import torch
from safetensors.torch import save_file
from transformers import Siglip2VisionConfig
from transformers.models.siglip2.modeling_siglip2 import Siglip2MultiheadAttentionPoolingHead

import viz_encoder as vz
from tests.checkpoints.cases.siglip import VISION, vision
from tests.checkpoints.parity import TOLERANCE, Case, save
from viz_encoder.analyses.pooled import pooled
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.model import Encoder, pool
from viz_encoder.model.pooling import head_shares

PIXELS = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(2))


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """SigLIP's picture model by transformers, and the same files loaded by us."""
    folder = tmp_path_factory.mktemp("siglip")
    reference = save(Case("x", "siglip_vision_model", vision(), None, kind="image"), folder)
    return reference, vz.load(folder, device="cpu")


def hidden_states(reference):
    """After each layer through the final norm, as the head would read them; the output last."""
    with torch.no_grad():
        out = reference(PIXELS, output_hidden_states=True)
        inner = out.hidden_states[: VISION["num_hidden_layers"]]
        return [*(reference.post_layernorm(state) for state in inner), out.last_hidden_state]


def torchs_weights(reference, hidden, valid=None):
    """nn.MultiheadAttention's own, of each head."""
    head = reference.head
    with torch.no_grad():
        _, weights = head.attention(
            head.probe.expand(len(hidden), 1, -1), hidden, hidden, average_attn_weights=False,
            key_padding_mask=None if valid is None else ~valid,
        )  # fmt: skip
    return weights[:, :, 0]


def apart(got, want):
    assert got.shape == want.shape
    return float((torch.as_tensor(got) - want).abs().max() / want.abs().max())


def test_the_weights_of_every_layer_and_head(both):
    reference, encoder = both
    states = hidden_states(reference)
    for number, trace in enumerate(vz.capture(encoder, encoder.read(PIXELS))):
        found = pooled(encoder, trace, methods=["pooler", "mean"])
        assert found.pooler_weights.shape == (len(states), 4, 16)
        for layer, hidden in enumerate(states):
            wanted = torchs_weights(reference, hidden)[number]
            assert wanted.std() > 0.01  # uneven, so that a mix-up would show
            assert apart(found.pooler_weights[layer], wanted) <= TOLERANCE
            with torch.no_grad():
                vector = reference.head(hidden)[number]
            assert apart(found.vectors["pooler"][layer], vector) <= TOLERANCE
        assert "pooler" not in found.shares


@pytest.mark.parametrize("left", [False, True])
def test_padding_is_not_looked_at(both, left):
    """Against SigLIP 2's head, which takes a mask; its tensors are SigLIP's."""
    reference, encoder = both
    theirs = Siglip2MultiheadAttentionPoolingHead(
        Siglip2VisionConfig(**{k: v for k, v in VISION.items() if k != "image_size"})
    ).eval()
    theirs.config._attn_implementation = "eager"
    theirs.load_state_dict(reference.head.state_dict())
    hidden = torch.randn(3, 9, 24, generator=torch.Generator().manual_seed(4)) * 2
    valid = torch.arange(9) < torch.tensor([9, 5, 1])[:, None]
    valid = valid.flip(1) if left else valid
    with torch.no_grad():
        vectors = theirs(hidden, attention_mask=valid.long())
    weights = torchs_weights(reference, hidden, valid)
    rubbish = torch.where(valid[..., None], hidden, torch.nan)
    head = encoder.model.heads["pool"]
    with torch.inference_mode():
        assert apart(pool(rubbish, valid, "pooler", head=head), vectors) <= TOLERANCE
        shares = head_shares(rubbish, valid, head)
        one = head_shares(rubbish[1], valid[1], head)
    assert apart(shares, weights) <= TOLERANCE
    assert torch.allclose(one, shares[1], atol=1e-6)
    assert (shares.sum(dim=1)[~valid] == 0).all()
    assert torch.allclose(shares.sum(dim=-1), torch.ones(3, 4), atol=1e-6)


def test_only_a_learned_query_has_weights(minilm, both):
    trace = vz.capture(minilm, "The bank approved the loan")
    assert pooled(minilm, trace).pooler_weights is None
    with pytest.raises(SelectionError, match="no learned query"):
        head_shares(trace.output, trace.valid, None)
    head = both[1].model.heads["pool"]
    with pytest.raises(InputError, match="all padding"):
        head_shares(torch.zeros(3, 24), torch.zeros(3, dtype=torch.bool), head)


def test_our_own_files_may_hold_one(tmp_path):
    axes = {"n_layers": 1, "n_heads": 2, "d_model": 8, "d_ff": 12, "embedding": "vector",
            "gated": True, "prediction_heads": [{"task": "pool", "pool": "probe"}]}  # fmt: skip
    model = Encoder(vz.EncoderConfig(**axes)).eval()
    torch.nn.init.normal_(model.heads["pool"].probe.query)
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    said = json.dumps({"model_type": "viz_encoder", "encoder": axes})
    (tmp_path / "config.json").write_text(said)
    again = vz.load(tmp_path, device="cpu").model
    hidden = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(6))
    with torch.inference_mode():
        assert torch.equal(again.heads["pool"](hidden), model.heads["pool"](hidden))
