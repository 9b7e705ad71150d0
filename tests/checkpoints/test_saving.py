"""encoder.save(folder): loaded again it is the same bit for bit; nothing else is overwritten."""

import json
import os
from functools import cache
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import viz_encoder as vz
from tests.checkpoints.cases import KINDS
from tests.checkpoints.faults import a_sentence, refuse, write_own
from tests.checkpoints.parity import inputs_of
from tests.checkpoints.saved import NAMED, saved
from tests.slow import slow, slow_but
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import CheckpointError, InputError, KeyMismatch

AXES = {"n_layers": 2, "d_model": 16, "n_heads": 2, "d_ff": 24, "vocab_size": 30}
CONFIG = vz.EncoderConfig(**AXES)


@cache
def small() -> LoadedEncoder:
    return vz.load(CONFIG)


def require_same(a: LoadedEncoder, b: LoadedEncoder, inputs: object) -> None:
    """The same weights, heads, reader and outputs, bit for bit."""
    ours, theirs = a.model.state_dict(), b.model.state_dict()
    assert ours.keys() == theirs.keys() and a.config == b.config and a.padding == b.padding
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert a.card.n_parameters == b.card.n_parameters and a.card.license == b.card.license
    assert type(a.reader) is type(b.reader)
    first, second = vz.capture(a, inputs)[0], vz.capture(b, inputs)[0]
    assert torch.equal(first.output, second.output)
    assert torch.equal(first.attention(0), second.attention(0))


@pytest.mark.parametrize("name", slow_but(KINDS, NAMED))
def test_every_family_comes_back_bit_for_bit(name, tmp_path):
    case, encoder = saved(name).case, saved(name).encoder
    encoder.save(tmp_path / "ours")
    again = vz.load(tmp_path / "ours", device="cpu")
    require_same(encoder, again, inputs_of(case, encoder)[0])
    if case.kind == "text":
        text = "w1 w2 w3"
        assert vars(encoder.read(text).samples[0]) == vars(again.read(text).samples[0])
        for name in ("pad_id", "max_tokens", "padded_to", "refuses_padding"):
            assert getattr(encoder.reader, name) == getattr(again.reader, name), name
    again.save(tmp_path / "twice")
    for file in ("config.json", "model.safetensors"):
        first, second = ((tmp_path / place / file).read_bytes() for place in ("ours", "twice"))
        assert first.replace(encoder.card.name.encode(), b"ours") == second, file


@pytest.mark.parametrize("name", ["grammar", "scene", slow("all-MiniLM-L6-v2")])
def test_the_built_in_models(name, tmp_path):
    encoder = vz.load(name, device="cpu")
    encoder.save(tmp_path / "copy")
    again = vz.load(tmp_path / "copy", device="cpu")
    picture = torch.randint(0, 255, (33, 50, 3), dtype=torch.uint8).numpy()
    source = picture if encoder.kind == "image" else "the keys to the cabinet [MASK] old"
    require_same(encoder, again, encoder.read([source]))
    ours, theirs = encoder.read(source), again.read(source)
    assert torch.equal(ours.values, theirs.values) and torch.equal(ours.valid, theirs.valid)
    assert (encoder.declared is None) == (again.declared is None)


PREPARED = [
    {"image_processor_type": "ViTImageProcessor", "size": {"height": 24, "width": 40}},
    {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 20},
     "crop_size": {"height": 18, "width": 18}, "do_center_crop": True, "resample": 2},
    {"image_processor_type": "ViTImageProcessor", "size": {"shortest_edge": 24},
     "image_mean": [0.1, 0.2, 0.3], "image_std": [0.3, 0.7, 0.9], "rescale_factor": 0.0078125},
]  # fmt: skip


def test_picture_settings_of_every_kind(tmp_path):
    """Squashed to another size than trained at, a window that is no whole patches, whole."""
    axes = {"embedding": "patch", "image_size": (16, 16), "patch_size": 4, "n_layers": 1}
    source = write_own(tmp_path / "source", AXES | axes)
    picture = torch.randint(0, 255, (50, 37, 3), dtype=torch.uint8).numpy()
    for settings in PREPARED:
        (source / "preprocessor_config.json").write_text(json.dumps(settings))
        encoder = vz.load(source, device="cpu")
        encoder.save(tmp_path / "ours", overwrite=True)
        again = vz.load(tmp_path / "ours", device="cpu")
        assert vars(encoder.reader) == vars(again.reader)
        assert torch.equal(encoder.read(picture).values, again.read(picture).values)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_another_dtype_is_kept_as_it_is(tmp_path, dtype):
    encoder = vz.load(small(), dtype=dtype)
    encoder.save(tmp_path / "half")
    assert {t.dtype for t in load_file(tmp_path / "half/model.safetensors").values()} == {dtype}
    again = vz.load(tmp_path / "half", dtype=dtype, device="cpu")
    ids = encoder.read(torch.tensor([[1, 2, 3]]))
    require_same(encoder, again, ids)


def test_a_vz_encoder_saves_itself(tmp_path):
    torch.manual_seed(0)
    model = vz.Encoder(CONFIG)
    model.save(tmp_path / "new" / "deep")
    again = vz.load(tmp_path / "new" / "deep", device="cpu")
    ids = torch.tensor([[1, 2, 3], [4, 5, 6]])
    for ours, theirs in zip(vz.capture(model, ids), vz.capture(again, ids), strict=True):
        assert torch.equal(ours.output, theirs.output)
    assert not again.card.untrained


def test_without_a_reader_there_is_none_again(tmp_path):
    small().save(tmp_path / "ids")
    again = vz.load(tmp_path / "ids", device="cpu")
    assert again.reader is None and again.padding.id is None
    with pytest.raises(InputError, match=r"ids \(untrained\) has no tokenizer"):
        vz.capture(again, "text")


def refused(folder: object, says: str, **options) -> None:
    with pytest.raises(CheckpointError, match=says) as fault:
        small().save(folder, **options)
    assert a_sentence(fault.value)


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years")
    refused(tmp_path, "is not empty; choose another folder, or give overwrite=True")
    refused(tmp_path, r"holds thesis\.tex, which is not just", overwrite=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_only_what_was_saved_here_is_overwritten(tmp_path):
    target = tmp_path / "mine"
    small().save(target)
    refused(target, "is not empty")
    before = (target / "model.safetensors").read_bytes()
    vz.load(CONFIG, seed=1).save(target, overwrite=True)
    assert (target / "model.safetensors").read_bytes() != before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["mine"]
    (target / "1_Pooling").mkdir()
    for own in (target / "1_Pooling" / "mine.txt", target / "notes.txt"):
        own.write_text("mine")
        refused(target, "which is not just .*choose another folder", overwrite=True)
        assert own.read_text() == "mine"
        own.unlink()
    (target / "1_Pooling").rmdir()
    (target / "config.json").write_text('{"model_type": "bert"}')
    refused(target, "not just an encoder saved by this package", overwrite=True)


def test_a_reader_that_is_gone_leaves_no_file_behind(tmp_path):
    vz.load("grammar", device="cpu").save(tmp_path / "mine")
    small().save(tmp_path / "mine", overwrite=True)
    assert sorted(os.listdir(tmp_path / "mine")) == ["config.json", "model.safetensors"]


def test_an_empty_folder_and_a_link_are_written_to(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    small().save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and vz.load(tmp_path / "empty").card.untrained


def test_a_fault_leaves_nothing_half_written(tmp_path, monkeypatch):
    target = tmp_path / "mine"
    small().save(target)
    before = {path.name: path.read_bytes() for path in target.iterdir()}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("viz_encoder.model.saving.save_file", full)
    refused(target, "No space left on device", overwrite=True)
    refused(tmp_path / "new", "No space left on device")
    assert sorted(os.listdir(tmp_path)) == ["mine"]
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before


def test_what_is_no_folder():
    for folder in ("a\0b", "x" * 300, "/dev/null", "~nobody-x/a"):
        refused(folder, "not a folder that can be written to|cannot be written")


def test_it_has_the_rights_that_the_umask_leaves(tmp_path):
    old = os.umask(0o027)
    try:
        small().save(tmp_path / "mine")
    finally:
        os.umask(old)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o750
    for name in ("config.json", "model.safetensors"):
        assert (tmp_path / "mine" / name).stat().st_mode & 0o777 == 0o640


def test_weights_that_no_folder_may_hold(tmp_path):
    model = vz.Encoder(CONFIG)
    with torch.no_grad():
        model.layers[1].ff.up.weight[0, 0] = torch.inf
    with pytest.raises(CheckpointError, match=r"layers\.1\.ff\.up\.weight holds NaN or infinite"):
        model.save(tmp_path / "mine")
    assert not list(tmp_path.iterdir())


def test_tensors_of_one_layer_beside_those_of_all_are_refused(tmp_path):
    small().save(tmp_path / "mine")
    path = tmp_path / "mine/model.safetensors"
    tensors = load_file(path)
    save_file({**tensors, "layers.all.attn.q.weight": torch.zeros(16, 16)}, path)
    with pytest.raises(KeyMismatch, match="Some tensors belong to one layer and others to all"):
        vz.load(tmp_path / "mine")


GARBLED = {
    "grammar": [{"text": {"padded_to": -1}}, {"text": {"padded_to": True}}, {"text": []}],
    "scene": [
        *({"image": {"image_size": size}} for size in ([7, 8], 8, [True, 8], [10**9, 10**9])),
    ],
}


@pytest.mark.parametrize("name", GARBLED)
def test_settings_that_are_garbled(tmp_path, name):
    vz.load(name, device="cpu").save(tmp_path / "mine")
    path = tmp_path / "mine/config.json"
    sound = json.loads(path.read_text())
    for change in GARBLED[name]:
        path.write_text(json.dumps(sound | change))
        refuse(tmp_path / "mine")


def test_an_empty_working_folder_stays_where_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small().save(".")
    assert Path.cwd() == tmp_path and {"config.json", "model.safetensors"} <= set(os.listdir())
    require_same(small(), vz.load("."), torch.tensor([[1, 2], [3, 4]]))
