"""What vz.load does not load is told what it is, and what to call instead, before anything else."""

import re

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
from torch.nn.utils.prune import random_unstructured
from transformers import (
    BertConfig,
    BertModel,
    PreTrainedTokenizerFast,
    pipeline,
)

import viz_encoder as vz
from tests.checkpoints.test_in_memory import bert, refused
from tests.shape_checks import shapes_checked
from viz_encoder.errors import CheckpointError, KeyMismatch


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (5, "model is 5; it must be the name"),
        (None, "model is None; it must be"),
        (BertModel, "model is the class BertModel; it must be"),
        (BertConfig(), "model is of type BertConfig; it must be"),
    ],
)
def test_what_is_no_model_is_never_looked_for_as_a_folder(given, says):
    with shapes_checked(False):
        refused(given, CheckpointError, says)


def words() -> PreTrainedTokenizerFast:
    known = Tokenizer(WordLevel({"[UNK]": 0, "[PAD]": 1, "w": 2}, unk_token="[UNK]"))
    return PreTrainedTokenizerFast(
        tokenizer_object=known, unk_token="[UNK]", pad_token="[PAD]", model_max_length=8
    )


def test_a_pipeline_is_loaded_by_its_parts():
    whole = pipeline("feature-extraction", model=bert(), tokenizer=words())
    says = r"FeatureExtractionPipeline; it must be the model that it holds: (vz\.load\(.*\))\.$"
    with shapes_checked(False), pytest.raises(CheckpointError, match=says) as told:
        vz.load(whole)
    advice = re.search(says, str(told.value))[1]
    assert advice == "vz.load(pipeline.model, tokenizer=pipeline.tokenizer)"
    assert eval(advice, {"vz": vz, "pipeline": whole}).reader is not None
    assert vz.load(whole.model, whole.tokenizer).reader is not None  # in this order without names


@pytest.mark.parametrize("normed", [weight_norm, spectral_norm, random_unstructured])
def test_weights_that_are_made_as_the_model_runs_point_to_record(normed):
    model = bert()
    named = ("weight", 0.5) if normed is random_unstructured else ()
    normed(model.encoder.layer[0].attention.self.query, *named)
    refused(model, KeyMismatch, r"^The model holds .*attention\.self\.query.*vz\.record")
    with torch.no_grad(), vz.record(model.eval()) as recording:
        model(torch.tensor([[5, 6, 7]]))
    assert recording.trace().proof.passed
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 8, batch_first=True), 1).eval()
    normed(encoder.layers[0].linear1, *named)
    refused(
        encoder, CheckpointError, r"layers\.0\.linear1 is computed from other tensors.*vz\.record"
    )
