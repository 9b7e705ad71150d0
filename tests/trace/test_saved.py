"""Saved traces: bit for bit the same after a journey, and damaged files are refused."""

import json
import math
import random
import re
from dataclasses import replace

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import viz_encoder as vz
from tests.ui.texts import PICTURES
from viz_encoder.bundled import asset
from viz_encoder.errors import TraceError

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


def change(path, tensors=None, **metadata):
    with safe_open(str(path), "pt") as file:
        about = dict(file.metadata())
    kept = load_file(path)
    (tensors or (lambda t: None))(kept)
    about.pop("sha256", None)  # as in files of older versions: each refusal stands by itself
    save_file(kept, path, {**about, **metadata})


def content(path, **facts):
    with safe_open(str(path), "pt") as file:
        return json.dumps({**json.loads(file.metadata()["content"]), **facts})


def put(name, value, cell=(0, 0)):
    """A change that puts one value into a tensor."""

    def change_file(path):
        change(path, lambda t: t[name].__setitem__(cell, value))

    return change_file


def recast(*names, dtype):
    """A change that casts some tensors."""

    def change_file(path):
        change(path, lambda t: t.update({name: t[name].to(dtype) for name in names}))

    return change_file


def reword(*place, value):
    """A change of one part of the description."""

    def change_file(path):
        about = json.loads(content(path))
        inner = about
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = value
        change(path, content=json.dumps(about).replace('"1e400"', "1e400"))

    return change_file


def picture(*shape, dtype=torch.uint8):
    """A change that adds a picture of that shape."""

    def change_file(path):
        change(path, lambda t: t.update(picture=torch.zeros(shape, dtype=dtype)))

    return change_file


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
    "a query too large to compute with": put("layers.0.q", 3e38),
    "scores too large to check": put("layers.0.q", 1e19),
    "a hidden state of integers": recast("hidden.3", dtype=torch.int32),
    "float8 queries, keys and values": recast(
        *("layers.0.q", "layers.0.k", "layers.0.v"), dtype=torch.float8_e4m3fn
    ),
    "a float8 signature": recast("layers.0.signature", dtype=torch.float8_e4m3fn),
    "only padding": lambda p: change(p, lambda t: t["valid"].zero_()),
    "a scale that is NaN": reword("layers", 0, "scale", value=math.nan),
    "a scale over what floats hold": reword("layers", 0, "scale", value="1e400"),
    "a scale of a thousand digits": reword("layers", 0, "scale", value=10**1000),
    "a scale of text": reword("layers", 0, "scale", value="1"),
    "a note that is a number": reword("notes", value=[1]),
    "notes that are text": reword("notes", value="note"),
    "a segment over what computers hold": reword("sample", "segments", value=[10**30] * 12),
    "a name that is a list": reword("layers", 1, "name", value=[]),
    "twins that are a list": reword("same", value={"layers.0.q": []}),
    "layers that are a number": reword("layers", value=3),
    "more hidden states than there are": reword("n_hidden", value=2**30),
    "a removed head that is not there": reword("removed", value=[[0, 99]]),
    "a removed head without a layer": reword("removed", value=[[1]]),
    "removed heads that are text": reword("removed", value="0.1"),
    "a picture without rows": picture(0, 4, 3),
    "a picture of four colors": picture(4, 4, 4),
    "a picture without columns": picture(4, 3),
    "a picture of floats": picture(4, 4, 3, dtype=torch.float32),
    "a picture wider than any screen": picture(1, 20_000, 3),
    "cut off": lambda p: p.write_bytes(p.read_bytes()[:-9]),
    "empty": lambda p: p.write_bytes(b""),
    "a picture file": lambda p: p.write_bytes(asset(PICTURES["a digit"]).read_bytes()),
    "gone": lambda p: p.unlink(),
}


def test_what_is_not_understood_is_refused(saved):
    whole = saved.read_bytes()
    for name, spoil in FAULTS.items():
        saved.write_bytes(whole)
        spoil(saved)
        try:
            vz.Trace.load(saved)
        except TraceError as fault:
            told = str(fault)
            assert told.endswith(".") and len(told) < 400, name
            odd = r"Error|object|\btype\b|NoneType|unhashable|'layers"
            assert not re.search(odd, told), (name, told)
        else:
            pytest.fail(f"{name} was read")


def test_a_bit_that_was_flipped_is_found_or_changes_nothing(saved, trace):
    whole = saved.read_bytes()
    for seed in range(12):
        content, place = bytearray(whole), random.Random(seed).randrange(8 * len(whole))
        content[place // 8] ^= 1 << place % 8
        saved.write_bytes(content)
        try:
            back = vz.Trace.load(saved)
        except TraceError:
            continue
        assert all(map(torch.equal, trace.hidden_states, back.hidden_states)), seed
        assert back.tokens == trace.tokens and back.notes == trace.notes, seed


def test_a_fact_that_was_changed_is_damage_even_where_it_reads_as_another_versions(saved):
    saved.write_bytes(saved.read_bytes().replace(b"n_hidden", b"o_hidden"))
    with pytest.raises(TraceError, match="its content is not what was saved"):
        vz.Trace.load(saved)


def test_a_run_saved_before_its_origin_had_a_revision_is_read(saved, trace):
    about = json.loads(content(saved))
    del about["origin"]["revision"], about["origin"]["kernel"]
    change(saved, content=json.dumps(about))
    back = vz.Trace.load(saved)
    assert back.origin.revision == "" and back.origin.model == trace.origin.model
    assert back.proof.passed


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda about: about["origin"].pop("model"), "its origin lacks model"),
        (lambda about: about["origin"].update(next=1), "unknown part 'next'"),
        (lambda about: about.pop("key_tokens"), "its description lacks key_tokens"),
    ],
)
def test_a_run_of_another_version_is_not_called_damaged(saved, edit, says):
    about = json.loads(content(saved))
    edit(about)
    change(saved, content=json.dumps(about))
    with pytest.raises(TraceError, match=f"another version of viz_encoder.*{says}") as told:
        vz.Trace.load(saved)
    assert "damaged" not in str(told.value)


def test_a_changed_query_no_longer_proves(saved):
    change(saved, lambda t: t["layers.2.q"][0, 1].mul_(1.5))
    proof = vz.Trace.load(saved).proof
    assert not proof.passed and proof.worst[:2] == (2, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("layers.2.q", torch.nan),
        ("layers.2.k", torch.inf),
        ("layers.2.v", torch.nan),
        ("layers.2.signature", torch.nan),
    ],
)
def test_a_run_that_went_wrong_comes_back_and_never_proves(saved, name, value):
    put(name, value)(saved)
    proof = vz.Trace.load(saved).proof
    assert not proof.passed and proof.checked
    assert "not numbers" in proof.sentence and "layer 2" in proof.sentence


def test_what_every_key_masked_does_is_said(tmp_path):
    """The classic bug: an inverted padding mask on a sequence without padding."""
    layer, x = torch.nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(1, 4, 8)
    with torch.no_grad(), vz.record(layer) as recording:
        layer(x, x, x, key_padding_mask=torch.ones(1, 4, dtype=torch.bool))
    trace = recording.trace()
    trace.save(tmp_path / "nan.safetensors")
    back = vz.Trace.load(tmp_path / "nan.safetensors")
    assert back.proof.sentence == trace.proof.sentence and not back.proof.passed
    assert "It begins in layer 0, head 0, query 0." in back.proof.sentence
    assert "every key is masked" in back.proof.sentence


def test_a_bias_may_forbid_by_minus_infinity(trace, tmp_path):
    bias = torch.zeros(1, 1, trace.n_tokens)
    bias[..., -1] = -torch.inf
    layers = tuple(replace(layer, bias=bias) for layer in trace.layers)
    replace(trace, layers=layers).save(tmp_path / "b.safetensors")
    assert vz.Trace.load(tmp_path / "b.safetensors").attention(0)[..., -1].eq(0).all()


@pytest.mark.parametrize("name", ["run.pt", "run.npz", "run.safetensor"])
def test_a_name_that_says_another_format_is_refused(trace, name, tmp_path):
    with pytest.raises(TraceError, match=r"a run is written in .*; name it run\.safetensors\.$"):
        trace.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_name_without_an_ending_is_kept(trace, tmp_path):
    for name in ("run", "RUN.SAFETENSORS"):
        trace.save(tmp_path / name)
        assert torch.equal(vz.Trace.load(tmp_path / name).output, trace.output)
