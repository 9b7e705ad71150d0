"""Saved attributions come back whole, and a file that anyone may have written is checked."""

import json

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import viz_encoder as vz
from tests.attribution.test_attribute import TEXT, TWIN
from tests.refusals import refused
from viz_encoder.errors import TraceError


@pytest.fixture(scope="module", params=["one run", "two runs", "AttnLRP"])
def found(request, minilm):
    ask = {
        "one run": {},
        "two runs": {"against": TWIN.replace(" too", "")},
        "AttnLRP": {"through": "attention"},
    }[request.param]
    return vz.attribute(minilm, TEXT, token="it", **ask)


@pytest.fixture
def path(found, tmp_path):
    found.save(tmp_path / "found.safetensors")
    return tmp_path / "found.safetensors"


def test_it_comes_back_as_it_was(found, path):
    back = vz.Attribution.load(path)
    for name in ("tokens", "states", "heads"):
        assert np.array_equal(getattr(back, name), getattr(found, name))
    for name in ("score", "biases", "unexplained", "names", "words", "unit", "through", "sentence"):
        assert getattr(back, name) == getattr(found, name)
    assert len(back.parts) == len(found.parts)
    assert torch.equal(back.trace.attention(5), found.trace.attention(5))
    if found.through == "values":
        assert np.array_equal(back.links(5, 11), found.links(5, 11))
        assert back.strongest(3) == found.strongest(3)


def change(path, edit=lambda named: None, **facts):
    """Change the file as its owner could: without the digest, which older files lack."""
    with safe_open(str(path), "pt") as file:
        about = file.metadata()
    named = load_file(path)
    edit(named)
    content = {**json.loads(about["content"]), **facts}
    about = {**about, "content": json.dumps(content)}
    del about["sha256"]
    save_file(named, path, about)


FAULTS = {
    "a share changed": lambda p: change(p, lambda t: t["0.flow.states"][0].add_(1)),
    "another score": lambda p: change(p, score=99.0),
    "a score of text": lambda p: change(p, score="7"),
    "a score that is infinite": lambda p: change(p, score=float("inf")),
    "no runs": lambda p: change(p, runs=[]),
    "another rule": lambda p: change(p, through="magic"),
    "a name too few": lambda p: change(p, names=["a"]),
    "a tensor too many": lambda p: change(p, lambda t: t.update({"7.x": torch.zeros(1)})),
    "a part too many": lambda p: change(p, lambda t: t.update({"0.flow.x": torch.zeros(1)})),
    "no gradients": lambda p: change(p, lambda t: t.pop("0.flow.gradients.2")),
    "gradients of other heads": lambda p: change(
        p, lambda t: t.update({"0.flow.gradients.2": t["0.flow.gradients.2"][:3].clone()})
    ),
    "two tokens at one column": lambda p: change(p, lambda t: t["0.flow.columns"].zero_()),
    "a column below none": lambda p: change(p, lambda t: t["0.flow.columns"][:1].sub_(9)),
    "NaN": lambda p: change(p, lambda t: t["0.flow.before"].mul_(torch.nan)),
    "a query gone": lambda p: change(p, lambda t: t.pop("0.layers.2.q")),
}


def test_what_is_not_understood_is_refused(minilm, tmp_path):
    path, told = tmp_path / "found.safetensors", r"is damaged or was changed: .*; save it again"
    vz.attribute(minilm, "a cat", token=1).save(path)
    whole = path.read_bytes()
    for name, spoil in FAULTS.items():
        path.write_bytes(whole)
        spoil(path)
        with pytest.raises(TraceError, match=told):
            vz.Attribution.load(path)
            pytest.fail(f"{name} was read")


def test_a_run_is_no_attribution_and_a_part_of_another_version_is_said(minilm, tmp_path):
    path = tmp_path / "found.safetensors"
    vz.capture(minilm, "a cat").save(path)
    with pytest.raises(TraceError, match=r"no saved attribution; save one with found\.save"):
        vz.Attribution.load(path)
    with pytest.raises(TraceError, match=r"an attribution is written in .*name it x\.safet"):
        vz.attribute(minilm, "a cat").save(tmp_path / "x.pt")
    vz.attribute(minilm, "a cat").save(path)
    change(path, later=1)
    refused(TraceError, r"another version of viz_encoder.*'later'", vz.Attribution.load, path)
