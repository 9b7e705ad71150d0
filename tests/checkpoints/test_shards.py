"""Checkpoints of several files with an index: read as one, or refused in a plain sentence."""

import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import viz_encoder as vz
from tests.checkpoints.faults import refuse
from viz_encoder.errors import UnsafeFile
from viz_encoder.model import Encoder

AXES = {
    "embedding": "vector", "n_layers": 2, "n_heads": 2, "d_model": 8, "d_ff": 12,
    "max_positions": 6,
}  # fmt: skip
INDEX = "model.safetensors.index.json"
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


@pytest.fixture
def folder(tmp_path):
    """A sound checkpoint of two files with an index."""
    return sharded(tmp_path / "model")


def sharded(folder: Path) -> Path:
    folder.mkdir(parents=True)
    config = {"model_type": "viz_encoder", "encoder": AXES}
    (folder / "config.json").write_text(json.dumps(config))
    torch.manual_seed(0)
    tensors = Encoder(vz.EncoderConfig(**AXES)).state_dict()
    names = sorted(tensors)
    for file, part in ((FIRST, names[::2]), (SECOND, names[1::2])):
        save_file({name: tensors[name] for name in part}, folder / file)
    write_index(folder, {n: FIRST if i % 2 == 0 else SECOND for i, n in enumerate(names)})
    return folder


def write_index(folder: Path, listed: object) -> None:
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": listed}))


def listed(folder: Path) -> dict[str, str]:
    return json.loads((folder / INDEX).read_text())["weight_map"]


def test_shards_are_one_checkpoint(folder, tmp_path):
    encoder = vz.load(folder, device="cpu")
    torch.manual_seed(0)
    expected = Encoder(vz.EncoderConfig(**AXES)).state_dict()
    assert all(torch.equal(expected[k], t) for k, t in encoder.model.state_dict().items())


def test_a_whole_file_goes_before_an_index(folder):
    whole = {**load_file(folder / FIRST), **load_file(folder / SECOND)}
    save_file({name: torch.zeros_like(tensor) for name, tensor in whole.items()},
              folder / "model.safetensors")  # fmt: skip
    encoder = vz.load(folder, device="cpu")
    assert not any(bool(t.any()) for t in encoder.model.state_dict().values())


def test_a_shard_that_is_not_there(folder):
    (folder / SECOND).unlink()
    assert f"has no {SECOND}" in refuse(folder)


@pytest.mark.parametrize(
    "name",
    [
        "../outside.safetensors", "/etc/passwd", "sub/part.safetensors", "..", "", ".",
        "..\\outside.safetensors", "pytorch_model.bin", "x.safetensors\0", "x" * 5000,
        "x" * 5000 + ".safetensors", "\ud800.safetensors", "\u202ex.safetensors", ".safetensors",
        "model.safetensors\n", "~.safetensors", "config.json",
    ],
)  # fmt: skip
def test_shards_with_names_that_lead_elsewhere(folder, tmp_path, name):
    save_file(load_file(folder / SECOND), tmp_path / "outside.safetensors")
    write_index(folder, {k: name if v == SECOND else v for k, v in listed(folder).items()})
    assert "must be a .safetensors file here" in refuse(folder, UnsafeFile)


def test_a_tensor_in_two_shards(folder):
    first, second = load_file(folder / FIRST), load_file(folder / SECOND)
    name = sorted(first)[0]
    save_file({**second, name: first[name]}, folder / SECOND)
    assert "in two of the files" in refuse(folder, UnsafeFile)


def test_one_shard_under_two_names(folder):
    (folder / "again.safetensors").symlink_to(SECOND)
    names = {**listed(folder), "no.such.tensor": "again.safetensors"}
    write_index(folder, names)
    assert "in two of the files" in refuse(folder, UnsafeFile)


@pytest.mark.parametrize("change", ["missing", "swapped", "invented", "unlisted shard"])
def test_an_index_that_disagrees_with_its_shards(folder, change):
    names = listed(folder)
    one = sorted(names)[0]
    if change == "missing":
        del names[one]
    elif change == "swapped":
        names[one] = SECOND if names[one] == FIRST else FIRST
    elif change == "invented":
        names["layers.9.attn.q.weight"] = FIRST
    else:
        names = {name: shard for name, shard in names.items() if shard == FIRST}
    write_index(folder, names)
    said = refuse(folder)
    assert "disagree about" in said or "missing: " in said


@pytest.mark.parametrize(
    "index",
    [
        "", "null", "5", "[]", "{", "{}", '{"weight_map": []}', '{"weight_map": null}',
        '{"weight_map": {}}', '{"weight_map": {"a": 5}}', '{"weight_map": {"a": null}}',
        '{"weight_map": {"a": ["b"]}}', "[" * 100_000, "1" * 5000, "\x00",
    ],
)  # fmt: skip
def test_a_garbled_index(folder, index):
    (folder / INDEX).write_text(index)
    refuse(folder)


def test_a_thousand_shards(folder):
    write_index(folder, {f"t{i}": f"model-{i:05}.safetensors" for i in range(1000)})
    assert "names 1,000 files; the limit is 200" in refuse(folder, UnsafeFile)


def test_more_tensors_than_any_model_has(folder):
    write_index(folder, dict.fromkeys((f"t{i}" for i in range(10_001)), FIRST))
    assert "lists 10,001 tensors" in refuse(folder, UnsafeFile)


def test_a_file_that_is_swapped_after_it_was_looked_at(folder, tmp_path):
    """Planned, then changed on disk before it is read: the second look decides."""
    plan = vz.checkpoints.plan(folder)
    (folder / SECOND).unlink()
    (folder / SECOND).symlink_to("/etc/passwd")
    with pytest.raises(UnsafeFile, match="leaves the folder"):
        vz.checkpoints.fill(plan)


@pytest.mark.parametrize("content", [b"", b"x" * 10_000])
def test_a_file_that_is_written_over_while_its_model_is_in_use(folder, content):
    encoder = vz.load(folder, device="cpu")
    before = {name: tensor.clone() for name, tensor in encoder.model.state_dict().items()}
    for file in (FIRST, SECOND):
        (folder / file).write_bytes(content)
    after = encoder.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_no_file_is_left_open(folder):
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    write_index(folder, {**listed(folder), "no.such.tensor": FIRST})
    for _ in range(5):
        refuse(folder)
    after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    assert after <= before
