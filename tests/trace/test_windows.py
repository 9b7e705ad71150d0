"""Swin's windows put together into whole maps, against the model's own maps, place by place."""

import numpy as np
import pytest
import torch
from torch import nn
from transformers import SwinConfig, SwinModel, Swinv2Config, Swinv2Model

import viz_encoder as vz
from viz_encoder.trace.windows import cut_of

SIDES = {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4]}


def recorded(model, pixels):
    with torch.no_grad(), vz.record(model) as recording:
        model(pixels)
    return recording


def put_together(windows, side, size, shift):
    """Weights of "window head place place" at the pair of patches that each place is."""
    n_tokens = side * side
    found = torch.zeros(windows.shape[1], n_tokens, n_tokens)
    for window, maps in enumerate(windows):
        top, left = window // (side // size) * size, window % (side // size) * size
        places = [(top + at // size + shift, left + at % size + shift) for at in range(size**2)]
        for one, (row, column) in enumerate(places):
            for two, (high, wide) in enumerate(places):
                i, j = (r % side * side + c % side for r, c in ((row, column), (high, wide)))
                found[:, i, j] = maps[:, one, two]
    return found


@pytest.mark.parametrize(("kind", "of"), [(SwinModel, SwinConfig), (Swinv2Model, Swinv2Config)])
def test_shifted_and_other_windows_are_whole_maps_of_the_picture(kind, of):
    torch.manual_seed(0)
    model, pixels = kind(of(window_size=4, **SIDES)).eval(), torch.randn(2, 3, 32, 32)
    for name, weights in model.named_parameters():
        if "relative_position_bias_table" in name:  # zeros in a new model
            torch.nn.init.normal_(weights)
    recording = recorded(model, pixels)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        eager = model(pixels, output_attentions=True)
    for stage, side in ((0, 16), (1, 8)):
        picture = np.zeros((32, 32, 3), np.uint8)
        trace = recording.trace(within=f"encoder.layers.{stage}", sample=1, image=picture)
        assert (trace.grid.n_rows, trace.grid.n_cols, trace.n_tokens) == (side, side, side**2)
        for layer, shift in ((0, 0), (1, 2)):
            # It gives the last layer of each stage alone, which is shifted.
            ran = trace.attention(layer)
            assert torch.allclose(ran.sum(-1), torch.ones(()), atol=1e-6)
            if layer == 1:
                own = eager.attentions[stage].unflatten(0, (2, -1))[1]
                assert torch.allclose(ran, put_together(own, side, 4, shift), atol=2e-6)
        assert trace.proof.passed
    with pytest.raises(vz.VizEncoderError, match=r"within='encoder\.layers\.0'.* 256 × 256"):
        recording.trace()


def test_a_patch_stands_at_its_own_place():
    torch.manual_seed(0)
    model, pixels = SwinModel(SwinConfig(window_size=4, **SIDES)).eval(), torch.zeros(1, 3, 32, 32)
    other = pixels.clone()
    other[..., 6:8, 20:22] = 1  # row 3, column 10
    before, after = (
        recorded(model, each).trace(within="encoder.layers.0") for each in (pixels, other)
    )
    changed = (before.layers[0].v != after.layers[0].v).any(dim=(0, 2))
    assert changed.nonzero().tolist() == [[3 * 16 + 10]]
    assert before.hidden(2).shape == (256, 16)


def test_padded_windows_stay_windows_and_it_says_so():
    torch.manual_seed(0)
    model = SwinModel(SwinConfig(window_size=5, **SIDES)).eval()
    trace = recorded(model, torch.randn(1, 3, 32, 32)).trace(within="encoder.layers.0")
    assert trace.n_tokens == 25 and "a window of 5 × 5 patches" in " ".join(trace.notes)


def test_a_block_may_compute_how_it_cuts():
    class Block(nn.Module):
        window_size, shift_size = property(lambda block: 4), property(lambda block: 2)

    assert cut_of(Block()) == ((4, 4), (2, 2)) and cut_of(nn.Module()) is None
