"""One checkpoint of each family spoiled, tensor by tensor: a sentence, or a whole encoder."""

import gc
import json
import sys

import pytest
import torch
from safetensors.torch import load_file

import viz_encoder as vz
from tests.checkpoints.cases import CASES
from tests.checkpoints.faults import a_sentence, write
from tests.checkpoints.saved import saved
from tests.slow import slow, slow_but
from viz_encoder.errors import CheckpointError
from viz_encoder.model import Encoder

WEIGHTS = "model.safetensors"
HEADED = {"BERT for masked tokens", "BERT, 3 labels", "CLIP text, projected", "SigLIP, 3 labels"}
SPOILED = {case.model_type: case for case in reversed(CASES)}
SPOILED |= {case.name: case for case in CASES if case.name in HEADED}
SOME = ["BERT, 3 labels", "SigLIP, 3 labels", "torch_transformer_encoder"]
CHANGES = {
    "one number": lambda t: torch.tensor(1.0),
    "empty": lambda t: torch.zeros(0),
    "three numbers": lambda t: torch.zeros(3),
    "one axis more": lambda t: t[None, None],
    "one row less": lambda t: t[:-1].clone() if t.ndim else t[None],
    "five axes": lambda t: torch.zeros(1, 1, 1, 1, 1),
    "whole numbers": lambda t: torch.zeros(t.shape, dtype=torch.long),
    "NaN": lambda t: torch.full_like(t, torch.nan) if t.is_floating_point() else t[..., :0],
}


@pytest.fixture
def case(request, tmp_path):
    """The case, its checkpoint copied to where it may be spoiled."""
    found = saved(SPOILED[request.param].name)
    found.copy(tmp_path)
    return found.case


def once(names) -> list[str]:
    """One of each kind of tensor: those of one layer stand for all."""
    middle = (".1.", ".2.")
    return [name for name in names if not any(number in name for number in middle)]


def loads(folder, case):
    try:
        return vz.load(folder, device="cpu", part=case.part)
    except CheckpointError as fault:
        assert a_sentence(fault)
        return None


@pytest.mark.usefixtures("quick_loads")
@pytest.mark.parametrize("case", slow_but(SOME, SPOILED), indirect=True)
def test_each_tensor_spoiled(tmp_path, case):
    """A tensor that is needed and of another shape, of whole numbers or NaN is always refused."""
    tensors = load_file(tmp_path / WEIGHTS)
    needed = vz.checkpoints.plan(tmp_path, part=case.part).needed
    for number, name in enumerate(once(needed)):
        for what, change in list(CHANGES.items())[number % 2 :: 2]:
            spoiled = change(tensors[name]).contiguous()
            write({**tensors, name: spoiled}, tmp_path / WEIGHTS)
            encoder = loads(tmp_path, case)
            same = spoiled.shape == tensors[name].shape and what not in ("NaN", "whole numbers")
            if encoder is not None and not same:
                assert what in ("one axis more", *BY_SHAPE.get(case.model_type, ())), (name, what)


# Prefix tokens and their positions may have more axes (timm writes them so); these families read
# sizes off the shapes, so that another shape may be another sound model.
BY_SHAPE = {"timm_wrapper": ("one row less",), "torch_transformer_encoder": ("one row less",)}


@pytest.mark.usefixtures("quick_loads")
@pytest.mark.parametrize("case", slow_but(SOME, SPOILED), indirect=True)
def test_each_tensor_left_out(tmp_path, case):
    """Without a tensor that is needed the file is refused, or a head or tied decoder is gone."""
    tensors = load_file(tmp_path / WEIGHTS)
    whole = vz.load(tmp_path, device="cpu", part=case.part)
    needed = vz.checkpoints.plan(tmp_path, part=case.part).needed
    for name in once(needed):
        write({k: t for k, t in tensors.items() if k != name}, tmp_path / WEIGHTS)
        encoder = loads(tmp_path, case)
        if encoder is not None:
            fewer = len(encoder.config.prediction_heads) < len(whole.config.prediction_heads)
            smaller = encoder.config.n_parameters < whole.config.n_parameters
            assert fewer or smaller, f"{name} was not missed"


@pytest.mark.parametrize("case", slow_but(SOME, SPOILED), indirect=True)
def test_a_failed_load_leaves_nothing_behind(tmp_path, case):
    """No encoder, no file, no module, and nothing in the folder was run or changed."""
    tensors = load_file(tmp_path / WEIGHTS)
    name = vz.checkpoints.plan(tmp_path, part=case.part).needed[-1]
    write({**tensors, name: torch.full_like(tensors[name], torch.nan)}, tmp_path / WEIGHTS)
    (tmp_path / "modeling_evil.py").write_text("raise SystemExit('this was run')")
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    held = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    modules = set(sys.modules)
    gc.collect()
    gc.freeze()  # so that only what comes from here on is looked through
    assert loads(tmp_path, case) is None
    gc.collect()
    assert not any(type(one) is Encoder for one in gc.get_objects())
    assert {name for name in set(sys.modules) - modules if "evil" in name} == set()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == held


EVIL = {"auto_map": {"AutoModel": "modeling_evil.Evil", "AutoTokenizer": ["evil.Evil", None]}}


@pytest.mark.parametrize("case", slow_but(SOME, SPOILED), indirect=True)
def test_code_of_its_own_is_never_run(tmp_path, case):
    (tmp_path / "modeling_evil.py").write_text("raise SystemExit('this was run')")
    for name in ("tokenizer_config.json", "preprocessor_config.json"):
        (tmp_path / name).write_text(json.dumps(EVIL))
    file = json.loads((tmp_path / "config.json").read_text())
    for half in ("text_config", "vision_config"):
        if half in file:
            file[half] |= EVIL
    (tmp_path / "config.json").write_text(json.dumps(file))
    assert loads(tmp_path, case) is not None  # nobody looks at it there
    change(tmp_path, **EVIL)
    assert loads(tmp_path, case) is None
    assert not any("evil" in name for name in sys.modules)


@pytest.mark.parametrize("case", ["BERT, 3 labels", slow("SigLIP, 3 labels")], indirect=True)
def test_garbled_labels(tmp_path, case):
    for labels in (
        *([], "x", 5, True, {"0": None}, {"1": "a"}, {"0": "a", "2": "b"}, {"x": "a"}, {"0": {}}),
        *({"0": ["a"]}, {"-1": "a"}, {"0.0": "a"}, {"00": "a"}, {"\ud800": "a"}),
        *({str(i): "x" for i in range(10_000)}, {"0": "x" * 10**6}),
    ):
        change(tmp_path, id2label=labels)
        assert loads(tmp_path, case) is None, str(labels)[:80]


def change(folder, **settings) -> None:
    file = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**file, **settings}))
