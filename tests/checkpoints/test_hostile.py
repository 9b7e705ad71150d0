"""Hostile and damaged model folders: each is refused in a plain sentence."""

import json
import os
import pickle
import struct
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, models

import viz_encoder as vz
from tests.checkpoints.faults import refuse, write, write_own
from viz_encoder.checkpoints import files
from viz_encoder.errors import (
    CheckpointError,
    InputError,
    KeyMismatch,
    UnknownFamily,
    UnsafeFile,
)

AXES = {"n_layers": 2, "n_heads": 2, "d_model": 8, "d_ff": 12, "vocab_size": 9, "max_positions": 6}
VECTORS = {**AXES, "embedding": "vector"}
PICTURES = {**AXES, "embedding": "patch", "image_size": [8, 8], "patch_size": 4}
WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tmp_path):
    """A sound folder of our own family, to be spoiled."""
    return write_own(tmp_path / "model", VECTORS)


def write_config(folder: Path, content: object) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "config.json").write_text(text)


def change_tensors(folder: Path, change) -> None:
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    write(tensors, folder / WEIGHTS)


def raw(header: bytes, data: bytes = b"", size: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if size is None else size) + header + data


def test_a_sound_folder_loads_and_its_half_precision_is_widened(folder):
    assert vz.load(folder, device="cpu").config.n_layers == 2
    change_tensors(folder, lambda t: t.update({k: v.half() for k, v in t.items()}))
    assert vz.load(folder, device="cpu").dtype == torch.float32


def test_tensors_that_do_not_fit_are_listed_together(folder):
    def change(tensors):
        del tensors["layers.1.attn.q.weight"]
        tensors["layers.0.attn.k.bias"] = torch.zeros(3)
        tensors["layers.2.attn.k.bias"] = torch.zeros(8)

    change_tensors(folder, change)
    said = refuse(folder, KeyMismatch)
    assert "missing: layers.1.attn.q.weight" in said
    assert "unexpected: layers.2.attn.k.bias" in said
    assert "layers.0.attn.k.bias is (3,), not (8,)" in said


def test_values_that_are_not_finite(folder):
    change_tensors(folder, lambda t: t["layers.0.ff.up.weight"].fill_(torch.inf))
    assert "layers.0.ff.up.weight" in refuse(folder)


HEADER = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
FOUR_BITS = HEADER.replace(b"F32", b"F4").replace(b"[1]", b"[8]")
TWICE = b"{%s,%s}" % (HEADER[1:-1], HEADER[1:-1])
EMPTY = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
MANY = json.dumps({f"t{i}": EMPTY for i in range(10_001)})
ENDLESS = HEADER.replace(b"[1]", b"[4611686018427387904,8]")
DAMAGED = {
    "safetensors": [b"", pickle.dumps({"a": 1})],
    "header of 9,223": [raw(b"{}", size=2**63)],
    "no readable": [raw(b"not json"), raw(b"[" * 100_000), raw(b"\xff\xfe")],
    "'a' twice": [raw(TWICE, b"\0" * 4)],
    "10,001 tensors": [raw(MANY.encode())],
    "header of int": [raw(b"5")],
    "header of NoneType": [raw(b"null")],
    "header of list": [raw(b"[1]")],
    "not a complete safetensors": [
        *(raw(HEADER, b"\0" * 3), raw(HEADER, b"\0" * 9), raw(ENDLESS, b"\0" * 4)),
        *(raw(b'{"a":5}'), raw(b'{"__metadata__":5}')),
        raw(HEADER.replace(b"F32", b"X99"), b"\0" * 4),
        raw(HEADER.replace(b"[1]", b"[-1]"), b"\0" * 4),
        raw(HEADER.replace(b'"a"', b'"\\ud800"'), b"\0" * 4),
    ],
}


def test_damaged_or_disguised_weights(folder, monkeypatch):
    for says, contents in DAMAGED.items():
        for content in contents:
            (folder / WEIGHTS).write_bytes(content)
            assert says in refuse(folder), content[:80]
    (folder / WEIGHTS).write_bytes(raw(FOUR_BITS, b"\0" * 4))
    with pytest.raises(CheckpointError, match="save it as float32"):
        list(files.read_tensors(folder, WEIGHTS, ["a"]))
    monkeypatch.setattr(files, "MAX_HEADER_BYTES", 10)
    assert "announces a header" in refuse(folder, UnsafeFile)
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")
    assert "pickled weights are never opened" in refuse(folder)


def test_more_layers_than_tensors_are_refused_before_they_are_built(folder):
    """A million layers of width 1 fit into memory, but building them takes minutes."""
    axes = {**VECTORS, "n_layers": 10**6, "d_model": 1, "n_heads": 1, "d_ff": 1}
    write_config(folder, {"model_type": "viz_encoder", "encoder": axes})
    began = time.monotonic()
    assert "promises 1,000,000 layers" in refuse(folder, KeyMismatch)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("other", ["bert.{}.weight", "{}.gamma", "bert.{}.gamma"])
def test_one_tensor_under_two_spellings(tmp_path, other):
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1}
    write_config(tmp_path, {"model_type": "bert", **sizes})
    norm = "embeddings.LayerNorm"
    tensors = {f"{norm}.weight": torch.ones(8), other.format(norm): torch.zeros(8)}
    write(tensors, tmp_path / WEIGHTS)
    assert "twice, under two spellings: " in refuse(tmp_path, KeyMismatch)


@pytest.mark.parametrize("name", ["config.json", WEIGHTS])
def test_links_and_pipes(folder, tmp_path, name):
    (tmp_path / "outside.json").write_text("{}")
    targets = dict.fromkeys(("/etc/passwd", "/dev/zero", "../outside.json"), "leaves the folder")
    for target, says in (targets | {name: f"has no {name}", "nowhere": f"has no {name}"}).items():
        (folder / name).unlink()
        (folder / name).symlink_to(target)
        assert says in refuse(folder), target
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert "not a regular file" in refuse(folder, UnsafeFile)


def test_garbled_picture_settings(folder):
    write_own(folder, PICTURES)
    for image in (
        *([], 5, {"mean": 5}, {"mean": ["a", "b", "c"]}, {"mean": [0.5]}, {"mean": None}),
        *({"std": [0, 0, 0]}, {"std": [1, 1, float("nan")]}),
    ):
        write_config(folder, {"model_type": "viz_encoder", "encoder": PICTURES, "image": image})
        assert "mean" in (said := refuse(folder)) or "std" in said, image


@pytest.fixture
def of_words(folder):
    """A folder of our own family that reads texts of one word and one segment."""
    write_own(folder, {**AXES, "n_segments": 1})
    Tokenizer(models.WordLevel({"a": 0}, "a")).save(str(folder / "tokenizer.json"))
    return folder


def test_a_padding_token_that_is_none(of_words):
    config = json.loads((of_words / "config.json").read_text())
    for pad_token_id in ("x", -1, 9, 10**9, [1], 1.5, True):
        write_config(of_words, {**config, "pad_token_id": pad_token_id})
        assert "pad_token_id is" in refuse(of_words)
    write_config(of_words, {**config, "pad_token_id": None})
    assert vz.load(of_words, device="cpu").reader.pad_id == 0


def test_a_pair_for_a_model_of_one_segment(of_words):
    encoder = vz.load(of_words, device="cpu")
    assert vz.capture(encoder, "a").n_tokens == 1
    with pytest.raises(InputError, match="Segment 1 is out of range: this model has 1"):
        vz.capture(encoder, ("a", "a"))


def test_tokenizers_that_cannot_be_read(of_words):
    for content in ("", "{}", '{"model": 3}', "\x00"):
        (of_words / "tokenizer.json").write_text(content)
        assert "tokenizer.json" in refuse(of_words)


CONFIGS = {
    CheckpointError: [
        *("", "null", "\ufeff{}", "1" * 5000, "{", "[1, 2]", '{"a":' * 5000 + "1" + "}" * 5000),
        '{"model_type": "bert", "hidden_size": %s}' % ("9" * 4000),
        {"model_type": "viz_encoder", "encoder": {"x" * 10**6: 1}},
        {"model_type": "viz_encoder", "encoder": {"d_ff": "x" * 10**6}},
    ],
    UnknownFamily: [
        *({}, {"model_type": "no_such_family"}, {"model_type": ["bert"]}),
        {"model_type": "x" * 10**6},
    ],
    UnsafeFile: [{"model_type": "bert", "auto_map": {"AutoModel": "evil.Model"}}],
}


def test_configs_that_cannot_be_trusted(folder):
    for kind, contents in CONFIGS.items():
        for content in contents:
            write_config(folder, content)
            refuse(folder, kind)


def test_names_that_are_nothing():
    for name in ("", "../..", "\0", "x" * 5000, "~nobody-x/a", "a\ud800b", None, 5, [], b"x"):
        refuse(name)


def test_a_built_in_model_with_another_digest(monkeypatch, folder):
    own = {"locate": lambda: folder, "digests": {WEIGHTS: "0" * 64}}
    entry = replace(vz.checkpoints.BUILTIN["scene"], **own)
    monkeypatch.setitem(vz.checkpoints.BUILTIN, "scene", entry)
    assert "not the file it should be" in refuse("scene", UnsafeFile)


def test_a_device_that_is_not_there(folder):
    for device in ("no_such_device", "cuda:99", "", "meta"):
        with pytest.raises(CheckpointError, match="cannot be used here"):
            vz.load(folder, device=device)
