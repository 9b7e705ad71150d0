"""Declarations that cannot be followed: the model loads, and the reason is said to who asks."""

import json
import shutil

import pytest
import torch
from safetensors.torch import save_file

import viz_encoder as vz
from viz_encoder.analyses.collection import collection
from viz_encoder.checkpoints import BUILTIN
from viz_encoder.checkpoints.sentence_transformers import read_declared
from viz_encoder.errors import SelectionError

PLACE = "sentence_transformers.models"
TRANSFORMER = {"type": f"{PLACE}.Transformer"}
WIDTH = 64  # of the hidden states
MEAN = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True}


@pytest.fixture
def folder(tmp_path):
    """A small model of our own and a tokenizer, which declares a mean."""
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        shutil.copy(BUILTIN["grammar"].folder() / name, tmp_path / name)
    declare(tmp_path, Pooling=MEAN)
    return tmp_path


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def declare(folder, **modules):
    """modules.json of these kinds, each with its settings."""
    named = [{"idx": 0, "name": "0", "path": "", **TRANSFORMER}]
    for number, (kind, settings) in enumerate(modules.items(), 1):
        path = f"{number}_{kind}"
        named.append({"idx": number, "name": path, "path": path, "type": f"{PLACE}.{kind}"})
        write(folder / path / "config.json", settings)
    write(folder / "modules.json", named)


def problem(folder):
    said = read_declared(folder, WIDTH, 24).problem
    assert len(said) < 500 and said.endswith("Choose another.")
    return said


def test_every_door_says_the_same(folder):
    encoder = vz.load(folder, device="cpu")
    assert encoder.declared.methods == ("mean",) and not encoder.declared.problem
    declare(folder, Pooling=MEAN | {"pooling_mode": "median"})
    encoder, said = vz.load(folder, device="cpu"), problem(folder)
    assert encoder.declared.problem == said
    trace = vz.capture(encoder, "the keys are old")
    with pytest.raises(SelectionError) as fault:
        vz.pool(trace.output, trace.valid, "declared", encoder=encoder)
    assert str(fault.value) == said
    with pytest.raises(SelectionError) as fault:
        collection(encoder, ["the keys"], methods=["declared"])
    assert str(fault.value) == said
    found = collection(encoder, ["the keys"], states=[-1])
    assert "declared" not in found.methods and found.left_out["declared"] == said
    (folder / "modules.json").unlink()
    assert vz.load(folder, device="cpu").declared is None


POOLINGS = [
    ({"pooling_mode": "median"}, "'median'; the supported ones are cls, max, mean"),
    ({"pooling_mode": []}, "the supported ones are cls"),
    ({"pooling_mode": 3}, "the supported ones are cls"),
    ({"pooling_mode_of_tomorrow": True}, "pooling_mode_of_tomorrow"),
    ({"word_embedding_dimension": 7}, "reads 7 numbers per token; the encoder gives"),
    ({"include_prompt": "no"}, "include_prompt is 'no'"),
]


def test_poolings(folder):
    for settings, says in POOLINGS:
        declare(folder, Pooling=MEAN | settings)
        assert says in problem(folder)


MODULES = [
    ("{", "modules.json is not valid JSON"),
    ({"a": 1}, "must hold a list"),
    ([], "not a Transformer"),
    ([TRANSFORMER] * 21, "at most 20"),
    ([{**TRANSFORMER, "path": "0_Transformer"}], "not a Transformer in"),
    ([TRANSFORMER], "followed by nothing"),
    ([TRANSFORMER, {"type": "their_code.Pooling"}], "code of its own"),
    ([TRANSFORMER, {"path": "1_Pooling"}], "names no type"),
    ([TRANSFORMER, {"type": f"{PLACE}.Pooling"}], "reads None numbers"),
    *(
        ([TRANSFORMER, {"type": f"{PLACE}.Pooling", "path": path}], "must be inside this folder")
        for path in ("../outside", "/tmp", "a/b", "..", 3, "x" * 200)
    ),
]


def test_lists_of_modules(folder):
    for content, says in MODULES:
        write(folder / "modules.json", content)
        assert says in problem(folder), content


FOLLOWING = [
    ("LSTM", {}, "has the module 'LSTM', which is not supported"),
    ("Dense", {"in_features": 3, "out_features": 2}, "maps 3 to 2 dimensions"),
    ("Dense", {"out_features": 2, "activation_function": "os.system"}, "'os.system'"),
    ("Dense", {"out_features": 2, "activation_function": "torch.hub.load"}, "torch.hub.load"),
    ("Dense", {"out_features": 10**12}, "holds"),
    ("Dense", {"out_features": 2, "module_input_name": "token_embeddings"}, "module_input"),
    ("Normalize", {"module_output_name": "token_embeddings"}, "module_output_name"),
    ("LayerNorm", {}, "no model.safetensors, and pickled weights are never opened"),
]


def test_what_follows_the_pooling(folder):
    tensors = {"linear.weight": torch.zeros(2, WIDTH), "linear.bias": torch.zeros(2)}
    for kind, settings, says in FOLLOWING:
        tanh = {"activation_function": "torch.nn.modules.activation.Tanh"}
        declare(folder, Pooling=MEAN, **{kind: {"in_features": WIDTH, **tanh, **settings}})
        if kind == "Dense":
            save_file(tensors, folder / "2_Dense/model.safetensors")
        assert says in problem(folder), kind
    declare(folder, Pooling=MEAN)
    listed = json.loads((folder / "modules.json").read_text())
    write(folder / "modules.json", [*listed, listed[-1]])
    assert "has the module 'Pooling'" in problem(folder)


def test_weights_that_are_not_finite_or_are_pickled(folder):
    declare(folder, Pooling=MEAN, Dense={"in_features": WIDTH, "out_features": 2, "bias": False})
    (folder / "2_Dense/pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'echo'\ntR.")
    assert "pickled weights are never opened" in problem(folder)
    weight = torch.full((2, WIDTH), torch.nan)
    save_file({"linear.weight": weight}, folder / "2_Dense/model.safetensors")
    assert "NaN" in problem(folder)
    save_file({"linear.weight": weight.zero_()}, folder / "2_Dense/model.safetensors")
    assert not read_declared(folder, WIDTH, 24).problem


def test_a_link_out_of_the_folder_is_not_followed(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "pooling"
    shutil.move(folder / "1_Pooling", outside)
    (folder / "1_Pooling").symlink_to(outside)
    assert "leaves the folder" in problem(folder)


SETTINGS = {
    "config_sentence_transformers.json": [
        ({"model_type": "SparseEncoder"}, "SparseEncoder"),
        ({"prompts": ["a"]}, "its prompts are"),
        ({"prompts": {"query": 3}}, "has the prompt 3"),
        ({"prompts": {"q": "x" * 10_001}}, "has the prompt"),
        ('{"prompts": {"q": "\\ud800"}}', "has the prompt"),
        ({"default_prompt_name": "q"}, "not one of its prompts"),
    ],
    "sentence_bert_config.json": [
        ({"max_seq_length": "many"}, "max_seq_length is 'many'"),
        ({"max_seq_length": 0}, "max_seq_length is 0"),
        ({"transformer_task": "fill-mask"}, "transformer_task"),
        ({"module_output_name": "x"}, "module_output_name"),
        ({"modality_config": {"text": {"method_output_name": "pooler_output"}}}, "pools something"),
        ({"modality_config": {"image": {}}}, "not that of a plain text model"),
        ({"tokenizer_args": {"padding_side": "left"}}, "padding_side"),
        ({"query_expansion": {"length": 3}}, "query_expansion"),
        ("[]", "not an object"),
    ],
}


@pytest.mark.parametrize("file", SETTINGS)
def test_settings_of_the_whole(folder, file):
    for content, says in SETTINGS[file]:
        write(folder / file, content)
        assert says in problem(folder), content
