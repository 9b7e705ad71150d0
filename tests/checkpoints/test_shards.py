"""Checkpoints of several files with an index: read as one, or refused in a plain sentence."""

import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import viz_encoder as vz
from tests.checkpoints.faults import refuse, write, write_own
from viz_encoder.errors import CheckpointError, UnsafeFile

AXES = {
    "embedding": "vector", "n_layers": 2, "n_heads": 2, "d_model": 8, "d_ff": 12,
    "max_positions": 6,
}  # fmt: skip
WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


@pytest.fixture
def folder(tmp_path):
    """A sound checkpoint of two files with an index."""
    return sharded(tmp_path / "model")


def sharded(folder: Path) -> Path:
    whole = write_own(folder, AXES) / WHOLE
    tensors = load_file(whole)
    whole.unlink()
    names = sorted(tensors)
    for file, part in ((FIRST, names[::2]), (SECOND, names[1::2])):
        write({name: tensors[name] for name in part}, folder / file)
    write_index(folder, {n: FIRST if i % 2 == 0 else SECOND for i, n in enumerate(names)})
    return folder


def write_index(folder: Path, listed: object) -> None:
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": listed}))


def listed(folder: Path) -> dict[str, str]:
    return json.loads((folder / INDEX).read_text())["weight_map"]


def held(folder: Path) -> dict[str, torch.Tensor]:
    return {**load_file(folder / FIRST), **load_file(folder / SECOND)}


def test_shards_are_one_checkpoint_before_which_a_whole_file_goes(folder):
    expected = held(folder)
    encoder = vz.load(folder, device="cpu")
    assert all(torch.equal(expected[k], t) for k, t in encoder.model.state_dict().items())
    write({name: torch.zeros_like(tensor) for name, tensor in expected.items()}, folder / WHOLE)
    encoder = vz.load(folder, device="cpu")
    assert not any(bool(t.any()) for t in encoder.model.state_dict().values())


def without_a_shard(folder):
    (folder / SECOND).unlink()


def with_a_tensor_twice(folder):
    name, tensor = next(iter(load_file(folder / FIRST).items()))
    write({**load_file(folder / SECOND), name: tensor}, folder / SECOND)


def with_one_shard_under_two_names(folder):
    (folder / "again.safetensors").symlink_to(SECOND)
    write_index(folder, {**listed(folder), "no.such.tensor": "again.safetensors"})


def without_a_line(folder):
    write_index(folder, dict(sorted(listed(folder).items())[1:]))


def with_lines_swapped(folder):
    first, *others = sorted(listed(folder).items())
    write_index(folder, {**dict(others), first[0]: SECOND})


def with_a_line_invented(folder):
    write_index(folder, {**listed(folder), "layers.9.attn.q.weight": FIRST})


def without_a_shard_s_lines(folder):
    write_index(folder, {name: file for name, file in listed(folder).items() if file == FIRST})


def of_a_thousand_shards(folder):
    write_index(folder, {f"t{i}": f"model-{i:05}.safetensors" for i in range(1000)})


def of_too_many_tensors(folder):
    write_index(folder, dict.fromkeys((f"t{i}" for i in range(10_001)), FIRST))


@pytest.mark.parametrize(
    ("spoil", "kind", "says"),
    [
        (without_a_shard, CheckpointError, f"has no {SECOND}"),
        (with_a_tensor_twice, UnsafeFile, "in two of the files"),
        (with_one_shard_under_two_names, UnsafeFile, "in two of the files"),
        (without_a_line, CheckpointError, "disagree about"),
        (with_lines_swapped, CheckpointError, "disagree about"),
        (with_a_line_invented, CheckpointError, "disagree about"),
        (without_a_shard_s_lines, CheckpointError, "missing: "),
        (of_a_thousand_shards, UnsafeFile, "names 1,000 files; the limit is 200"),
        (of_too_many_tensors, UnsafeFile, "lists 10,001 tensors"),
    ],
)
def test_an_index_that_disagrees_with_its_shards(folder, spoil, kind, says):
    spoil(folder)
    assert says in refuse(folder, kind)


def test_shards_with_names_that_lead_elsewhere(folder, tmp_path):
    write(load_file(folder / SECOND), tmp_path / "outside.safetensors")
    names = listed(folder)
    for name in (
        *("../outside.safetensors", "/etc/passwd", "sub/part.safetensors", "..", "", "."),
        *("..\\outside.safetensors", "pytorch_model.bin", "x.safetensors\0", "x" * 5000),
        *("x" * 5000 + ".safetensors", "\ud800.safetensors", "\u202ex.safetensors"),
        *(".safetensors", "model.safetensors\n", "~.safetensors", "config.json"),
    ):
        write_index(folder, {k: name if v == SECOND else v for k, v in names.items()})
        assert "must be a .safetensors file here" in refuse(folder, UnsafeFile), name


def test_a_garbled_index(folder):
    for index in (
        *("", "null", "5", "[]", "{", "{}", '{"weight_map": []}', '{"weight_map": null}'),
        *('{"weight_map": {}}', '{"weight_map": {"a": 5}}', '{"weight_map": {"a": null}}'),
        *('{"weight_map": {"a": ["b"]}}', "[" * 100_000, "1" * 5000, "\x00"),
    ):
        (folder / INDEX).write_text(index)
        refuse(folder)


def test_a_file_that_is_swapped_after_it_was_looked_at(folder):
    """Planned, then changed on disk before it is read: the second look decides."""
    plan = vz.checkpoints.plan(folder)
    (folder / SECOND).unlink()
    (folder / SECOND).symlink_to("/etc/passwd")
    with pytest.raises(UnsafeFile, match="leaves the folder"):
        vz.checkpoints.fill(plan)


def test_a_file_that_is_written_over_while_its_model_is_in_use(folder):
    encoder = vz.load(folder, device="cpu")
    before = {name: tensor.clone() for name, tensor in encoder.model.state_dict().items()}
    for file, content in ((FIRST, b""), (SECOND, b"x" * 10_000)):
        (folder / file).write_bytes(content)
    after = encoder.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="it counts what Linux lists")
def test_no_file_is_left_open(folder):
    before = len(os.listdir("/proc/self/fd"))
    with_a_line_invented(folder)
    for _ in range(5):
        refuse(folder)
    assert len(os.listdir("/proc/self/fd")) <= before
