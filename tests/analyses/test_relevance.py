"""Relevance against autograd on transformers' own maps, and on a forward pass in float64."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers import BertForMaskedLM, BertForSequenceClassification, BertForTokenClassification

import viz_encoder as vz
from tests.checkpoints.cases.bert import build
from tests.checkpoints.parity import WORDS, Case, save
from viz_encoder.analyses.relevance import relevance
from viz_encoder.bundled import asset
from viz_encoder.checkpoints import LoadedEncoder, ModelCard
from viz_encoder.errors import InputError, SelectionError, TooLong, TraceError
from viz_encoder.inputs import Inputs, Sample
from viz_encoder.model import Encoder
from viz_encoder.model.relative import bucket

module = import_module("viz_encoder.analyses.relevance")

TEXT = "w1 w2 [MASK] w3 w4 w5"
KINDS = {
    "classify": (BertForSequenceClassification, {"num_labels": 3}),
    "masked": (BertForMaskedLM, {}),
    "tokens": (BertForTokenClassification, {"num_labels": 5}),
}


def loaded(folder, task):
    kind, settings = KINDS[task]
    reference = save(Case("x", "bert", build(kind, **settings), None), folder)
    return vz.load(folder, device="cpu"), reference


def padded(inputs, n_more):
    """The same sequence with padding behind it."""
    (sample,) = inputs.samples
    tokens = sample.tokens + ("[PAD]",) * n_more
    segments = None if inputs.segments is None else F.pad(inputs.segments, (0, n_more))
    return Inputs(
        F.pad(inputs.values, (0, n_more)), F.pad(inputs.valid, (0, n_more)),
        (Sample(tokens, (False,) * len(tokens)),), segments, padded=True,
    )  # fmt: skip


def as_in_the_paper(score, maps, query):
    """Equations 5 and 6 cell by cell in numpy, float64; the query's row after each layer."""
    gradients = torch.autograd.grad(score, maps)
    total, after = np.eye(maps[0].shape[-1]), []
    for a, g in zip(maps, gradients, strict=True):
        product = a[0].detach().double().numpy() * g[0].double().numpy()
        total = total + np.where(product > 0, product, 0).mean(axis=0) @ total
        after.append(total[query])
    return np.stack(after)


def require_equal(found, expected):
    """Equal in what the layers added to the identity, which alone would hide a small difference."""
    added = np.abs(expected - found.reads).max()
    assert added > 1e-3
    assert np.abs(found.rows - expected).max() <= 1e-4 * added


@pytest.mark.parametrize("n_more", [0, 4])
@pytest.mark.parametrize(
    ("task", "label", "token"),
    [("classify", 2, None), ("masked", "w9", 2), ("masked", 11, 4), ("tokens", 3, 1)],
)
def test_it_equals_autograd_on_the_reference(tmp_path, task, label, token, n_more):
    encoder, reference = loaded(tmp_path, task)
    inputs = encoder.read(TEXT)
    inputs = padded(inputs, n_more) if n_more else inputs
    number = WORDS.index(label) if isinstance(label, str) else label
    out = reference(
        inputs.values, attention_mask=inputs.valid.long(), token_type_ids=inputs.segments,
        output_attentions=True,
    )  # fmt: skip
    logits = out.logits[0] if token is None else out.logits[0, token]
    expected = as_in_the_paper(logits[number], out.attentions, token or 0)
    found = relevance(encoder, inputs, label=label, token=token)
    assert found.number == number and found.task == task and found.token == token
    assert found.score == pytest.approx(float(logits[number].detach()), abs=1e-4)
    assert found.apart <= 1e-5
    require_equal(found, expected)
    assert not found.rows[:, ~inputs.valid[0].numpy()].any()


def by_hand(encoder, x, mask, bias=0.0):
    """A forward pass written out in float64 from the bare weights: the output and its maps."""
    config = encoder.config
    weights = {name: p.detach().double() for name, p in encoder.model.named_parameters()}

    def linear(name, x):
        return F.linear(x, weights[f"{name}.weight"], weights.get(f"{name}.bias"))

    def norm(name, x):
        scale, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
        return F.layer_norm(x, x.shape[-1:], scale, shift, config.norm_eps)

    def attend(stem, x):
        heads = [
            linear(f"{stem}.{part}", x).unflatten(-1, (config.n_heads, -1)).transpose(0, 1)
            for part in "qkv"
        ]
        scores = heads[0] @ heads[1].mT / config.d_head**0.5 + bias
        exps = torch.where(mask, (scores - scores.max()).exp(), 0.0)
        a = (exps / exps.sum(dim=-1, keepdim=True).clamp_min(1e-300)).requires_grad_()
        maps.append(a[None])
        return linear(f"{stem}.o", (maps[-1][0] @ heads[2]).transpose(0, 1).flatten(1))

    def feed(stem, x):
        return linear(f"{stem}.down", F.gelu(linear(f"{stem}.up", x)))

    maps = []
    for n in range(config.n_layers):
        stem = f"layers.{n}"
        if config.norm_placement == "pre":
            x = x + attend(f"{stem}.attn", norm(f"{stem}.attn_norm", x))
            x = x + feed(f"{stem}.ff", norm(f"{stem}.ff_norm", x))
        else:
            x = norm(f"{stem}.attn_norm", x + attend(f"{stem}.attn", x))
            x = norm(f"{stem}.ff_norm", x + feed(f"{stem}.ff", x))
    return (norm("final_norm", x) if config.final_norm else x), maps


def label_of(encoder, read):
    """The scores of a head that is one linear layer."""
    out = encoder.model.heads["classify"].out
    return F.linear(read, out.weight.detach().double(), out.bias.detach().double())


def embedded(encoder, inputs):
    with torch.no_grad():
        return encoder.model.embed(inputs.values, None)[0].double()


@pytest.mark.parametrize("label", [None, "3", 8])
def test_the_scene_model_pre_norm(label):
    scene = vz.load("scene", device="cpu")
    inputs = scene.read(asset("examples/digit.png"))
    x = embedded(scene, inputs)
    output, maps = by_hand(scene, x, torch.ones(len(x), len(x), dtype=torch.bool))
    scores = label_of(scene, output[0])
    number = int(scores.argmax()) if label is None else int(label)
    expected = as_in_the_paper(scores[number], maps, 0)
    found = relevance(scene, inputs, label=label)
    assert found.label == str(number) and found.reads.tolist() == [1.0] + [0.0] * (len(x) - 1)
    require_equal(found, expected)


def tiny(**settings):
    torch.manual_seed(1)
    head = {"task": "classify", "pool": "mean", "n_out": 3}
    config = vz.EncoderConfig(
        n_layers=3, n_heads=2, d_model=8, d_ff=12, vocab_size=9, max_positions=30,
        prediction_heads=(module.HeadConfig(**head),), **settings,
    )  # fmt: skip
    model = Encoder(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return LoadedEncoder(model, None, ModelCard("tiny", "here"))


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("relative", [0, 8])
def test_queries_that_may_attend_to_nothing_and_a_mean_head(placement, relative):
    """Padding far from any token sees none within its window: no NaN may come of it."""
    extra = {"relative_buckets": relative, "relative_distance": 16} if relative else {}
    encoder = tiny(window=2, norm_placement=placement, **extra)
    inputs = padded(encoder.read(torch.tensor([[1, 2, 3, 4, 5, 6]])), 5)
    near = (torch.arange(11)[:, None] - torch.arange(11)).abs() <= 2
    mask = near & inputs.valid[0]
    assert not mask[9].any()
    bias = 0.0
    if relative:
        away = torch.arange(11) - torch.arange(11)[:, None]
        bias = encoder.model.relative.detach().double()[bucket(away.flatten(), 8, 16)]
        bias = bias.unflatten(0, (11, 11)).permute(2, 0, 1)
    output, maps = by_hand(encoder, embedded(encoder, inputs), mask, bias)
    score = label_of(encoder, output[:6].mean(dim=0))[1]
    every = as_in_the_paper(score, maps, slice(0, 6))
    found = relevance(encoder, inputs, label=1)
    assert np.isfinite(found.rows).all()
    require_equal(found, every.mean(axis=1))
    assert np.allclose(found.reads[:6], 1 / 6) and not found.reads[6:].any()
    require_equal(relevance(encoder, inputs, label=1, query=4), every[:, 4])


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("caller", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_the_shared_model_is_left_as_it_was(frozen, caller):
    encoder = tiny()
    encoder.model.requires_grad_(not frozen)
    parameters = dict(encoder.model.named_parameters())
    before = {name: (p.detach().clone(), p._version) for name, p in parameters.items()}
    with caller():
        inputs = encoder.read(torch.tensor([[1, 2, 3, 4]]))
        found = relevance(encoder, inputs, label=0)
    assert np.array_equal(found.rows, relevance(encoder, inputs, label=0).rows)
    for name, parameter in encoder.model.named_parameters():
        value, version = before[name]
        assert parameter is parameters[name] and parameter.grad is None
        assert parameter.requires_grad is not frozen
        assert torch.equal(parameter, value) and parameter._version == version
    assert not any(module._forward_hooks for module in encoder.model.modules())


def test_pixels_made_in_inference_mode():
    scene = vz.load("scene", device="cpu")
    plain = relevance(scene, scene.read(asset("examples/digit.png")), label=3)
    with torch.inference_mode():
        inputs = scene.read(asset("examples/digit.png"))
        made = replace(inputs, values=inputs.values * 1)
        assert made.values.is_inference()
        inside = relevance(scene, made, label=3)
    for found in (inside, relevance(scene, made, label=3)):
        assert np.array_equal(found.rows, plain.rows)


def test_half_precision_is_near():
    scene = vz.load("scene", device="cpu")
    inputs = scene.read(asset("examples/digit.png"))
    exact = relevance(scene, inputs, label=7).rows
    half = vz.load("scene", device="cpu", dtype=torch.bfloat16)
    found = relevance(half, inputs, label=7)
    assert 1e-4 < found.apart < 0.1
    assert np.corrcoef(found.rows[-1, 1:], exact[-1, 1:])[0, 1] > 0.98


def test_a_run_that_differs_is_refused(monkeypatch):
    import viz_encoder.model.written_out as written_out

    encoder = tiny()
    inputs = encoder.read(torch.tensor([[1, 2, 3, 4]]))
    right = written_out.attention_weights
    monkeypatch.setattr(
        written_out, "attention_weights", lambda q, k, *a, **s: right(q * 1.1, k, *a, **s)
    )
    with pytest.raises(TraceError, match=r"value, more than 0\.0001"):
        relevance(encoder, inputs)


def test_what_cannot_be_asked_is_refused(tmp_path, minilm):
    encoder, _ = loaded(tmp_path, "masked")
    inputs = encoder.read(TEXT)
    with pytest.raises(SelectionError, match="no prediction head"):
        relevance(minilm, minilm.read("a"))
    with pytest.raises(SelectionError, match=r"no prediction head 'classify'; it has masked"):
        relevance(encoder, inputs, task="classify")
    with pytest.raises(SelectionError, match="say which, such as token=3"):
        relevance(encoder, inputs)
    for token, said in ((-1, "no token -1; choose 0 to 9"), (6, "6 is padding"), (8, "8 is padd")):
        with pytest.raises(SelectionError, match=said):
            relevance(encoder, padded(inputs, 4), token=token)
    with pytest.raises(SelectionError, match="no query 7"):
        relevance(encoder, inputs, token=2, query=7)
    for label in ("no such", 45, -1):
        with pytest.raises(SelectionError, match=r"no label .*0 to 44"):
            relevance(encoder, inputs, token=2, label=label)
    with pytest.raises(InputError, match="2 sequences"):
        relevance(encoder, encoder.read(["w1", "w2"]), token=0)
    long = replace(inputs, values=torch.ones(1, 1025).long(), valid=torch.ones(1, 1025).bool())
    with pytest.raises(TooLong, match=r"1,025 tokens.*at most 1,024"):
        relevance(encoder, long, token=0)
    with pytest.raises(SelectionError, match="whole input; give no token"):
        relevance(tiny(), tiny().read(torch.tensor([[1, 2]])), token=1)
    training = tiny()
    training.model.train()
    with pytest.raises(SelectionError, match="training mode"):
        relevance(training, training.read(torch.tensor([[1, 2]])))
