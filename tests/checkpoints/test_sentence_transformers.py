"""Declared pooling equals sentence-transformers' own vectors, run on small random models."""

import json
import logging
import warnings

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Dense,
    Dropout,
    LayerNorm,
    Normalize,
    Pooling,
    Transformer,
)
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
)

import viz_encoder as vz
from tests.slow import slow_but
from viz_encoder.analyses.collection import collection
from viz_encoder.checkpoints import BUILTIN
from viz_encoder.checkpoints.sentence_transformers import write_declared
from viz_encoder.cli import main
from viz_encoder.errors import InputError, SelectionError

pytestmark = pytest.mark.parity
EXACT = 1e-5
SPECIAL = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
WORDS = ("query", "passage", ":", "the", "a", "bank", "river", "loan", "green", "Green")
TOKENS = [*SPECIAL.values(), "[MASK]", *WORDS]
TEXTS = ["the bank", "a green river : the loan", "loan", "the river a bank the Green loan " * 2]
SIZES = {
    **{"vocab_size": len(TOKENS), "hidden_size": 16, "num_hidden_layers": 2},
    **{"num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 40},
    "pad_token_id": 1,
}
MODELS = {
    "bert": lambda: BertModel(BertConfig(**SIZES)),
    "roberta": lambda: RobertaModel(RobertaConfig(**SIZES, type_vocab_size=1)),
    "mpnet": lambda: MPNetModel(MPNetConfig(**SIZES)),
}


def base(folder, family="bert"):
    """A small random transformers model and its tokenizer; the Transformer module of both."""
    torch.manual_seed(1)
    model = MODELS[family]().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    model.save_pretrained(folder)
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(TOKENS)}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.normalizer = normalizers.NFC()
    pair = [("[CLS]", 2), ("[SEP]", 3)]
    words.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, pair)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, mask_token="[MASK]", model_max_length=20, **SPECIAL
    )
    tokenizer.save_pretrained(folder)
    return Transformer(str(folder))


def after(transformer, *modules, **options):
    """The SentenceTransformer of these modules, random parameters made uneven."""
    torch.manual_seed(5)
    model = SentenceTransformer(modules=[transformer, *modules], device="cpu", **options).eval()
    with torch.no_grad():
        for module in modules:
            for parameter in module.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.5)
    return model


PROMPTS = {"query": "query : ", "passage": "the passage : "}
NAMED = {"prompts": PROMPTS}
CASES = {  # the modules behind the encoder, made anew for each test, and options of the whole
    "mean, normalize": (lambda: [Pooling(16, "mean"), Normalize()], {}),
    "cls, dense tanh": (lambda: [Pooling(16, "cls"), Dense(16, 7)], {}),
    "mean + max": (lambda: [Pooling(16, ["mean", "max"])], {}),
    "all, dense, norm": (
        lambda: [
            Pooling(16, list(Pooling.POOLING_MODES)[::-1]),  # in another order than of older files
            Dense(96, 9, bias=False, activation_function=nn.Identity()),
            LayerNorm(9),
            Normalize(),
        ],
        {},
    ),
    "weightedmean": (lambda: [Pooling(16, "weightedmean")], {}),
    "lasttoken": (lambda: [Pooling(16, "lasttoken"), Normalize()], {}),
    "mean_sqrt_len": (lambda: [Pooling(16, "mean_sqrt_len_tokens"), Dropout(0.5)], {}),
    "gelu, residual": (
        lambda: [
            Pooling(16, "mean"),
            Dense(16, 16, activation_function=nn.GELU(), use_residual=True),
            Dense(16, 5, activation_function=nn.ReLU(), use_residual=True),
        ],
        {},
    ),
    "prompts": (lambda: [Pooling(16, "mean"), Normalize()], NAMED),
    "default prompt": (lambda: [Pooling(16, "mean")], {**NAMED, "default_prompt_name": "passage"}),
    **{
        f"{mode} without prompt": (
            lambda mode=mode: [Pooling(16, mode, include_prompt=False)],
            NAMED,
        )
        for mode in Pooling.POOLING_MODES
    },
}
FEW = ["all, dense, norm", "gelu, residual", "default prompt", "mean without prompt"]
OWN = [*("cls without prompt", "weightedmean without prompt"), *("lasttoken", "mean_sqrt_len")]


def case_of(name):
    make, options = CASES[name]
    return make(), options


@pytest.fixture(autouse=True)
def quiet():
    """Warnings that sentence-transformers gives of its own old names."""
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def saved(tmp_path, modules, options, family="bert"):
    """The model as it was saved, and the folder."""
    model = after(base(tmp_path / "base", family), *modules, **options)
    folder = tmp_path / "model"
    model.save_pretrained(str(folder), create_model_card=False)
    return SentenceTransformer(str(folder), device="cpu"), folder


def wanted(model, texts=TEXTS, **options):
    return model.encode(texts, convert_to_numpy=True, show_progress_bar=False, **options)


def equal(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= EXACT * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("case", slow_but([*FEW, *OWN], CASES))
def test_vectors_are_those_of_sentence_transformers(case, tmp_path):
    modules, options = case_of(case)
    model, folder = saved(tmp_path, modules, options)
    encoder = vz.load(folder, device="cpu")
    assert not encoder.declared.problem
    for prompt in [None, *options.get("prompts", {})]:
        found = collection(encoder, TEXTS, methods=["declared"], states=[-1], prompt=prompt)
        equal(found.of("declared", -1), wanted(model, prompt_name=prompt))
        inputs = encoder.read(TEXTS, prompt=prompt, declared=True)
        traces = vz.capture(encoder, inputs)
        n_prompt = traces[0].sample.n_prompt
        assert bool(n_prompt) == bool(prompt or options.get("default_prompt_name"))
        output = torch.stack([trace.output for trace in traces])
        assert not inputs.valid.all()  # shorter texts are padded
        pooled = vz.pool(output, inputs.valid, "declared", encoder=encoder, n_prompt=n_prompt)
        equal(pooled, wanted(model, prompt_name=prompt))


def test_the_built_in_model(minilm):
    folder = BUILTIN["all-MiniLM-L6-v2"].folder()
    model = SentenceTransformer(str(folder), device="cpu")
    texts = ["The bank approved the loan.", "river", "word " * 300]
    found = collection(minilm, texts, methods=["declared", "mean"], states=[-1])
    expected = wanted(model, texts)
    equal(found.of("declared", -1), expected)
    equal(found.cosine("mean"), expected @ expected.T)  # this model ends with a normalization
    assert "302 tokens" in found.notes[0] and "the last 46 were cut" in found.notes[0]
    read = vz.load(folder, device="cpu").declared
    assert said(read) == said(minilm.declared)


def said(declared):
    return {
        "words": declared.words,
        **{k: v for k, v in vars(declared).items() if k != "steps"},
        "prompts": dict(declared.prompts),
    }


def test_texts_in_small_letters(tmp_path):
    model, folder = saved(tmp_path, [Pooling(16, "mean")], {})
    settings = {"max_seq_length": 20, "do_lower_case": True}
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings))
    model = SentenceTransformer(str(folder), device="cpu")
    encoder = vz.load(folder, device="cpu")
    assert encoder.declared.lower_case
    texts = ["the Green river", "GREEN"]
    found = collection(encoder, texts, methods=["declared"], states=[-1])
    equal(found.of("declared", -1), wanted(model, texts))
    assert vz.capture(encoder, "GREEN").tokens == ("[CLS]", "green", "[SEP]")


@pytest.mark.parametrize("where", ["sentence_bert_config.json", "tokenizer_config.json"])
def test_a_text_longer_than_declared_is_cut_or_refused(where, tmp_path):
    _, folder = saved(tmp_path, [Pooling(16, "mean")], {})
    key = "max_seq_length" if where.startswith("sentence") else "model_max_length"
    path = folder / where
    about = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**about, key: 9}))
    model = SentenceTransformer(str(folder), device="cpu")
    encoder, text = vz.load(folder, device="cpu"), TEXTS[3]
    assert encoder.declared.max_tokens == model.max_seq_length == 9
    whole = vz.capture(encoder, text)
    assert whole.n_tokens == 16  # the page reads all of it
    with pytest.raises(InputError, match=r"16 tokens.* first 9 .*max_seq_length"):
        vz.pool(whole.output, whole.valid, "declared", encoder=encoder)
    assert vz.pool(whole.output, whole.valid, "mean", encoder=encoder).shape == (16,)
    found = collection(encoder, TEXTS, methods=["declared"], states=[-1])
    equal(found.of("declared", -1), wanted(model))
    assert len(found.notes) == 1 and found.notes[0].startswith("Item 4: The text has 16 tokens")


def test_where_a_prompt_makes_a_difference_it_must_be_said(tmp_path):
    for number, name in enumerate(("default prompt", "mean without prompt")):
        modules, options = case_of(name)
        _, folder = saved(tmp_path / str(number), modules, options)
        encoder = vz.load(folder, device="cpu")
        trace = vz.capture(encoder, "the bank")
        with pytest.raises(SelectionError, match=r"n_prompt=trace\.sample\.n_prompt"):
            vz.pool(trace.output, trace.valid, "declared", encoder=encoder)
        assert vz.pool(trace.output, trace.valid, "declared", encoder=encoder, n_prompt=0).any()
        assert vz.attribute(encoder, trace, of="pooled").score > 0
    with pytest.raises(SelectionError, match=r"no prompt named 'odd'; choose one of .*query"):
        encoder.read("the bank", prompt="odd")


def test_a_prompt_is_told_and_kept_with_the_run(tmp_path):
    modules, options = case_of("mean without prompt")
    _, folder = saved(tmp_path, modules, options)
    encoder = vz.load(folder, device="cpu")
    trace = vz.capture(encoder, encoder.read("the bank", prompt="query"))[0]
    assert trace.tokens == ("[CLS]", "query", ":", "the", "bank", "[SEP]")
    assert trace.sample.n_prompt == 3
    assert "'query : ' was put before the text" in trace.notes[0]
    trace.save(tmp_path / "run.safetensors")
    assert vz.Trace.load(tmp_path / "run.safetensors").sample.n_prompt == 3


@pytest.mark.parametrize("case", slow_but(["all, dense, norm", "prompts"], CASES))
def test_what_is_written_is_read_by_both(case, tmp_path):
    modules, options = case_of(case)
    model, folder = saved(tmp_path, modules, options)
    encoder = vz.load(folder, device="cpu")
    copy = base(tmp_path / "copy") and tmp_path / "copy"
    assert write_declared(encoder.declared, copy, 16)
    again = vz.load(copy, device="cpu")
    assert said(again.declared) == said(encoder.declared)
    theirs = SentenceTransformer(str(copy), device="cpu")
    equal(wanted(theirs), wanted(model))
    found = collection(again, TEXTS, methods=["declared"], states=[-1])
    equal(found.of("declared", -1), wanted(model))


def test_a_model_in_memory_and_a_saved_copy_pool_alike(tmp_path):
    modules, options = case_of("cls, dense tanh")
    model, _ = saved(tmp_path, modules, {**options, "prompts": PROMPTS})
    loaded = vz.load(model, device="cpu")
    loaded.save(tmp_path / "again")
    for encoder in (loaded, vz.load(tmp_path / "again", device="cpu")):
        found = collection(encoder, TEXTS, methods=["declared"], states=[-1], prompt="query")
        equal(found.of("declared", -1), wanted(model, prompt_name="query"))


class Halved(SentenceTransformer):
    """One that computes something of its own after its modules."""

    def forward(self, features, **options):
        found = super().forward(features, **options)
        return {**found, "sentence_embedding": found["sentence_embedding"] / 2}


class Rounded(SentenceTransformer):
    """One that gives out something other than it computes."""

    def encode(self, inputs, **options):
        return np.round(super().encode(inputs, **options), 1)


def hooked(model):
    model.register_forward_hook(
        lambda module, given, out: {**out, "sentence_embedding": -out["sentence_embedding"]}
    )
    return model


def cut(model, dim=4):
    model.truncate_dim = dim
    return model


WRAPPED = [
    (lambda model: Halved(modules=list(model), device="cpu"), "vectors differ from those of its"),
    (lambda model: Rounded(modules=list(model), device="cpu"), "vectors differ from those of its"),
    (cut, "truncate_dim is 4, but vectors here keep all 16 dimensions: set it to None"),
    (lambda model: hooked(cut(model, None)), "vectors differ from those of its modules"),
]


def test_a_wrapper_that_computes_something_else_is_not_pooled_for(tmp_path):
    """Its maps are its own; only its vectors would be others."""
    model, _ = saved(tmp_path, [Pooling(16, "mean"), Normalize()], {})
    plain = vz.load(model, device="cpu")
    assert not plain.declared.problem and not plain.card.notes
    expected = vz.capture(plain, "the bank").attention(1)
    for other, says in WRAPPED:
        encoder = vz.load(other(model), device="cpu")
        trace = vz.capture(encoder, "the bank")
        assert torch.equal(trace.attention(1), expected)
        with pytest.raises(SelectionError, match=says) as fault:
            vz.pool(trace.output, trace.valid, "declared", encoder=encoder)
        assert encoder.card.notes == (str(fault.value),)


@pytest.mark.parametrize("case", slow_but(["all, dense, norm", "prompts"], CASES))
def test_a_plain_wrapper_equals_its_modules(case, tmp_path):
    """With its own tokenizer, and with one that reads otherwise, which `encode` would not use."""
    modules, options = case_of(case)
    model = after(base(tmp_path), *modules, **options).train()
    renamed = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str().replace("bank", "cat"))
    for given in (None, renamed):
        encoder = vz.load(model, tokenizer=given, device="cpu")
        assert not encoder.declared.problem and not encoder.card.notes
    assert model.training  # as it was


def test_a_wrapper_that_cannot_be_run_is_named(tmp_path):
    model = after(base(tmp_path), Pooling(16, "mean"))
    model.encode = lambda texts: 0
    encoder = vz.load(model, device="cpu")
    assert not encoder.declared.problem
    assert (
        "not compared with the model's own: the model could not be run (" in encoder.card.notes[0]
    )


def test_the_command_reads_with_a_prompt(tmp_path, capsys):
    modules, options = case_of("mean without prompt")
    model, folder = saved(tmp_path, modules, options)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    given = ["pool", str(tmp_path / "texts.txt"), "--model", str(folder), "--prompt", "query"]
    assert main([*given, "-o", str(tmp_path / "out.npz"), "--device", "cpu"]) == 0
    said = capsys.readouterr()
    assert "by declared (the model's own: mean), after 2 blocks" in said.out
    assert "Item 1: The model's prompt 'query : ' was put before the text." in said.err
    with np.load(tmp_path / "out.npz") as file:
        texts = [text.strip() for text in TEXTS]
        equal(file["vectors_declared"][0], wanted(model, texts, prompt_name="query"))
    assert main(["models", str(folder)]) == 0
    assert "own pooling      mean, of 20 tokens at most" in capsys.readouterr().out
