"""Each snippet is run; its output and its maps are held to attention written out in loops."""

import ast
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.slow import slow
from viz_encoder.audit.mask_input.mask_code import TARGETS, mask_code
from viz_encoder.audit.mask_input.presets import PRESETS
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.trace.mask_scope import MaskScope

N_TOKENS = 7
TOLERANCE = 2e-5
# No empty row, no symmetry, and no rule.
PAINTED = torch.rand(N_TOKENS, N_TOKENS, generator=torch.Generator().manual_seed(3)) > 0.5
PAINTED |= torch.eye(N_TOKENS, dtype=torch.bool).roll(1, dims=1)
MASKS = [*PRESETS, "painted"]
BY_KEY = [name for name, target in TARGETS.items() if target.by_key]
ONE_ROW = ["none", "padding-right", "padding-left", "keys"]
COMPUTED = [
    (name, target)
    for target in TARGETS
    for name in (ONE_ROW if target in BY_KEY else MASKS)
    if target != "vz.capture"
]
# Uncompiled on purpose: what is tested is the mask.
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


def wanted(name: str) -> Tensor:
    return PAINTED if name == "painted" else PRESETS[name].mask(N_TOKENS)


@cache
def ran(name: str, target: str) -> dict[str, Any]:
    """What the snippet left behind, run once; weights are large enough that a leak shows."""
    rule = None if name == "painted" else name
    code = mask_code(wanted(name), target, rule=rule)
    code = code.replace("x = torch.randn", "enlarge(model); x = torch.randn")
    torch.manual_seed(5)
    left: dict[str, Any] = {"enlarge": enlarge}
    exec(compile(code, "snippet", "exec"), left)
    return {**left, "output": left["output"].detach()}


def enlarge(model: nn.Module) -> None:
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.3 * torch.randn(weight.shape))


def by_hand(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor) -> Tensor:
    """One row at a time, over its allowed keys alone."""
    mixed = torch.zeros_like(v)
    for batch, head, query in torch.cartesian_prod(*map(torch.arange, q.shape[:3])).tolist():
        keys = allowed[query].nonzero()[:, 0]
        scores = [float(q[batch, head, query] @ k[batch, head, key]) for key in keys]
        shares = [math.exp(score / q.shape[-1] ** 0.5) for score in scores]
        for share, key in zip(shares, keys, strict=True):
            mixed[batch, head, query] += share / sum(shares) * v[batch, head, key]
    return mixed


def multihead_by_hand(x: Tensor, attention: nn.MultiheadAttention, allowed: Tensor) -> Tensor:
    q, k, v = (
        part.unflatten(-1, (2, -1)).transpose(1, 2)
        for part in F.linear(x, attention.in_proj_weight, attention.in_proj_bias).chunk(3, -1)
    )
    return attention.out_proj(by_hand(q, k, v, allowed).transpose(1, 2).flatten(-2))


def encoder_by_hand(x: Tensor, model: nn.TransformerEncoder, allowed: Tensor) -> Tensor:
    for layer in model.layers:
        x = layer.norm1(x + multihead_by_hand(x, layer.self_attn, allowed))
        x = layer.norm2(x + layer.linear2(layer.linear1(x).relu()))
    return x


def bert_by_hand(x: Tensor, model: nn.Module, allowed: Tensor) -> Tensor:
    x = model.embeddings(inputs_embeds=x)
    for layer in model.encoder.layer:
        own, split = layer.attention.self, lambda t: t.unflatten(-1, (2, -1)).transpose(1, 2)
        mixed = by_hand(split(own.query(x)), split(own.key(x)), split(own.value(x)), allowed)
        x = layer.attention.output(mixed.transpose(1, 2).flatten(-2), x)
        x = layer.output(layer.intermediate(x), x)
    return x


def reference(target: str, left: dict, allowed: Tensor) -> Tensor:
    with torch.no_grad():
        if "q" in left:
            return by_hand(left["q"], left["k"], left["v"], allowed)
        by = {
            "nn.MultiheadAttention": multihead_by_hand,
            "nn.TransformerEncoder": encoder_by_hand,
            "transformers": bert_by_hand,
        }
        return by[target.partition(",")[0]](left["x"], left["model"], allowed)


@pytest.mark.parametrize(
    ("name", "target"),
    [one if one[0] in ("window", "painted", "padding-right") else slow(*one) for one in COMPUTED],
)
def test_the_snippet_computes_attention_with_that_mask(name, target):
    left = ran(name, target)
    expected = reference(target, left, wanted(name))
    apart = (left["output"] - expected).abs().max() / expected.abs().max()
    assert float(apart) < TOLERANCE


@pytest.mark.parametrize("target", BY_KEY)
def test_a_call_by_key_takes_one_row_for_all_queries(target):
    with pytest.raises(SelectionError, match="1 may attend to other keys than 0") as told:
        mask_code(torch.ones(3, 3).tril().bool(), target)
    assert str(told.value).startswith(target)
    code = mask_code(PRESETS["keys"].mask(4), target, rule="keys")
    assert "0 = ignore" in code or "True = ignore" in code


def test_a_long_mask_is_loaded_from_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("mask.npy", PAINTED.numpy())
    for target in TARGETS.keys() - set(BY_KEY):
        code = mask_code(PAINTED, target, file="mask.npy")
        assert "np.load('mask.npy')" in code and "rows = [" not in code
        assert torch.equal(run_as_written(code)["allowed"], PAINTED)


def softmax_over(q: Tensor, k: Tensor, allowed: Tensor) -> Tensor:
    """Weights written out as a matrix, of one head."""
    shares = (q.double() @ k.double().T / q.shape[-1] ** 0.5).exp() * allowed
    return shares / shares.sum(dim=1, keepdim=True).clamp_min(1e-300)


def run_as_written(code: str) -> dict[str, Any]:
    left: dict[str, Any] = {}
    exec(compile(code, "snippet", "exec"), left)
    return left


@pytest.mark.parametrize("name", MASKS)
def test_the_snippet_for_capture_runs_and_masks_every_head(name):
    rule = None if name == "painted" else name
    left = run_as_written(mask_code(wanted(name), "vz.capture", rule=rule))
    for ran_layer in left["trace"].layers:
        for head, weights in enumerate(ran_layer.weights(slice(0, 2), slice(0, N_TOKENS))):
            expected = softmax_over(ran_layer.q[head], ran_layer.k[head], wanted(name))
            assert float((weights - expected).abs().max()) < TOLERANCE
    assert torch.equal(left["weights"], left["trace"].attention(0, 0))


@pytest.mark.parametrize("code", ["1-2:0,3", ":2", "3", "0,3:1-3"])
def test_the_snippet_for_capture_masks_the_scope_alone(code):
    scope = MaskScope.parsed(code, 4, 5)
    left = run_as_written(mask_code(PAINTED, "vz.capture", scope=scope))
    everything = torch.ones_like(PAINTED)
    for layer, ran_layer in enumerate(left["trace"].layers):
        for head, weights in enumerate(ran_layer.weights(slice(0, 5), slice(0, N_TOKENS))):
            allowed = PAINTED if (layer, head) in scope.places else everything
            expected = softmax_over(ran_layer.q[head], ran_layer.k[head], allowed)
            assert float((weights - expected).abs().max()) < TOLERANCE
            assert torch.equal(weights > 0, allowed)
    first = left["trace"].attention(*scope.places[0])
    assert torch.equal(left["weights"], first)


def test_calls_that_take_one_mask_refuse_a_scope():
    scope = MaskScope.parsed("1:0", 4, 5)
    for target in TARGETS.keys() - {"vz.capture", *BY_KEY}:
        with pytest.raises(SelectionError, match=r"on layer 1, head 0 only, use vz\.capture"):
            mask_code(PAINTED, target, scope=scope)
        assert mask_code(PAINTED, target, scope=MaskScope.parsed("", 4, 5)) == mask_code(
            PAINTED, target
        )


def test_a_text_of_the_snippet_cannot_end_its_string():
    text = 'it\'s "quoted"\nimport os # '
    code = mask_code(torch.eye(3).bool(), "vz.capture", model="m'\"", source=(text, "b"))
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    given = {ast.unparse(call.func): call.args for call in calls}
    assert ast.literal_eval(given["vz.load"][0]) == "m'\""
    assert ast.literal_eval(given["vz.capture"][1]) == (text, "b")
    picture = mask_code(torch.eye(3).bool(), "vz.capture", model="m", source=Path("p.png"))
    assert "Path('p.png')" in picture and "from pathlib import Path" in picture


def test_a_wrong_mask_would_be_seen():
    """The reference tells masks apart that differ in one cell."""
    left, other = ran("causal", "scaled_dot_product_attention"), wanted("causal").clone()
    other[3, 4] = True
    apart = reference("scaled_dot_product_attention", left, other) - left["output"]
    assert float(apart.abs().max()) > 100 * TOLERANCE


def test_a_preset_is_written_as_its_rule():
    code = mask_code(4096, "nn.MultiheadAttention", rule="causal-window", sizes={"width": 64})
    assert "(key <= query) & (query - key < 64)" in code
    assert len(code) < 1000
    compile(code, "snippet", "exec")


def test_a_painted_mask_is_written_row_by_row():
    code = mask_code(torch.ones(3, 3).tril().bool(), "flex_attention")
    assert '    "100",\n    "110",\n    "111",\n' in code


def test_rows_without_a_key_are_named():
    mask = torch.ones(3, 3).tril().bool()
    mask[1] = False
    assert "No key is allowed in row 1:" in mask_code(mask, "transformers")
    none = torch.zeros(9, 9, dtype=torch.bool)
    assert "rows 0, 1, 2, 3, 4, …:" in mask_code(none, "transformers")
    assert "No key" not in mask_code(torch.eye(3).bool(), "transformers")


def test_what_it_refuses():
    with pytest.raises(SelectionError, match=r"choose one of scaled_dot_product_attention, nn\."):
        mask_code(PAINTED, "xformers")
    with pytest.raises(SelectionError, match="name the preset"):
        mask_code(4, "transformers")
    with pytest.raises(InputError, match="square"):
        mask_code(torch.ones(2, 3).bool(), "transformers")
