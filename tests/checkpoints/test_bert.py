"""all-MiniLM-L6-v2 against transformers' BertModel, and BERT's older names of norms."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertModel

import viz_encoder as vz
from tests.checkpoints.cases.bert import CASES, run
from tests.checkpoints.parity import TOLERANCE, ask, compare, save
from viz_encoder.checkpoints import BUILTIN


def test_old_norm_names(tmp_path):
    bert = CASES[0]
    reference = save(bert, tmp_path)
    path = tmp_path / "model.safetensors"
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    tensors = {_replaced(name, old): tensor for name, tensor in load_file(path).items()}
    assert any("gamma" in name for name in tensors)
    save_file(tensors, path)
    encoder = vz.load(tmp_path, device="cpu")
    assert compare(encoder, ask(bert, encoder, reference)).worst <= TOLERANCE


SENTENCES = [
    "The animal didn't cross the street because it was too tired",
    ("The bank approved the loan.", "They sat on the bank of the river, watching the boats go by."),
    "x",
]


@pytest.fixture(scope="module")
def reference_minilm():
    folder = BUILTIN["all-MiniLM-L6-v2"].folder()
    return BertModel.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32
    ).eval()


def test_minilm_in_float64_padding_queries_included(reference_minilm):
    """Rows of padding queries amplify float32 rounding, so they are held in float64."""
    encoder = vz.load("all-MiniLM-L6-v2", device="cpu", dtype=torch.float64)
    inputs = encoder.read(SENTENCES)
    reference = reference_minilm.double()
    with torch.no_grad():
        expected = run()(reference, inputs)
    reference.float()
    for b, trace in enumerate(vz.capture(encoder, inputs)):
        for layer in range(trace.n_layers):
            maps = (trace.attention(layer) - expected.maps[layer][b]).abs().max()
            assert float(maps) <= 1e-10
        for layer, state in enumerate(expected.hidden):
            assert float((trace.hidden(layer) - state[b]).abs().max()) <= 1e-10


def _replaced(name: str, table: dict[str, str]) -> str:
    for old, new in table.items():
        name = name.replace(old, new)
    return name
