"""Scores of models that are not ours split exactly, and where they do not, it is said."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import transformers as hf
from torch import nn

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder.checkpoints.builtin import BUILTIN
from viz_encoder.errors import InputError, SelectionError, TraceError

SIZES = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
}  # fmt: skip
WORDS = {"vocab_size": 50, "max_position_embeddings": 32}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": 50}
PICTURE = {"image_size": 16, "patch_size": 4}
GROUPED = {**SIZES, **WORDS, "num_key_value_heads": 2, "head_dim": 8}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1,
           "sep_token_id": 2}  # fmt: skip
IDS = torch.tensor([[7, 31, 12, 9, 44, 5, 20]])
PIXELS = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(1))
X = torch.randn(1, 7, 32, generator=torch.Generator().manual_seed(2))
ALONG = torch.linspace(-1, 1, 32)
LAYER = {"batch_first": True, "dim_feedforward": 48}


def with_ids(model: Any) -> Any:
    return model(input_ids=IDS)


def with_pixels(model: Any) -> Any:
    return model(pixel_values=PIXELS)


def state(out: Any) -> torch.Tensor:
    return out.last_hidden_state[0, 2] @ ALONG


class Case(NamedTuple):
    model: Callable[[], nn.Module]
    run: Callable[[Any], Any] = with_ids
    score: Callable[[Any], torch.Tensor] = state
    at: torch.Tensor | None = None


def eager() -> nn.Module:
    return hf.BertModel._from_config(hf.BertConfig(**SIZES, **WORDS), attn_implementation="eager")


def deberta() -> nn.Module:
    relative = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
    return hf.DebertaV2Model(hf.DebertaV2Config(**SIZES, **WORDS, **relative))


def torchs(**axes: Any) -> Callable[[], nn.Module]:
    layer = nn.TransformerEncoderLayer(32, 4, **LAYER, **axes)
    return lambda: nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


CASES = {
    "BERT": Case(lambda: hf.BertModel(hf.BertConfig(**SIZES, **WORDS))),
    "BERT, eager": Case(eager),
    "BERT's pooler": Case(lambda: hf.BertModel(hf.BertConfig(**SIZES, **WORDS)),
                          score=lambda out: out.pooler_output[0] @ ALONG),
    "BERT's classifier": Case(
        lambda: hf.BertForSequenceClassification(hf.BertConfig(**SIZES, **WORDS)),
        score=lambda out: out.logits[0, 0]),
    "RoBERTa": Case(lambda: hf.RobertaModel(hf.RobertaConfig(**SIZES, **WORDS))),
    "ModernBERT": Case(
        lambda: hf.ModernBertModel(hf.ModernBertConfig(**SIZES, vocab_size=50, **SPECIAL))),
    "DistilBERT": Case(lambda: hf.DistilBertModel(
        hf.DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=48, **WORDS))),
    "ALBERT": Case(lambda: hf.AlbertModel(hf.AlbertConfig(**SIZES, embedding_size=16, **WORDS))),
    "MPNet": Case(lambda: hf.MPNetModel(hf.MPNetConfig(**SIZES, **WORDS))),
    "DeBERTa-v2": Case(deberta),
    "ELECTRA": Case(
        lambda: hf.ElectraModel(hf.ElectraConfig(**SIZES, embedding_size=16, **WORDS))),
    "ViT": Case(lambda: hf.ViTModel(hf.ViTConfig(**SIZES, **PICTURE)), with_pixels),
    "DINOv2": Case(lambda: hf.Dinov2Model(hf.Dinov2Config(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, **PICTURE)), with_pixels),
    "CLIP": Case(
        lambda: hf.CLIPVisionModel(hf.CLIPVisionConfig(**SIZES, **PICTURE)), with_pixels),
    "SigLIP": Case(
        lambda: hf.SiglipVisionModel(hf.SiglipVisionConfig(**SIZES, **PICTURE)), with_pixels),
    "T5": Case(lambda: hf.T5EncoderModel(hf.T5Config(**T5))),
    "T5, gated": Case(
        lambda: hf.T5EncoderModel(hf.T5Config(**T5, feed_forward_proj="gated-gelu"))),
    "Qwen3": Case(lambda: hf.Qwen3Model(hf.Qwen3Config(**GROUPED))),
    "Gemma 3": Case(lambda: hf.Gemma3TextModel(hf.Gemma3TextConfig(**GROUPED))),
    "torch, post-norm": Case(torchs(), lambda m: m(X), lambda out: out[0, 2] @ ALONG, X),
    "torch, pre-norm": Case(torchs(norm_first=True, activation="gelu"), lambda m: m(X),
                            lambda out: out[0, 2] @ ALONG, X),
}  # fmt: skip


def uneven(case: Case) -> nn.Module:
    """The model, its biases random, so that each that is forgotten shows."""
    torch.manual_seed(5)
    model = case.model().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


@pytest.mark.parametrize("name", CASES)
def test_it_splits_exactly_and_the_model_runs_as_it_would(name):
    case = CASES[name]
    model = uneven(case)
    with torch.no_grad():
        plain = float(case.score(case.run(model)))
    found = vz.attribute(model, case.run, score=case.score, at=case.at)
    assert abs(found.score - plain) <= 2e-5 * max(abs(plain), np.abs(found.tokens).max())
    assert found.unexplained <= 2e-6
    assert np.isclose(found.tokens.sum() + found.biases, found.score, rtol=1e-4, atol=1e-5)
    layers = len(found.heads)
    assert layers == len(getattr(model, "layers", ())) or layers >= 2  # SigLIP pools by attention
    for layer, heads in enumerate(found.heads):
        assert np.allclose(found.links(layer).sum(axis=(1, 2)), heads, atol=2e-6)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_it_says_the_same_as_our_own_encoder(minilm, attention):
    """MiniLM by transformers' code: the same shares of the same score."""
    text = "The animal slept because it was tired"
    ours = vz.attribute(minilm, text, token="it")
    at = ours.names.index("it")
    along = torch.nn.functional.normalize(ours.trace.output[at], dim=0)
    folder = BUILTIN["all-MiniLM-L6-v2"].folder()
    model = hf.BertModel.from_pretrained(folder, attn_implementation=attention).eval()
    ids = minilm.read(text).values
    theirs = vz.attribute(
        model,
        lambda model: model(input_ids=ids),
        score=lambda out: out.last_hidden_state[0, at] @ along,
    )
    for mine, its in (
        (ours.tokens, theirs.tokens),
        (ours.heads, theirs.heads),
        *((ours.links(layer), theirs.links(layer)) for layer in range(6)),
    ):
        assert np.abs(mine - its).max() <= 2e-5 * np.abs(mine).max()
    assert theirs.ranked(5) == ours.ranked(5)
    link, same = theirs.strongest(1)[0], ours.strongest(1)[0]
    assert link[:4] == same[:4] and np.array_equal(
        theirs.links(5, 11, slice(4, 6)), theirs.links(5)[11, 4:6]
    )


class Mixing(nn.Module):
    """Attention under a mask of its own: with as many heads a layer as said, keys shared."""

    def __init__(self, heads: tuple[int, ...], change: bool = False) -> None:
        super().__init__()
        self.heads, self.change = heads, change

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        far = torch.arange(7)[:, None] - torch.arange(7)
        masks: list[Any] = [{"is_causal": True}, {"attn_mask": far.abs() < 3}]
        masks.append({"attn_mask": torch.where(far >= 0, far * -0.5, -torch.inf)})
        for heads, mask in zip(self.heads, masks, strict=False):
            q = x.unflatten(-1, (heads, -1)).transpose(1, 2)
            v = q[:, : max(1, heads // 2)] * 2
            x = x + nn.functional.scaled_dot_product_attention(
                q, v, v, **mask, enable_gqa=not self.change, scale=0.7
            ).transpose(1, 2).flatten(2)
            if self.change:
                v.detach().zero_()
        return x


def by_hand(x: torch.Tensor, heads: int, bias: torch.Tensor) -> torch.Tensor:
    """Links "head query key" of one layer of Mixing toward state 3 along ALONG, written out."""
    q = x[0].double().unflatten(-1, (heads, -1)).transpose(0, 1)
    v = (q[: heads // 2] * 2).repeat_interleave(2, dim=0)
    weights = (q @ v.mT * 0.7 + bias).softmax(-1)
    toward = torch.zeros(7, 32).double()
    toward[3] = ALONG
    return weights * (toward.unflatten(-1, (heads, -1)).transpose(0, 1) @ v.mT)


def test_links_under_masks_and_shared_keys_written_out():
    found = vz.attribute(
        Mixing((4,)).eval(), lambda m: m(X), score=lambda out: out[0, 3] @ ALONG, at=X
    )
    causal = torch.zeros(7, 7).double().masked_fill(torch.ones(7, 7).triu(1).bool(), -torch.inf)
    assert np.allclose(found.links(0), by_hand(X, 4, causal), atol=1e-5)
    assert found.heads.shape == (1, 4)


def test_layers_with_different_numbers_of_heads_are_asked_one_by_one():
    model = Mixing((4, 8, 2)).eval()
    found = vz.attribute(model, lambda m: m(X), score=lambda out: out[0, 3] @ ALONG, at=X)
    with pytest.raises(SelectionError, match=r"2 or 4 or 8 heads.*of_heads"):
        _ = found.heads
    assert [len(found.of_heads(layer)) for layer in range(3)] == [4, 8, 2]
    for layer in range(3):
        assert np.allclose(found.links(layer).sum(axis=(1, 2)), found.of_heads(layer), atol=1e-5)
    assert (found.links(1)[:, 0, 3:] == 0).all() and (found.links(2)[:, 3, 4:] == 0).all()
    assert len(found.strongest(3)) == 3


def test_a_model_that_changes_its_values_later_is_refused():
    model = Mixing((1,), change=True).eval()
    with pytest.raises(TraceError, match="shares add up to") as fault:
        vz.attribute(model, lambda m: m(X), score=lambda out: out[0, 3] @ ALONG, at=X)
    assert "isfinite" not in str(fault.value)  # asked of the score, not by the model


def test_a_model_without_attention_has_no_heads():
    found = vz.attribute(nn.Linear(32, 4).eval(), lambda m: m(X), score=lambda o: o[0, 1, 2], at=X)
    for ask in (lambda: found.heads, lambda: found.links(0), lambda: found.strongest()):
        refused(SelectionError, "there are no heads", ask)
    with pytest.raises(SelectionError, match="layer"):
        vz.attribute(Mixing((4,)).eval(), lambda m: m(X), score=lambda o: o[0, 1, 2], at=X).links(1)


class Bent(nn.Module):
    """A model with a step that is linear in no sense."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.atan(x) + 1.0


def test_a_function_without_a_rule_is_named():
    with pytest.raises(TraceError, match="no rule: atan"):
        vz.attribute(Bent().eval(), lambda m: m(X), score=lambda out: out[0, 0].sum(), at=X)


def test_what_cannot_be_asked(minilm):
    model = uneven(CASES["BERT"])
    with pytest.raises(InputError, match="one finite number"):
        vz.attribute(model, with_ids, score=lambda out: out.last_hidden_state)
    with pytest.raises(InputError, match="does not depend"):
        vz.attribute(model, with_ids, score=lambda out: torch.ones(()))
    with pytest.raises(SelectionError, match="at="):
        vz.attribute(Bent().eval(), lambda m: m(X), score=lambda out: out.sum())
    with pytest.raises(InputError, match=r"embeds \d+ × \d+ tokens; give one input"):
        both = X.expand(2, -1, -1).contiguous()
        vz.attribute(torchs()().eval(), lambda m: m(both), score=lambda o: o.sum(), at=both)
    with pytest.raises(SelectionError, match=r"asked by what runs it .*vz\.load\(model, tokenizer"):
        vz.attribute(model, "A text")
    refused(InputError, "does not depend", vz.attribute, model, with_ids, score=state, at=X)
    with pytest.raises(SelectionError, match=r"BertModel is in training mode.*model\.eval\(\)"):
        vz.attribute(model.train(), with_ids, score=state)
    refused(SelectionError, "for other models", vz.attribute, minilm, "a", score=state)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_what_cannot_be_followed_is_refused():
    model = uneven(CASES["BERT"])
    layers = {nn.Linear}
    small = torch.ao.quantization.quantize_dynamic(model, layers, dtype=torch.qint8)
    with pytest.raises(SelectionError, match=r"BertModel has quantized weights, .* floating point"):
        vz.attribute(small, with_ids, score=state)
    script = torch.jit.trace(Mixing((4,)).eval(), X)
    with pytest.raises(SelectionError, match="TorchScript, whose functions cannot be followed"):
        vz.attribute(script, lambda m: m(X), score=lambda out: out.sum(), at=X)
    model.embeddings.word_embeddings.weight.data[9] = torch.nan
    with pytest.raises(InputError, match=r"not a number|one finite number"):
        vz.attribute(model, with_ids, score=state)


class Scaled(nn.Module):
    """A model whose weights and constants meet what is computed in many ways."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv1d(32, 32, 3, padding=1), nn.LayerNorm(32)
        self.register_buffer("scale", torch.linspace(0.5, 1.5, 32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last = x = self.norm(self.conv(x.mT).mT * self.scale)
        return x + nn.functional.scaled_dot_product_attention(x, x, x)


def test_weights_made_in_inference_mode_are_weights_like_others():
    def found():
        torch.manual_seed(1)
        model = Scaled().eval()
        return lambda: vz.attribute(model, lambda m: m(X), score=lambda o: o[0, 2, 3], at=X)

    plain = found()()
    with torch.inference_mode():
        later = found()
        inside = later()
    assert np.array_equal(inside.tokens, plain.tokens)
    assert np.array_equal(later().tokens, plain.tokens)


def test_values_that_are_changed_after_the_run_are_noticed():
    model = Scaled().eval()
    found = vz.attribute(model, lambda m: m(X), score=lambda out: out[0, 3] @ ALONG, at=X)
    assert found.links(0).shape == (1, 7, 7)
    model.last.detach()[0, 2] = 9.0  # as a cache that the next run writes over
    refused(TraceError, r"not shown\. .* changed its queries, keys or values in p", found.links, 0)
