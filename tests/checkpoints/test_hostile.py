"""Hostile and damaged model folders: each is refused in a plain sentence."""

import json
import os
import pickle
import struct
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models

import viz_encoder as vz
from tests.checkpoints.faults import refuse
from viz_encoder.checkpoints import files
from viz_encoder.errors import (
    CheckpointError,
    InputError,
    KeyMismatch,
    UnknownFamily,
    UnsafeFile,
)
from viz_encoder.model import Encoder

AXES = {"n_layers": 2, "n_heads": 2, "d_model": 8, "d_ff": 12, "vocab_size": 9, "max_positions": 6}
WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tmp_path):
    """A sound folder of our own family, to be spoiled."""
    model = tmp_path / "model"
    model.mkdir()
    write_config(model, {"model_type": "viz_encoder", "encoder": {**AXES, "embedding": "vector"}})
    save_file(Encoder(vz.EncoderConfig(**AXES, embedding="vector")).state_dict(), model / WEIGHTS)
    return model


def write_config(folder: Path, content: object) -> None:
    (folder / "config.json").write_text(
        content if isinstance(content, str) else json.dumps(content)
    )


def change_tensors(folder: Path, change) -> None:
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS)


def raw(header: bytes, data: bytes = b"", size: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if size is None else size) + header + data


def test_the_sound_folder_loads(folder):
    assert vz.load(folder, device="cpu").config.n_layers == 2


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


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_values_that_are_not_finite(folder, value):
    change_tensors(folder, lambda t: t["layers.0.ff.up.weight"].fill_(value))
    assert "layers.0.ff.up.weight" in refuse(folder)


def test_half_precision_files_are_widened(folder):
    change_tensors(folder, lambda t: t.update({k: v.half() for k, v in t.items()}))
    assert vz.load(folder, device="cpu").dtype == torch.float32


HEADER = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
FOUR_BITS = HEADER.replace(b"F32", b"F4").replace(b"[1]", b"[8]")
TWICE = b"{%s,%s}" % (HEADER[1:-1], HEADER[1:-1])
MANY = json.dumps(
    {f"t{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(10_001)}
)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "safetensors"),
        (raw(b"{}", size=2**63), "header of 9,223"),
        (raw(b"not json"), "no readable"),
        (raw(b"[" * 100_000), "no readable"),
        (raw(TWICE, b"\0" * 4), "'a' twice"),
        (raw(MANY.encode()), "10,001 tensors"),
        (raw(HEADER, b"\0" * 3), "not a complete safetensors"),
        (raw(HEADER, b"\0" * 9), "not a complete safetensors"),
        (raw(HEADER.replace(b"F32", b"X99"), b"\0" * 4), "not a complete safetensors"),
        (
            raw(HEADER.replace(b"[1]", b"[4611686018427387904,8]"), b"\0" * 4),
            "not a complete safetensors",
        ),
        (pickle.dumps({"a": 1}), "safetensors"),
        (raw(b"5"), "header of int"),
        (raw(b"null"), "header of NoneType"),
        (raw(b"[1]"), "header of list"),
        (raw(b'{"a":5}'), "not a complete safetensors"),
        (raw(b'{"__metadata__":5}'), "not a complete safetensors"),
        (raw(b"\xff\xfe"), "no readable"),
        (raw(HEADER.replace(b"[1]", b"[-1]"), b"\0" * 4), "not a complete safetensors"),
        (raw(HEADER.replace(b'"a"', b'"\\ud800"'), b"\0" * 4), "not a complete safetensors"),
    ],
)
def test_damaged_or_disguised_weights(folder, content, says):
    (folder / WEIGHTS).write_bytes(content)
    assert says in refuse(folder)


def test_four_bit_floats_are_not_computed_with(folder):
    (folder / WEIGHTS).write_bytes(raw(FOUR_BITS, b"\0" * 4))
    with pytest.raises(CheckpointError, match="save it as float32"):
        list(files.read_tensors(folder, WEIGHTS, ["a"]))


def test_a_pickle_is_not_opened(folder):
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")
    assert "pickled weights are never opened" in refuse(folder)


def test_a_header_over_the_limit(folder, monkeypatch):
    monkeypatch.setattr(files, "MAX_HEADER_BYTES", 100)
    assert "announces a header" in refuse(folder, UnsafeFile)


def test_more_layers_than_tensors_are_refused_before_they_are_built(folder):
    """A million layers of width 1 fit into memory, but building them takes minutes."""
    axes = {**AXES, "embedding": "vector", "n_layers": 10**6}
    axes |= {"d_model": 1, "n_heads": 1, "d_ff": 1}
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
    save_file(tensors, tmp_path / WEIGHTS)
    assert "twice, under two spellings: " in refuse(tmp_path, KeyMismatch)


@pytest.mark.parametrize("target", ["/etc/passwd", "/dev/zero", "../outside.json"])
@pytest.mark.parametrize("name", ["config.json", WEIGHTS])
def test_links_to_elsewhere(folder, tmp_path, name, target):
    (tmp_path / "outside.json").write_text("{}")
    (folder / name).unlink()
    (folder / name).symlink_to(target)
    assert "leaves the folder" in refuse(folder, UnsafeFile)


@pytest.mark.parametrize("target", [WEIGHTS, "nowhere"])
def test_links_to_nothing(folder, target):
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).symlink_to(target)
    assert f"has no {WEIGHTS}" in refuse(folder)


def test_a_pipe_is_not_waited_for(folder):
    (folder / WEIGHTS).unlink()
    os.mkfifo(folder / WEIGHTS)
    assert "not a regular file" in refuse(folder, UnsafeFile)


PICTURES = {**AXES, "embedding": "patch", "image_size": [8, 8], "patch_size": 4}


@pytest.mark.parametrize(
    "image",
    [[], 5, {"mean": 5}, {"mean": ["a", "b", "c"]}, {"mean": [0.5]}, {"mean": None},
     {"std": [0, 0, 0]}, {"std": [1, 1, float("nan")]}],
)  # fmt: skip
def test_garbled_picture_settings(folder, image):
    write_config(folder, {"model_type": "viz_encoder", "encoder": PICTURES, "image": image})
    config = vz.EncoderConfig(**PICTURES)
    save_file(Encoder(config).state_dict(), folder / WEIGHTS)
    assert "mean" in (said := refuse(folder)) or "std" in said


@pytest.mark.parametrize("pad_token_id", ["x", -1, 9, 10**9, [1], 1.5, True])
def test_a_padding_token_that_is_none(folder, pad_token_id):
    config = {"model_type": "viz_encoder", "encoder": AXES, "pad_token_id": pad_token_id}
    write_config(folder, config)
    save_file(Encoder(vz.EncoderConfig(**AXES)).state_dict(), folder / WEIGHTS)
    Tokenizer(models.WordLevel({"a": 0}, "a")).save(str(folder / "tokenizer.json"))
    assert "pad_token_id is" in refuse(folder)
    write_config(folder, {**config, "pad_token_id": None})
    assert vz.load(folder, device="cpu").reader.pad_id == 0


def test_a_pair_for_a_model_of_one_segment(folder):
    axes = {**AXES, "n_segments": 1}
    write_config(folder, {"model_type": "viz_encoder", "encoder": axes})
    save_file(Encoder(vz.EncoderConfig(**axes)).state_dict(), folder / WEIGHTS)
    Tokenizer(models.WordLevel({"a": 0}, "a")).save(str(folder / "tokenizer.json"))
    encoder = vz.load(folder, device="cpu")
    assert vz.capture(encoder, "a").n_tokens == 1
    with pytest.raises(InputError, match="Segment 1 is out of range: this model has 1"):
        vz.capture(encoder, ("a", "a"))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("", CheckpointError),
        ("null", CheckpointError),
        ("\ufeff{}", CheckpointError),
        ("1" * 5000, CheckpointError),
        ('{"model_type": "bert", "hidden_size": %s}' % ("9" * 4000), CheckpointError),
        ({"model_type": "x" * 10**6}, UnknownFamily),
        ({"model_type": "viz_encoder", "encoder": {"x" * 10**6: 1}}, CheckpointError),
        ({"model_type": "viz_encoder", "encoder": {"d_ff": "x" * 10**6}}, CheckpointError),
        ("{", CheckpointError),
        ("[1, 2]", CheckpointError),
        ('{"a":' * 5000 + "1" + "}" * 5000, CheckpointError),
        ({}, UnknownFamily),
        ({"model_type": "no_such_family"}, UnknownFamily),
        ({"model_type": ["bert"]}, UnknownFamily),
        ({"model_type": "bert", "auto_map": {"AutoModel": "evil.Model"}}, UnsafeFile),
    ],
)
def test_configs_that_cannot_be_trusted(folder, content, kind):
    write_config(folder, content)
    refuse(folder, kind)


@pytest.mark.parametrize("content", ["", "{}", '{"model": 3}', "\x00"])
def test_tokenizers_that_cannot_be_read(folder, content):
    write_config(folder, {"model_type": "viz_encoder", "encoder": AXES})
    save_file(Encoder(vz.EncoderConfig(**AXES)).state_dict(), folder / WEIGHTS)
    (folder / "tokenizer.json").write_text(content)
    assert "tokenizer.json" in refuse(folder)


@pytest.mark.parametrize(
    "name",
    ["", "no-such-model", "../..", "\0", "x" * 5000, "~nobody-x/a", "a\ud800b", None, 5, [], b"x"],
)
def test_names_that_are_nothing(name):
    refuse(name)


def test_a_built_in_model_with_another_digest(monkeypatch, tmp_path, folder):
    from dataclasses import replace

    entry = replace(
        vz.checkpoints.BUILTIN["scene"], locate=lambda: folder, digests={WEIGHTS: "0" * 64}
    )
    monkeypatch.setitem(vz.checkpoints.BUILTIN, "scene", entry)
    assert "not the file it should be" in refuse("scene", UnsafeFile)


@pytest.mark.parametrize("device", ["no_such_device", "cuda:99", "", "meta"])
def test_a_device_that_is_not_there(folder, device):
    with pytest.raises(CheckpointError, match="cannot be used here"):
        vz.load(folder, device=device)
