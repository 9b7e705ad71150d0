"""CLIP and SigLIP as a person meets them: two parts in one folder, and texts with their padding."""

import json
from itertools import product

import pytest
import torch
from transformers import SiglipModel

import viz_encoder as vz
from tests.checkpoints.cases.clip import whole as clip
from tests.checkpoints.cases.siglip import text as siglip_text
from tests.checkpoints.cases.siglip import whole as siglip
from tests.checkpoints.faults import refuse
from tests.checkpoints.parity import TOLERANCE, Case, Expected, save
from viz_encoder.checkpoints.recognize import family_of
from viz_encoder.errors import CheckpointError

WHOLE = {"clip": clip, "siglip": siglip(SiglipModel)}


def write(folder, model, kind="text"):
    return save(Case("", "", model, lambda *_: Expected((), ()), kind=kind), folder)


@pytest.mark.parametrize("name", WHOLE)
def test_each_part_reads_its_own_tensors_alone(tmp_path, name):
    write(tmp_path, WHOLE[name])
    text, vision = (vz.checkpoints.plan(tmp_path, part=part) for part in ("text", "vision"))
    assert not set(text.needed) & set(vision.needed)
    assert all(not key.startswith("vision") for key in text.needed)
    assert vz.load(tmp_path, device="cpu").kind == "image"  # where no part is asked for
    assert vz.load(tmp_path, device="cpu", part="text").kind == "text"
    assert "must be 'text' or 'vision'" in refuse(tmp_path, part="audio")


def test_a_whole_config_without_its_part():
    for name, part, half in product(WHOLE, ("text", "vision"), (..., None, [], "x", 5)):
        file = {"model_type": name} | ({} if half is ... else {f"{part}_config": half})
        with pytest.raises(CheckpointError, match=f"config.json has no {part}_config"):
            family_of(file, part)


@pytest.mark.parametrize("pad_token", [None, "w9"])
def test_siglip_reads_a_text_as_the_reference_does(tmp_path, pad_token):
    """Padded to the full length without a mask, and pooled at the last token of padding."""
    reference = write(tmp_path, siglip_text())
    if pad_token:
        said = {"pad_token": {"content": pad_token}}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(said))
    encoder = vz.load(tmp_path, device="cpu")
    pad_id = encoder.reader.tokenizer.token_to_id(pad_token) if pad_token else 1
    for words in ("w1 w2 w3", "w7", " ".join(["w4"] * 40)):
        inputs = encoder.read(words)
        ids = encoder.reader.tokenizer.encode(words).ids[:19]
        assert inputs.values.tolist() == [ids + [pad_id] * (19 - len(ids))]
        with torch.inference_mode():
            expected = reference(inputs.values)
            trace = vz.capture(encoder, inputs)[0]
            got = encoder.model.heads["pool"](trace.output[None])[0]
        near(trace.output, expected.last_hidden_state[0])
        near(got, expected.pooler_output[0])


def near(ours, theirs):
    assert float((ours - theirs).abs().max() / theirs.abs().max()) <= TOLERANCE


def test_clip_pools_each_text_of_a_batch_at_its_own_end(tmp_path):
    """The head on its own finds the last valid token, as the reference its end-of-text token."""
    reference = write(tmp_path, clip)
    encoder = vz.load(tmp_path, device="cpu", part="text")
    texts = [r"w1 w2 w3 \[SEP]", r"w7 \[SEP]", r"\[SEP]"]  # a word, though it pads this model, too
    traces = vz.capture(encoder, texts)
    for text, trace in zip(texts, traces, strict=True):
        ids = torch.tensor([encoder.reader.tokenizer.encode(text.replace("\\", "")).ids])
        with torch.inference_mode():
            expected = reference.get_text_features(ids).pooler_output[0]
            got = encoder.model.heads["pool"](trace.output[None], trace.valid[None])[0]
        near(got, expected)
