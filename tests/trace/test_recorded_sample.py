"""Who the tokens of a recorded run are: named by a tokenizer, laid on a picture, by sequence."""

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import BertConfig, BertModel, ViTConfig, ViTModel

import viz_encoder as vz
from viz_encoder.errors import TraceError
from viz_encoder.inputs import Grid

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
PIXELS = np.random.default_rng(0).integers(0, 255, (24, 48, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def seen():
    """A picture of 3 × 6 patches after [CLS], twice in a batch."""
    config = ViTConfig(**SMALL, intermediate_size=64, image_size=(24, 48), patch_size=8)
    model = ViTModel(config).eval()
    pixels = torch.tensor(PIXELS).permute(2, 0, 1)[None].float() / 255
    with vz.record(model) as recording, torch.no_grad():
        model(pixel_values=torch.cat([pixels, 1 - pixels]))
    return recording


def test_patches_lie_as_the_pixels_were_cut_and_an_overlay_draws_them(seen):
    trace = seen.trace(image=Image.fromarray(PIXELS), sample=0)
    assert (trace.grid, trace.n_tokens) == (Grid(3, 6, 1), 19)
    assert (trace.tokens[0], trace.tokens[-1]) == ("[CLS]", "r2c5")
    assert np.array_equal(trace.sample.picture, PIXELS) and trace.sample.special[:2] == (
        True,
        False,
    )
    figure = vz.figures.patch_overlay(trace, layer=1, head=2, query="[CLS]")
    shown = np.asarray(figure.data[-1].z, dtype=float)
    weights = trace.attention(1, 2)[0, 1:].reshape(3, 6).numpy()
    assert shown.shape == (3, 6)
    np.testing.assert_allclose(shown / shown.max(), weights / weights.max(), atol=1e-5)


def test_a_grid_is_checked_at_once(seen):
    assert seen.trace(grid=(3, 6)).grid == Grid(3, 6, 1)
    for wrong in ((5, 5), (0, 19), (3, 3), Grid(3, 6, 2)):
        with pytest.raises(TraceError, match="does not fit 19 tokens"):
            seen.trace(grid=wrong)


def test_a_batch_is_said_to_be_one_and_gives_each_sequence(seen):
    assert seen.trace().notes[-1].startswith("This is the first of 2 sequences")
    assert "sequences" not in " ".join(seen.trace(sample=1).notes)
    first, second = seen.traces(images=[PIXELS, PIXELS])
    assert torch.equal(second.attention(1, 2), seen.trace(sample=1).attention(1, 2))
    assert not torch.equal(first.attention(1, 2), second.attention(1, 2))
    with pytest.raises(TraceError, match="1 images for 2 sequences"):
        seen.traces(images=[PIXELS])


def test_a_tokenizer_names_the_ids_that_ran(grammar):
    model = BertModel(BertConfig(**SMALL, intermediate_size=64, vocab_size=500)).eval()
    inputs = grammar.read("the keys to the cabinet [MASK] old")
    mask = torch.ones_like(inputs.values)
    with vz.record(model) as recording:
        model(attention_mask=mask, token_type_ids=0 * mask, input_ids=inputs.values)
    tokenizer = grammar.reader.tokenizer
    trace = recording.trace(tokenizer=tokenizer)
    assert trace.tokens == inputs.samples[0].tokens
    assert trace.sample.special == inputs.samples[0].special
    with pytest.raises(TraceError, match="not both"):
        recording.trace(tokenizer=tokenizer, tokens=list("abcdefghi"))
    with pytest.raises(TraceError, match="tokenizer is str"):
        recording.trace(tokenizer="bert")


def test_what_cannot_be_told_is_asked_for(grammar):
    layer = torch.nn.TransformerEncoderLayer(32, 4, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2).eval()
    with vz.record(model) as recording:
        model(torch.randn(1, 19, 32))
    with pytest.raises(TraceError, match=r"grid=\(rows, columns\)"):
        recording.trace(image=PIXELS)
    assert recording.trace(image=PIXELS, grid=(3, 6)).tokens[1] == "r0c0"
    with pytest.raises(TraceError, match="not called with ids of 19 tokens"):
        recording.trace(tokenizer=grammar.reader.tokenizer)
