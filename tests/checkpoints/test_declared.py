"""Declarations that cannot be followed: the model loads, and the reason is said to who asks."""

import json
import os
import shutil

import pytest
import torch
from safetensors.torch import save_file

import viz_encoder as vz
from viz_encoder.analyses.collection import collection
from viz_encoder.checkpoints import BUILTIN
from viz_encoder.errors import SelectionError

FILES = (
    *("config.json", "tokenizer.json", "model.safetensors", "modules.json"),
    *("config_sentence_transformers.json", "sentence_bert_config.json", "1_Pooling/config.json"),
)
PLACE = "sentence_transformers.models"
TANH = "torch.nn.modules.activation.Tanh"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small model of our own and a tokenizer, which declares a mean."""
    folder = tmp_path_factory.mktemp("small")
    source = BUILTIN["grammar"].folder()
    for name in FILES[:3]:
        shutil.copy(source / name, folder / name)
    return folder


@pytest.fixture
def folder(small, tmp_path):
    copy = tmp_path / "model"
    shutil.copytree(small, copy)
    declare(copy, Pooling={"word_embedding_dimension": 64, "pooling_mode_mean_tokens": True})
    return copy


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def declare(folder, **modules):
    """modules.json of these kinds, each with its settings."""
    named = [{"idx": 0, "name": "0", "path": "", "type": f"{PLACE}.Transformer"}]
    for number, (kind, settings) in enumerate(modules.items(), 1):
        path = f"{number}_{kind}"
        named.append({"idx": number, "name": path, "path": path, "type": f"{PLACE}.{kind}"})
        write(folder / path / "config.json", settings)
    write(folder / "modules.json", named)


def width(folder):
    return vz.load(folder, device="cpu").config.d_model


def pooling(folder, **settings):
    return {"word_embedding_dimension": width(folder), **settings}


def problem(folder):
    """The sentence, which every door says alike."""
    encoder = vz.load(folder, device="cpu")
    said = encoder.declared.problem
    assert len(said) < 500 and said.endswith("Choose another.")
    trace = vz.capture(encoder, "the keys are old")
    with pytest.raises(SelectionError) as fault:
        vz.pool(trace.output, trace.valid, "declared", encoder=encoder)
    assert str(fault.value) == said
    with pytest.raises(SelectionError) as fault:
        collection(encoder, ["the keys"], methods=["declared"])
    assert str(fault.value) == said
    found = collection(encoder, ["the keys"], states=[-1])
    assert "declared" not in found.methods and found.left_out["declared"] == said
    return said


def test_the_folder_is_sound_before_it_is_spoiled(folder):
    declare(folder, Pooling=pooling(folder))
    encoder = vz.load(folder, device="cpu")
    assert encoder.declared.methods == ("mean",) and not encoder.declared.problem


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"pooling_mode": "median"}, "'median'; the supported ones are cls, max, mean"),
        ({"pooling_mode": []}, "the supported ones are cls"),
        ({"pooling_mode": 3}, "the supported ones are cls"),
        ({"pooling_mode_of_tomorrow": True}, "pooling_mode_of_tomorrow"),
        ({"word_embedding_dimension": 7}, "reads 7 numbers per token; the encoder gives"),
        ({"include_prompt": "no"}, "include_prompt is 'no'"),
    ],
)
def test_poolings(folder, settings, says):
    declare(folder, Pooling=pooling(folder) | settings)
    assert says in problem(folder)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "modules.json is not valid JSON"),
        ({"a": 1}, "must hold a list"),
        ([], "not a Transformer"),
        ([{"type": f"{PLACE}.Transformer"}] * 21, "at most 20"),
        ([{"type": f"{PLACE}.Transformer", "path": "0_Transformer"}], "not a Transformer in"),
        ([{"type": f"{PLACE}.Transformer"}], "followed by nothing"),
        ([{"type": f"{PLACE}.Transformer"}, {"type": "their_code.Pooling"}], "code of its own"),
        ([{"type": f"{PLACE}.Transformer"}, {"path": "1_Pooling"}], "names no type"),
        ([{"type": f"{PLACE}.Transformer"}, {"type": f"{PLACE}.Pooling"}], "reads None numbers"),
        *(
            ([{"type": f"{PLACE}.Transformer"}, {"type": f"{PLACE}.Pooling", "path": path}], says)
            for path in ("../outside", "/tmp", "a/b", "..", 3, "x" * 200)
            for says in ["must be inside this folder"]
        ),
    ],
)
def test_lists_of_modules(folder, content, says):
    write(folder / "modules.json", content)
    assert says in problem(folder)


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        ("LSTM", {}, "has the module 'LSTM', which is not supported"),
        ("Pooling", {}, "has the module 'Pooling'"),
        ("Dense", {"in_features": 3, "out_features": 2}, "maps 3 to 2 dimensions"),
        ("Dense", {"out_features": 2, "activation_function": "os.system"}, "'os.system'"),
        ("Dense", {"out_features": 2, "activation_function": "torch.hub.load"}, "torch.hub.load"),
        ("Dense", {"out_features": 10**12}, "holds"),
        ("Dense", {"out_features": 2, "module_input_name": "token_embeddings"}, "module_input"),
        ("Normalize", {"module_output_name": "token_embeddings"}, "module_output_name"),
        ("LayerNorm", {}, "no model.safetensors, and pickled weights are never opened"),
    ],
)
def test_what_follows_the_pooling(folder, kind, settings, says):
    n = width(folder)
    mean = {"word_embedding_dimension": n}
    if kind == "Pooling":
        named = {"Pooling": mean}
        declare(folder, **named)
        listed = json.loads((folder / "modules.json").read_text())
        write(folder / "modules.json", [*listed, listed[-1]])
    else:
        full = {"in_features": n, "activation_function": TANH, **settings}
        declare(folder, Pooling=mean, **{kind: full})
        if kind == "Dense":
            tensors = {"linear.weight": torch.zeros(2, n), "linear.bias": torch.zeros(2)}
            save_file(tensors, folder / "2_Dense/model.safetensors")
    assert says in problem(folder)


def test_weights_that_are_not_finite_or_are_pickled(folder):
    n = width(folder)
    dense = {"in_features": n, "out_features": 2, "bias": False}
    declare(folder, Pooling={"word_embedding_dimension": n}, Dense=dense)
    (folder / "2_Dense/pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'echo'\ntR.")
    assert "pickled weights are never opened" in problem(folder)
    weight = torch.full((2, n), torch.nan)
    save_file({"linear.weight": weight}, folder / "2_Dense/model.safetensors")
    assert "NaN" in problem(folder)
    save_file({"linear.weight": weight.zero_()}, folder / "2_Dense/model.safetensors")
    assert not vz.load(folder, device="cpu").declared.problem


def test_a_link_out_of_the_folder_is_not_followed(folder, tmp_path):
    n = width(folder)
    declare(folder, Pooling={"word_embedding_dimension": n})
    outside = tmp_path / "outside"
    shutil.move(folder / "1_Pooling", outside)
    os.symlink(outside, folder / "1_Pooling")
    assert "leaves the folder" in problem(folder)


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("config_sentence_transformers.json", {"model_type": "SparseEncoder"}, "SparseEncoder"),
        ("config_sentence_transformers.json", {"prompts": ["a"]}, "its prompts are"),
        ("config_sentence_transformers.json", {"prompts": {"query": 3}}, "has the prompt 3"),
        ("config_sentence_transformers.json", {"prompts": {"q": "x" * 10_001}}, "has the prompt"),
        ("config_sentence_transformers.json", '{"prompts": {"q": "\\ud800"}}', "has the prompt"),
        (
            "config_sentence_transformers.json",
            {"default_prompt_name": "q"},
            "not one of its prompts",
        ),
        ("sentence_bert_config.json", {"max_seq_length": "many"}, "max_seq_length is 'many'"),
        ("sentence_bert_config.json", {"max_seq_length": 0}, "max_seq_length is 0"),
        ("sentence_bert_config.json", {"transformer_task": "fill-mask"}, "transformer_task"),
        ("sentence_bert_config.json", {"module_output_name": "x"}, "module_output_name"),
        (
            "sentence_bert_config.json",
            {"modality_config": {"text": {"method_output_name": "pooler_output"}}},
            "pools something other",
        ),
        (
            "sentence_bert_config.json",
            {"modality_config": {"image": {}}},
            "not that of a plain text model",
        ),
        ("sentence_bert_config.json", {"tokenizer_args": {"padding_side": "left"}}, "padding_side"),
        ("sentence_bert_config.json", {"query_expansion": {"length": 3}}, "query_expansion"),
        ("sentence_bert_config.json", "[]", "not an object"),
    ],
)
def test_settings_of_the_whole(folder, file, content, says):
    declare(folder, Pooling=pooling(folder))
    write(folder / file, content)
    assert says in problem(folder)


def test_a_folder_without_modules_declares_nothing(small):
    assert vz.load(small, device="cpu").declared is None
