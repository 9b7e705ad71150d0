"""Saved traces: bit for bit the same after a journey, and damaged files are refused."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import viz_encoder as vz
from viz_encoder.bundled import asset
from viz_encoder.errors import TraceError
from viz_encoder.ui.run import PICTURES

TEXTS = ["The animal didn't cross the street.", "A short one"]


@pytest.fixture(scope="module")
def trace(minilm):
    """A padded run, so that all layers share one mask."""
    return vz.capture(minilm, TEXTS)[1]


def equal(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b) and a.dtype == b.dtype
    return a == b


@pytest.fixture
def saved(trace, tmp_path):
    path = tmp_path / "run.safetensors"
    trace.save(path)
    return path


def test_everything_comes_back(trace, saved):
    back = vz.Trace.load(saved)
    for layer, again in zip(trace.layers, back.layers, strict=True):
        for name, value in vars(layer).items():
            assert equal(value, getattr(again, name)), name
    assert all(map(torch.equal, trace.hidden_states, back.hidden_states))
    assert torch.equal(trace.output, back.output) and torch.equal(trace.valid, back.valid)
    assert vars(back.sample) == vars(trace.sample) and back.origin == trace.origin
    assert torch.allclose(back.attention(3, 5), trace.attention(3, 5), atol=1e-6)
    assert back.proof.passed


def test_a_shared_mask_is_written_once(trace, saved):
    names = set(load_file(saved))
    assert "layers.0.mask" in names and "layers.1.mask" not in names
    assert saved.stat().st_size < 1.1 * trace.nbytes


def test_a_picture_comes_back(tmp_path):
    picture = vz.capture(vz.load("scene", device="cpu"), asset(PICTURES["a wide scene"]))
    picture.save(tmp_path / "p.safetensors")
    back = vz.Trace.load(tmp_path / "p.safetensors")
    assert (back.sample.picture == picture.sample.picture).all() and back.grid == picture.grid


def test_recorded_models_come_back(tmp_path):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    with torch.no_grad(), vz.record(layer) as recording:
        layer(torch.randn(1, 5, 8))
    trace = recording.trace()
    trace = replace(trace, notes=("A note.",))
    trace.save(tmp_path / "r.safetensors")
    back = vz.Trace.load(tmp_path / "r.safetensors")
    assert torch.allclose(back.attention(0), trace.attention(0), atol=1e-6) and back.notes == (
        "A note.",
    )


def change(path, tensors=None, **metadata):
    with safe_open(str(path), "pt") as file:
        about = dict(file.metadata())
    kept = load_file(path)
    (tensors or (lambda t: None))(kept)
    save_file(kept, path, {**about, **metadata})


def content(path, **facts):
    with safe_open(str(path), "pt") as file:
        return json.dumps({**json.loads(file.metadata()["content"]), **facts})


FAULTS = {
    "another version": lambda p: change(p, version="2"),
    "another format": lambda p: change(p, format="something"),
    "no JSON": lambda p: change(p, content="{"),
    "a list": lambda p: change(p, content="[]"),
    "deep JSON": lambda p: change(p, content="[" * 100_000),
    "unknown origin field": lambda p: change(p, content=content(p, origin={"evil": 1})),
    "too few tokens": lambda p: change(
        p,
        content=content(p, sample={"tokens": ["a"], "special": [True], "spans": [], "grid": None}),
    ),
    "tokens that are no text": lambda p: change(
        p, content=content(p, sample={"tokens": [1], "special": [True], "spans": [], "grid": None})
    ),
    "an extra tensor": lambda p: change(p, lambda t: t.update(evil=torch.zeros(1))),
    "a missing tensor": lambda p: change(p, lambda t: t.pop("layers.2.q")),
    "a hidden state gone": lambda p: change(p, lambda t: t.pop("hidden.3")),
    "keys of another length": lambda p: change(
        p, lambda t: t.update({"layers.1.k": t["layers.1.k"][:, :-1].contiguous()})
    ),
    "heads that do not divide": lambda p: change(
        p,
        lambda t: t.update(
            {"layers.1.k": t["layers.1.k"][:5].clone(), "layers.1.v": t["layers.1.v"][:5].clone()}
        ),
    ),
    "a mask of floats": lambda p: change(
        p, lambda t: t.update({"layers.0.mask": t["layers.0.mask"].float()})
    ),
    "a mask of another shape": lambda p: change(
        p, lambda t: t.update({"layers.0.mask": torch.ones(1, 3, 3, dtype=torch.bool)})
    ),
    "no layers": lambda p: change(p, content=content(p, layers=[])),
    "cut off": lambda p: p.write_bytes(p.read_bytes()[:-9]),
    "empty": lambda p: p.write_bytes(b""),
    "a picture file": lambda p: p.write_bytes(asset(PICTURES["a digit"]).read_bytes()),
    "gone": lambda p: p.unlink(),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_not_understood_is_refused(saved, fault):
    FAULTS[fault](saved)
    with pytest.raises(TraceError) as told:
        vz.Trace.load(saved)
    assert str(told.value).endswith(".") and len(str(told.value)) < 400


def test_a_changed_query_no_longer_proves(saved):
    change(saved, lambda t: t["layers.2.q"][0, 1].mul_(1.5))
    proof = vz.Trace.load(saved).proof
    assert not proof.passed and proof.worst[:2] == (2, 0)


def test_where_it_cannot_be_written(trace, tmp_path):
    with pytest.raises(TraceError, match="cannot be written"):
        trace.save(tmp_path / "no" / "such" / "folder.safetensors")
    assert not list(tmp_path.iterdir())
