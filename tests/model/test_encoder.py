"""The encoder's own axes and doors: positions, masks that do not fit, ids that are not there."""

import math

import pytest
import torch

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder.checkpoints import LoadedEncoder, ModelCard
from viz_encoder.errors import InputError, TooLong
from viz_encoder.model import Encoder
from viz_encoder.model.positions import sinusoidal

AXES = {"n_layers": 2, "n_heads": 2, "d_model": 8, "d_ff": 12, "vocab_size": 9, "max_positions": 6}
IDS = torch.tensor([[1, 2, 3]])


def make(**axes) -> LoadedEncoder:
    torch.manual_seed(0)
    config = vz.EncoderConfig(**{**AXES, **axes})
    return LoadedEncoder(Encoder(config).eval(), None, ModelCard("tiny", "made here"))


@pytest.mark.parametrize("d_model", [6, 7])
def test_sinusoidal_positions_are_the_papers(d_model):
    table = sinusoidal(5, d_model)
    for position in range(5):
        for i in range(d_model):
            turn = position / 10_000 ** (2 * (i // 2) / d_model)
            expected = math.cos(turn) if i % 2 else math.sin(turn)
            assert math.isclose(float(table[position, i]), expected, abs_tol=1e-6)


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "none"])
def test_only_positions_tell_order(positions):
    """Without them a permuted input gives the permuted output; with them it does not."""
    encoder = make(positions=positions)
    with torch.no_grad():
        if positions == "learned":
            torch.nn.init.normal_(encoder.model.embed.position)
        forward, back = encoder.model(IDS).output, encoder.model(IDS.flip(1)).output.flip(1)
    same = bool(torch.allclose(forward, back, atol=1e-5))
    assert same == (positions == "none")


def test_sinusoidal_and_no_positions_know_no_longest_input():
    long = torch.ones(1, 40, dtype=torch.long)
    for positions in ("sinusoidal", "none"):
        assert vz.capture(make(positions=positions), long).n_tokens == 40
    with pytest.raises(TooLong, match="has 40 tokens; this model has positions for 6"):
        vz.capture(make(), long)


def test_embeddings_without_any_norm_are_the_sum_of_the_tables():
    encoder = make(embed_norm=False)
    with torch.no_grad():
        torch.nn.init.normal_(encoder.model.embed.position)
    tables = encoder.model.state_dict()
    expected = (
        tables["embed.tokens.word.weight"][IDS[0]]
        + tables["embed.tokens.segment.weight"][0]
        + tables["embed.position"][:3]
    )
    assert torch.equal(vz.capture(encoder, IDS).hidden(0), expected)


def test_a_mask_is_taken_if_it_fits():
    every = vz.capture(make(), IDS, mask=torch.ones(3, 3, dtype=torch.bool)).output
    for shape in ((3, 1), (1, 3, 3), (1, 2, 3, 3), (1, 1, 1, 3)):
        mask = torch.ones(shape, dtype=torch.bool)
        assert torch.equal(vz.capture(make(), IDS, mask=mask).output, every)
    for shape in ((2, 2), (3, 2), (2, 3, 3), (1, 3, 3, 3), (1, 2, 4, 3), (1, 1, 3, 4)):
        mask = torch.ones(shape, dtype=torch.bool)
        says = r"this run's are \(1, 2, 3, 3\)"
        refused(InputError, says, vz.capture, make(), IDS, mask=mask)
    for mask in (torch.ones(1, 3, 3), torch.ones(3, 3), torch.ones(3, 3).long()):
        refused(InputError, r"must be torch\.bool", vz.capture, make(), IDS, mask=mask)


def test_a_window_wider_than_any_input_is_no_window():
    wide = vz.capture(make(window=10**12), IDS)
    assert torch.allclose(wide.output, vz.capture(make(), IDS).output, atol=1e-6)


VECTOR = {"embedding": "vector", "positions": "none"}
PATCH = {"embedding": "patch", "image_size": (8, 8), "patch_size": 4}


@pytest.mark.parametrize(
    ("axes", "values", "says"),
    [
        ({}, torch.rand(1, 3), "whole numbers"),
        ({}, torch.ones(1, 3, dtype=torch.bool), "whole numbers"),
        ({}, torch.ones(1, 3, dtype=torch.complex64), "whole numbers"),
        ({}, torch.zeros(1, 0, dtype=torch.long), "none of them 0"),
        ({}, torch.zeros(0, 3, dtype=torch.long), "none of them 0"),
        ({}, torch.tensor(3), r"\(batch, token\)"),
        ({}, torch.zeros(1, 2, 3, dtype=torch.long), r"\(batch, token\)"),
        ({}, torch.tensor([[9]]), r"Token id 9 is out of range: this model has 9 .*\(0 to 8\)"),
        ({}, torch.tensor([[-1, 2]]), "Token id -1 is out of range"),
        (VECTOR, torch.rand(1, 3, 7), r"\(batch, token, 8\)"),
        (VECTOR, torch.rand(8), r"\(batch, token, 8\)"),
        (VECTOR, torch.rand(3, 7), r"\(batch, token, 8\)"),
        (VECTOR, torch.rand(1, 0, 8), "none of them 0"),
        (VECTOR, torch.ones(1, 3, 8).long(), "floating point"),
        (VECTOR, torch.full((1, 3, 8), torch.nan), "NaN or infinite"),
        (PATCH, torch.rand(1, 1, 8, 8), "3 channels"),
        (PATCH, torch.rand(8, 8), "3 channels"),
        (PATCH, torch.rand(1, 3, 0, 8), "none of them 0"),
        (PATCH, torch.rand(1, 3, 9, 8), "multiples of 4"),
        (PATCH, torch.ones(1, 3, 8, 8, dtype=torch.uint8), "floating point"),
    ],
)
def test_tensors_that_this_encoder_cannot_take(axes, values, says):
    with pytest.raises(InputError, match=says) as fault:
        vz.capture(make(**axes), values)
    assert str(fault.value).endswith(".")


def test_narrow_whole_numbers_are_ids_too():
    expected = vz.capture(make(), IDS).output
    for kind in (torch.int32, torch.int8, torch.uint8):
        assert torch.equal(vz.capture(make(), IDS.to(kind)).output, expected)
