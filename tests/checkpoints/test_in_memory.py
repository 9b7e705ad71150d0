"""Models in memory load as their files do: same weights, same maps; what cannot be read is said."""

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import transformers
from tokenizers import Tokenizer
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
from torch.nn.utils.prune import random_unstructured

import viz_encoder as vz
from tests.checkpoints.cases import CASES
from tests.checkpoints.faults import refuse
from tests.checkpoints.parity import SIZES, TOLERANCE, Case, ask, compare, save
from tests.checkpoints.saved import saved
from tests.shape_checks import shapes_checked
from tests.slow import slow, slow_but
from viz_encoder.checkpoints import LoadedEncoder
from viz_encoder.errors import CheckpointError, InputError, KeyMismatch, UnknownFamily
from viz_encoder.model.declared import Declared

TEXT = "w1 w2 w3 w1"


def first_of_each() -> dict[str, Case]:
    """One case of each model_type of transformers, with a head where there is a case with one."""
    of_transformers = [case for case in CASES if case.save is None]
    return {f"{case.model_type} {case.part}".strip(): case for case in of_transformers}


ONE = first_of_each()
SOME = ["bert", "roberta", "dinov3_vit", "siglip text", "t5", "vit_mae"]


def held(name: str):
    """The reference, its folder, and the encoder of that."""
    found = saved(ONE[name].name)
    return found.reference, found.folder, found.encoder


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    _, folder, _ = held("bert")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]", unk_token="[UNK]"
    )


def bert(kind: type = transformers.BertModel, **settings) -> nn.Module:
    torch.manual_seed(1)
    return kind(transformers.BertConfig(**SIZES, **settings))


def same_weights(a: LoadedEncoder, b: LoadedEncoder) -> bool:
    ours, theirs = a.model.state_dict(), b.model.state_dict()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[k], theirs[k]) for k in ours)


@pytest.mark.parity
@pytest.mark.parametrize("name", slow_but(SOME, ONE))
def test_it_equals_the_reference(name):
    reference, _, from_files = held(name)
    encoder = vz.load(reference, device="cpu", part=ONE[name].part)
    apart = compare(encoder, ask(ONE[name], encoder, reference))
    assert apart.worst <= TOLERANCE * ONE[name].loose, apart
    assert encoder.config == from_files.config and same_weights(encoder, from_files)
    assert encoder.card.n_parameters == from_files.card.n_parameters  # what is tied stays so
    notes = list(encoder.card.notes)
    if name.startswith("vit_mae"):  # the one that is not the same twice
        assert "(it masks patches at random)" in notes.pop()
    assert notes == list(from_files.card.notes)
    assert encoder.padding.no_position == from_files.padding.no_position


@pytest.mark.parametrize("kind", ["fast", "tokenizers"])
def test_texts_are_read_with_the_tokenizer_that_was_given(kind):
    reference, folder, from_files = held("bert")
    given = tokenizer()
    given = given if kind == "fast" else given.backend_tokenizer
    before = Tokenizer.from_file(str(folder / "tokenizer.json"))
    before.enable_padding(length=9)
    before.enable_truncation(3)
    encoder = vz.load(reference, tokenizer=before if kind == "tokenizers" else given, device="cpu")
    ours, theirs = vz.capture(encoder, TEXT), vz.capture(from_files, TEXT)
    assert ours.tokens == theirs.tokens == tuple(TEXT.split())
    assert torch.equal(ours.output, theirs.output)
    assert before.padding["length"] == 9 and before.truncation  # the given one is as it was


def test_a_tokenizer_goes_before_that_of_a_folder(tmp_path):
    _, folder, _ = held("bert")
    other = Tokenizer.from_str((folder / "tokenizer.json").read_text().replace('"w7"', '"cat"'))
    encoder = vz.load(folder, tokenizer=other, device="cpu")
    assert vz.capture(encoder, "cat w8").tokens == ("cat", "w8")
    assert encoder.padding.id == 0


def test_without_a_tokenizer_it_takes_ids_and_says_so():
    reference, _, from_files = held("bert")
    encoder = vz.load(reference, device="cpu")
    assert encoder.reader is None and encoder.kind == "text"
    ids = from_files.read(TEXT).values
    with torch.no_grad():
        theirs = reference(ids, output_attentions=True).attentions
    trace = vz.capture(encoder, ids)
    assert max((trace.attention(n) - m[0]).abs().max() for n, m in enumerate(theirs)) <= TOLERANCE
    with pytest.raises(InputError, match=r"no tokenizer: give token ids, .* or load it with tok"):
        vz.capture(encoder, TEXT)


def test_pictures_are_prepared_by_the_processor_that_was_given(tmp_path):
    torch.manual_seed(0)
    sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = transformers.ViTModel(
        transformers.ViTConfig(**sizes, intermediate_size=40, image_size=16, patch_size=4)
    ).eval()
    size = {"height": 16, "width": 16}
    processor = transformers.ViTImageProcessor(
        size=size, image_mean=[0.1, 0.2, 0.3], image_std=[0.4, 0.5, 0.6]
    )
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    picture = torch.randint(0, 255, (20, 30, 3), dtype=torch.uint8).numpy()
    whole = SimpleNamespace(image_processor=processor)  # as AutoProcessor gives one
    for given in (processor, whole):
        ours = vz.load(model, processor=given, device="cpu").read(picture)
        assert torch.equal(ours.values, vz.load(tmp_path, device="cpu").read(picture).values)
    bare = vz.load(model, device="cpu")
    with pytest.raises(InputError, match=r"no picture settings: give pixels .* processor="):
        bare.read(picture)
    assert vz.capture(bare, ours.values).n_tokens == 17


def test_a_whole_clip_gives_the_half_that_is_asked_for():
    reference, _, _ = held("clip text")
    assert vz.load(reference, part="text", device="cpu").kind == "text"
    vision = vz.load(reference, device="cpu")
    assert vision.kind == "image" and any("part=" in note for note in vision.card.notes)
    with pytest.raises(CheckpointError, match="part is 'ears'"):
        vz.load(reference, part="ears")


class Transformer(nn.Module):
    """As sentence-transformers holds a model of transformers."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.auto_model, self.tokenizer = model, tokenizer()
        self.do_lower_case = False

    def get_config_dict(self) -> dict[str, object]:
        return {"max_seq_length": 5, "do_lower_case": False}


class Pooling(nn.Module):
    def get_config_dict(self) -> dict[str, object]:
        return {"word_embedding_dimension": 24, "pooling_mode_cls_token": True}


Pooling.__module__ = "sentence_transformers.models.Pooling"


def test_a_sentence_transformer_brings_its_tokenizer_and_its_pooling():
    reference, _, from_files = held("bert")
    model = nn.Sequential(Transformer(reference), Pooling())
    model.prompts, model.default_prompt_name, model.max_seq_length = {"query": "w9 "}, None, 5
    encoder = vz.load(model, device="cpu")
    assert torch.equal(vz.capture(encoder, TEXT).output, vz.capture(from_files, TEXT).output)
    assert isinstance(encoder.declared, Declared) and encoder.declared.methods == ("cls",)
    assert encoder.declared.max_tokens == 5 and encoder.declared.prompts["query"] == "w9 "
    assert vz.load(model[0], device="cpu").declared is None  # its first module alone
    assert vz.load(model[0], device="cpu").reader is not None


OF_TIMM = [case for case in CASES if case.model_type == "timm_wrapper" and case.name != "timm in "
           "transformers"]  # fmt: skip


def as_timm_builds_it(case: Case, folder: Path) -> tuple[nn.Module, nn.Module]:
    """The plain reference, with what timm puts beside a model's tensors."""
    reference = save(case, folder)
    file = json.loads((folder / "config.json").read_text())
    model = getattr(reference, "timm_model", reference)
    model.pretrained_cfg = {**file.get("pretrained_cfg", {}), "architecture": file["architecture"]}
    model.global_pool = file.get("global_pool", "token")
    for block in model.blocks:
        heads = (file.get("model_args") or {}).get("num_heads")
        block.attn.num_heads = heads or vz.load(folder, device="cpu").config.n_heads
    return model, reference


OF_TORCH = [case for case in CASES if case.model_type == "torch_transformer_encoder"]


@pytest.mark.parity
@pytest.mark.parametrize(
    "case", slow_but([OF_TIMM[0], OF_TORCH[1]], OF_TIMM + OF_TORCH), ids=lambda case: case.name
)
def test_a_vit_of_timm_or_an_encoder_of_torch(case, tmp_path):
    built = as_timm_builds_it(case, tmp_path) if case in OF_TIMM else [save(case, tmp_path)] * 2
    encoder, from_files = vz.load(built[0], device="cpu"), vz.load(tmp_path, device="cpu")
    assert compare(encoder, ask(case, encoder, built[1])).worst <= TOLERANCE * case.loose
    ours, theirs = (unnamed(one.config) for one in (encoder, from_files))
    assert ours == theirs and same_weights(encoder, from_files)
    if case in OF_TORCH:
        assert encoder.card.name == "TransformerEncoder" and not encoder.card.notes


def unnamed(config):
    """Without names of labels, which timm does not keep."""
    heads = tuple(replace(head, labels=()) for head in config.prediction_heads)
    return replace(config, prediction_heads=heads)


PLAIN = next(case for case in OF_TIMM if case.name == "timm vit_tiny_patch4_16")


def test_what_a_name_of_timm_does_not_tell_is_compared(tmp_path):
    model, _ = as_timm_builds_it(PLAIN, tmp_path)
    for given in ({}, {"processor": transformers.ViTImageProcessor()}):
        vz.load(model, device="cpu", **given)
        for part, name, value, says in (
            (model.blocks[0].mlp, "act", nn.ReLU(), "activation is ReLU"),
            (model.blocks[0].norm1, "eps", 1e-3, "norms have eps 0.001"),
        ):
            before = getattr(part, name, None)
            setattr(part, name, value)
            refused(model, CheckpointError, says, **given)
            setattr(part, name, before)


@pytest.mark.parametrize("where", [slow("file"), slow("arguments"), "memory"])
@pytest.mark.parametrize("pool", ["max", ""])
def test_a_classifier_of_timm_that_reads_another_pooling_is_named(pool, where, tmp_path):
    model, _ = as_timm_builds_it(PLAIN, tmp_path)
    plain = vz.load(tmp_path, device="cpu")
    file = json.loads((tmp_path / "config.json").read_text())
    other = {"model_args": {"global_pool": pool}} if where == "arguments" else {"global_pool": pool}
    (tmp_path / "config.json").write_text(json.dumps(file | other))
    model.global_pool = pool
    encoder = vz.load(model if where == "memory" else tmp_path, device="cpu")
    assert plain.config.prediction_heads and not plain.card.notes
    assert encoder.config == replace(plain.config, prediction_heads=())
    assert "classification head (head) was not loaded" in encoder.card.notes[0]


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize(
    "activation", [nn.GELU(), nn.GELU("tanh"), slow(nn.functional.silu), slow(nn.ReLU())]
)
def test_an_encoder_of_torch_with_any_axes_and_activation(activation, batch_first):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 12, activation=activation, batch_first=batch_first)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = torch.randn(1, 5, 8)
    # With gradients: torch's fused path takes GELU("tanh") for GELU, and differs by 1e-4.
    theirs = model(x if batch_first else x.transpose(0, 1)).detach()
    encoder = vz.load(model, device="cpu")
    apart = vz.capture(encoder, x).output - theirs.reshape(5, 8)
    assert apart.abs().max() <= TOLERANCE * theirs.abs().max() and not encoder.card.notes


def test_an_encoder_of_torch_that_is_not_plain():
    layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    model.layers[1].norm_first = True
    refused(model, CheckpointError, r"computes something other .* vz\.record")
    model.layers[1] = type("Mine", (nn.TransformerEncoderLayer,), {"__module__": "mine"})(8, 2, 12)
    refused(model, UnknownFamily, r"its module layers\.1 \(Mine\) runs code of mine.*vz\.record")
    refused(layer, UnknownFamily, r"nor a torch\.nn\.TransformerEncoder .*vz\.record")


def test_ours():
    torch.manual_seed(0)
    model = vz.Encoder(vz.EncoderConfig(n_layers=2, d_model=16, n_heads=2, d_ff=24, vocab_size=30))
    loaded = vz.load(model)
    ids = torch.tensor([[3, 4, 5]])
    assert torch.equal(vz.capture(loaded, ids).output, vz.capture(model, ids).output)
    assert loaded.model is not model and not loaded.card.untrained and model.training
    assert vz.load(loaded) is loaded
    wide = vz.load(loaded, dtype=torch.float64)
    assert wide is not loaded and wide.dtype == torch.float64 and loaded.dtype == torch.float32
    text = vz.load(loaded, tokenizer=tokenizer())
    assert vz.capture(text, TEXT).tokens == tuple(TEXT.split()) and loaded.reader is None


def test_the_reader_of_ours_is_kept_in_another_dtype(grammar):
    wide = vz.load(grammar, dtype=torch.float64)
    assert vz.capture(wide, "the keys").tokens == vz.capture(grammar, "the keys").tokens
    scene = vz.load("scene", device="cpu")
    assert vars(vz.load(scene, dtype=torch.float64).reader) == vars(scene.reader)


def test_training_the_model_later_changes_nothing():
    model = bert()
    encoder = vz.load(model)
    before = vz.capture(encoder, torch.tensor([[5, 6, 7]])).output
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(2)
    assert torch.equal(vz.capture(encoder, torch.tensor([[5, 6, 7]])).output, before)


def test_any_dtype_and_training_mode():
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        model = bert().to(dtype).train()
        encoder = vz.load(model)
        assert encoder.dtype == torch.float32 and model.training and not encoder.model.training
        weight = model.embeddings.word_embeddings.weight
        assert torch.equal(encoder.model.embed.tokens.word.weight, weight.float())
        assert model.dtype == dtype
        name = str(dtype).removeprefix("torch.")
        said = f"The model in memory is {name}; here it is computed in float32."
        assert encoder.card.notes == (() if dtype is torch.float64 else (said,))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_what_is_wrapped_is_unwrapped():
    model = bert()
    for wrapped in (
        torch.compile(model),
        nn.DataParallel(model),
        torch.compile(nn.DataParallel(model)),
    ):
        assert same_weights(vz.load(wrapped), vz.load(model))


def test_a_tied_decoder_is_one_tensor():
    encoder = vz.load(bert(transformers.BertForMaskedLM))
    decoder, words = (
        encoder.model.heads["masked"].out.weight,
        encoder.model.embed.tokens.word.weight,
    )
    assert decoder.data_ptr() == words.data_ptr()


def refused(model: object, kind: type, says: str, **given) -> None:
    assert re.search(says, said := refuse(model, kind, **given)), said


class Attention(nn.Linear):
    """Somebody's own."""


class Mine(transformers.BertModel):
    """Somebody's own."""


def test_faults_of_a_model_in_memory_name_no_file():
    impossible = "^The model's config does not describe a possible encoder"
    for name, value, says in (
        *(("hidden_act", "odd", impossible), ("num_attention_heads", 5, impossible)),
        ("position_embedding_type", "relative_key", "^The model's config says position_embedding_"),
        ("num_hidden_layers", 4, "the model's config"),
    ):
        model = bert()
        setattr(model.config, name, value)
        refused(model, CheckpointError, f"(?s){says}(?!.*config\\.json)")


def test_a_family_that_is_not_ours_points_to_record():
    gpt = transformers.GPT2Model(transformers.GPT2Config(n_layer=1, n_embd=24, n_head=2))
    refused(gpt, UnknownFamily, r"GPT2Model: .*'gpt2'.*vz\.record")
    refused(nn.Linear(2, 2), UnknownFamily, r"Linear is not .*vz\.record")
    refused(nn.Sequential(), UnknownFamily, r"Sequential is not .*vz\.record")


def test_code_of_others_points_to_record():
    refused(
        Mine(transformers.BertConfig(**SIZES)),
        UnknownFamily,
        r"the model \(Mine\) runs code of .*vz\.record",
    )
    model = bert()
    model.encoder.layer[1].attention.self.query = Attention(24, 24)
    refused(model, UnknownFamily, r"module encoder\.layer\.1\.attention\.self\.query \(Attention\)")
    model = bert()
    model.encoder.layer[0].forward = lambda *given, **more: given
    refused(model, UnknownFamily, r"encoder\.layer\.0 \(BertLayer\) runs a forward of its own")


def test_weights_that_are_not_the_models_own():
    model = bert()
    model.encoder.layer[0].output.dense = nn.ModuleDict({"base_layer": nn.Linear(40, 24)})
    refused(model, CheckpointError, r"PEFT.*vz\.record")  # a model itself cannot merge them
    model.merge_and_unload = model.half
    refused(model, CheckpointError, r"PEFT.*give what model\.merge_and_unload\(\) returns\.$")
    model = bert()
    model.config.quantization_config = {"bits": 4}
    refused(model, CheckpointError, "quantized")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that it is going away
        packed = torch.ao.quantization.quantize_dynamic(bert(), {nn.Linear}, torch.qint8)
    refused(packed, CheckpointError, "quantized")
    with torch.device("meta"):
        refused(bert(), CheckpointError, "meta device.*device_map")
    model = bert()
    with torch.no_grad():
        model.embeddings.LayerNorm.weight[3] = torch.nan
    refused(model, CheckpointError, r"embeddings\.LayerNorm\.weight holds NaN")


def test_keys_must_match_both_ways():
    model = bert()
    model.extra = nn.Linear(2, 2)
    refused(model, KeyMismatch, r"^The model holds .* does not know: extra\.weight.*vz\.record")
    model = bert()
    model.encoder.layer = model.encoder.layer[:2]
    refused(model, KeyMismatch, r"missing: layers\.2.*were changed after it was built.*vz\.record")
    model = bert()
    model.config.intermediate_size = 41
    refused(model, KeyMismatch, "wrong shape: .*ff")


def test_what_is_given_beside_a_model_must_be_what_it_takes():
    model, words = bert(), tokenizer()
    refused(model, CheckpointError, r"tokenizer is Linear.*fast", tokenizer=nn.Linear(1, 1))
    refused(model, CheckpointError, r"processor is dict", processor={})
    refused(model, CheckpointError, "reads no pictures", processor=transformers.ViTImageProcessor())
    refused("scene", CheckpointError, "reads no texts", tokenizer=words)
    refused(model, CheckpointError, "seed is for random weights", seed=1)


def edited(model: nn.Module, name: str, value: object) -> None:
    setattr(model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2], value)


HEAD = "encoder.layer.0.attention.self"
CHANGES = {  # what no weight and no name of a class tells
    "a hook before": lambda m: m.get_submodule(f"{HEAD}.query").register_forward_pre_hook(
        lambda module, given: (given[0] * 2,)
    ),
    "a hook behind": lambda m: m.encoder.layer[1].register_forward_hook(
        lambda module, given, out: (out[0] * 1.5, *out[1:]) if isinstance(out, tuple) else out * 1.5
    ),
    "an activation": lambda m: edited(
        m, "encoder.layer.0.intermediate.intermediate_act_fn", nn.Identity()
    ),
    "an epsilon": lambda m: edited(m, "encoder.layer.0.output.LayerNorm.eps", 0.5),
    "a scale": lambda m: edited(m, f"{HEAD}.scaling", 1.0),
    "its config": lambda m: setattr(m.config, "hidden_act", "relu"),
    "its segments": lambda m: m.embeddings.token_type_ids.fill_(1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_model_that_computes_something_else_is_refused(change):
    model = bert().train()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.3)
    before = vz.load(model)
    CHANGES[change](model)
    refused(model, CheckpointError, r"something other than its weights.*vz\.record")
    assert model.training and before.card.notes == ()


def test_another_tokenizer_s_padding_is_refused_where_positions_are_counted_past_it():
    torch.manual_seed(0)
    model = transformers.RobertaModel(transformers.RobertaConfig(**SIZES, pad_token_id=1))
    refused(
        model, CheckpointError, "pads with id 0.*counts positions past id 1", tokenizer=tokenizer()
    )
    model.config.pad_token_id = 3  # edited after the rows of positions were chosen
    refused(model, CheckpointError, "something other than its weights")
    sizes = {**SIZES, "vocab_size": 45}
    model = transformers.MPNetModel(transformers.MPNetConfig(**sizes, pad_token_id=3))
    refused(model, CheckpointError, "pad_token_id = 3; MPNet counts positions past id 1")


def test_what_a_norm_hides_from_the_output_is_seen_in_the_hidden_states():
    """Small weights, as transformers draws them: the next norm takes away what was done before."""

    def small():
        torch.manual_seed(0)
        sizes = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 4}
        return transformers.BertModel(
            transformers.BertConfig(**sizes, intermediate_size=40, vocab_size=50)
        ).eval()

    model = small()
    assert vz.load(model, device="cpu").model.config.n_layers == 4
    model.encoder.layer[1].output.LayerNorm.eps = 1.0
    refused(model, CheckpointError, "hidden states after block 2 differ")
    model = small()
    model.encoder.layer[1].register_forward_hook(lambda _, given, out: 1.5 * out)
    refused(model, CheckpointError, "hidden states after block 2 differ")
    assert len(model.encoder.layer[2]._forward_hooks) == 0


def test_what_is_no_model_is_never_looked_for_as_a_folder():
    for given, says in (
        (5, "model is 5; it must be the name"),
        (None, "model is None; it must be"),
        (transformers.BertModel, "model is the class BertModel; it must be"),
        (transformers.BertConfig(), "model is of type BertConfig; it must be"),
    ):
        with shapes_checked(False):
            refused(given, CheckpointError, says)


def test_a_pipeline_is_loaded_by_its_parts():
    whole = transformers.pipeline("feature-extraction", model=bert(), tokenizer=tokenizer())
    says = r"FeatureExtractionPipeline; it must be the model that it holds: (vz\.load\(.*\))\.$"
    with shapes_checked(False), pytest.raises(CheckpointError, match=says) as told:
        vz.load(whole)
    advice = re.search(says, str(told.value))[1]
    assert advice == "vz.load(pipeline.model, tokenizer=pipeline.tokenizer)"
    assert eval(advice, {"vz": vz, "pipeline": whole}).reader is not None
    assert vz.load(whole.model, whole.tokenizer).reader is not None  # in this order without names


@pytest.mark.parametrize("normed", [weight_norm, spectral_norm, random_unstructured])
def test_weights_that_are_made_as_the_model_runs_point_to_record(normed):
    model = bert()
    named = ("weight", 0.5) if normed is random_unstructured else ()
    normed(model.encoder.layer[0].attention.self.query, *named)
    refused(model, KeyMismatch, r"^The model holds .*attention\.self\.query.*vz\.record")
    with torch.no_grad(), vz.record(model.eval()) as recording:
        model(torch.tensor([[5, 6, 7]]))
    assert recording.trace().proof.passed
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 8, batch_first=True), 1).eval()
    normed(encoder.layers[0].linear1, *named)
    refused(
        encoder, CheckpointError, r"layers\.0\.linear1 is computed from other tensors.*vz\.record"
    )
