"""Every family of the table against transformers, and each wrong setting of it is seen."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertModel

import viz_encoder as vz
from tests.checkpoints.cases import CASES, FIRST, KINDS
from tests.checkpoints.cases.bert import build, run
from tests.checkpoints.parity import (
    TOLERANCE,
    WORDS,
    Case,
    builder,
    change_config,
    compare,
    keep_only,
    save,
)
from tests.checkpoints.saved import NAMED, saved
from tests.checkpoints.table import NONE
from tests.slow import slow, slow_but
from viz_encoder.analyses.predictions import predictions
from viz_encoder.checkpoints import BUILTIN
from viz_encoder.checkpoints.families import FAMILIES
from viz_encoder.config import HeadPool
from viz_encoder.errors import CheckpointError, InputError
from viz_encoder.trace.prediction_heads import choose_head, tasks

SENTENCES = [
    "The animal didn't cross the street because it was too tired",
    ("The bank approved the loan.", "They sat on the bank of the river, watching the boats go by."),
    "x",
]
OF_TRANSFORMERS = [case.name for case in CASES if case.save is None]
WRONG = [
    (slow if case.name not in KINDS else pytest.param)(case.name, key)
    for case in CASES
    for key in case.wrong
]


@pytest.mark.parity
@pytest.mark.parametrize("name", slow_but({*FIRST.values(), *KINDS}, NAMED))
def test_it_equals_the_reference(name):
    found = saved(name)
    apart = compare(found.encoder, found.asked)
    assert apart.worst <= TOLERANCE * found.case.loose, apart


@pytest.mark.parametrize("name", slow_but(KINDS, NAMED))
def test_a_score_splits_exactly(name):
    """Over tokens and biases, which are random here, so that each that is forgotten shows."""
    found = saved(name)
    encoder = found.encoder
    biased = any(name.endswith("bias") for name, _ in encoder.model.layers.named_parameters())
    asks = [{"of": "state", "token": 0}, {"of": "pooled"}]
    if known := tasks(encoder):
        each = choose_head(encoder, known[0]).pool is HeadPool.EACH
        asks.append({"of": "answer", "token": 0 if each else None})
    for question in asks:
        for one in vz.attribute(encoder, found.asked[-1].inputs, **question):
            assert one.unexplained <= 1e-5
            assert (abs(one.biases) > 1e-4 * abs(one.tokens).sum()) or not biased


@pytest.mark.parity
@pytest.mark.parametrize("name", slow_but(["BERT", "DINOv3"], OF_TRANSFORMERS))
def test_settings_that_config_json_leaves_out(tmp_path, name):
    found = saved(name)
    folder = found.copy(tmp_path)
    before = json.loads((folder / "config.json").read_text())
    keep_only(folder, type(found.reference.config)().to_dict())
    assert len(json.loads((folder / "config.json").read_text())) < len(before)
    apart = compare(found.load(folder), found.asked)
    assert apart.worst <= TOLERANCE * found.case.loose, apart


@pytest.mark.parity
@pytest.mark.parametrize(("name", "key"), WRONG)
def test_a_wrong_setting_is_seen(tmp_path, name, key):
    """Each axis counts: loaded with one wrong, the checkpoint is refused or the numbers differ."""
    found, case = saved(name), NAMED[name]
    folder = found.copy(tmp_path)
    change_config(folder, {key: case.wrong[key]}, case.part)
    try:
        apart = compare(found.load(folder), found.asked)
    except (CheckpointError, AssertionError):  # refused, or other shapes than the reference's
        return
    assert apart.worst > 3 * TOLERANCE * case.loose, apart


def test_every_family_has_a_case():
    assert {case.model_type for case in CASES} >= set(FAMILIES) - {"viz_encoder"}


def test_the_table_in_the_docs_has_every_case():
    text = (Path(__file__).parents[2] / "docs" / "families.md").read_text()
    listed = re.findall(r"^\| (.+?) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|$", text, re.MULTILINE)
    rows = [row for row in listed if row[0] != "checkpoint"]
    assert [row[:2] for row in rows] == [(case.name, case.model_type) for case in CASES]
    figures = [figure for row in rows for figure in row[2:] if figure != NONE]
    assert max(map(float, figures)) <= TOLERANCE
    assert f"seen: {len(WRONG)} of {len(WRONG)}" in text


def test_norms_by_their_old_names(tmp_path):
    found = saved("BERT")
    path = found.copy(tmp_path) / "model.safetensors"
    tensors = {
        name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): tensor
        for name, tensor in load_file(path).items()
    }
    assert any("gamma" in name for name in tensors)
    save_file(tensors, path)
    assert compare(found.load(tmp_path), found.asked).worst <= TOLERANCE


def test_minilm_in_float64_padding_queries_included():
    """Rows of padding queries amplify float32 rounding, so they are held in float64."""
    folder = BUILTIN["all-MiniLM-L6-v2"].folder()
    settings = {"attn_implementation": "eager", "dtype": torch.float64}
    reference = BertModel.from_pretrained(folder, **settings).eval()
    encoder = vz.load("all-MiniLM-L6-v2", device="cpu", dtype=torch.float64)
    inputs = encoder.read(SENTENCES)
    with torch.no_grad():
        expected = run()(reference, inputs)
    for b, trace in enumerate(vz.capture(encoder, inputs)):
        for layer in range(trace.n_layers):
            maps = (trace.attention(layer) - expected.maps[layer][b]).abs().max()
            assert float(maps) <= 1e-10
        for layer, state in enumerate(expected.hidden):
            assert float((trace.hidden(layer) - state[b]).abs().max()) <= 1e-10


ROBERTA = {"max_position_embeddings": 21, "pad_token_id": 1, "type_vocab_size": 1}
roberta = builder("Roberta", **ROBERTA)


def written(folder, model):
    """A model of one's own as a folder: the reference, the encoder, and its run of three words."""
    reference = save(Case("x", "x", model, run(), pad_id=1), folder)
    encoder = vz.load(folder, device="cpu")
    trace = vz.capture(encoder, "w3 w4 w5")
    with torch.no_grad():
        logits = reference(torch.tensor([[WORDS.index(token) for token in trace.tokens]])).logits
    return encoder, trace, logits[0]


@pytest.mark.parametrize("kind", [build, roberta])
def test_a_decoder_of_its_own_with_its_own_bias(tmp_path, kind):
    encoder, trace, want = written(tmp_path, kind("ForMaskedLM", tie_word_embeddings=False))
    biases = [t for n, t in load_file(tmp_path / "model.safetensors").items() if n.endswith("bias")]
    of_words = [t for t in biases if len(t) == len(WORDS)]
    assert len(of_words) == 2 and not torch.equal(*of_words)
    with torch.inference_mode():
        got = encoder.model.heads["masked"](trace.output[None])[0]
    assert float((got - want).abs().max() / want.abs().max()) <= TOLERANCE


def test_outputs_that_are_scores_are_not_called_probabilities(tmp_path):
    made = build("ForSequenceClassification", num_labels=3, problem_type="regression")
    encoder, trace, scores = written(tmp_path, made)
    (guess,) = predictions(encoder, trace)
    expected = scores.sort(descending=True).values
    assert guess.unit == "score" and np.allclose(guess.shares, expected, atol=1e-5)


def test_typed_padding_is_refused_where_it_would_shift_positions(tmp_path):
    encoder, _, _ = written(tmp_path, roberta("ForMaskedLM"))
    with pytest.raises(InputError, match="which has no position"):
        vz.capture(encoder, f"w1 {WORDS[1]} w2")
