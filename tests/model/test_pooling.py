"""Pooling: padding never takes part, and each method equals a plain computation of it."""

import inspect

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import viz_encoder as vz
from tests.checkpoints.cases.bert import build
from tests.checkpoints.parity import Case, save
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.model import pool
from viz_encoder.model.declared import POOLINGS, Declared, Normalize
from viz_encoder.model.pooling import METHODS, attention_shares

UNCHECKED = inspect.unwrap(pool)  # as people have it: only the tests check types as they run

EXACT = ("cls", "max", "last", "pooler")


def head(hidden, valid):
    """A stand-in for a model's pooler, which reads place 0."""
    assert bool(valid[:, 0].all())
    return torch.tanh(hidden[:, 0])


class Encoder:
    """A stand-in for a model that declares every pooling there is."""

    declared = Declared(tuple(POOLINGS), (Normalize(),))


def extras(hidden):
    """What the methods need beside the hidden states."""
    n = hidden.shape[-1]
    given = {"first": hidden * 2 + 1, "query": torch.arange(float(n)), "head": head}
    return {**given, "received": hidden.square().sum(dim=-1), "encoder": Encoder()}


@pytest.mark.parametrize("method", METHODS)
@given(
    length=st.integers(2, 9), padding=st.integers(0, 6), left=st.booleans(), seed=st.integers(0, 99)
)
def test_padding_changes_nothing(method, length, padding, left, seed):
    draws = torch.randn(length, 5, generator=torch.Generator().manual_seed(seed))
    hidden = draws.double() - 3
    rubbish = hidden.new_full((padding, 5), torch.nan)
    parts = (rubbish, hidden) if left else (hidden, rubbish)
    mask = torch.zeros(length + padding, dtype=torch.bool)
    mask[padding if left else 0 :][:length] = True
    whole = torch.cat(parts)
    alone = pool(hidden, torch.ones(length, dtype=torch.bool), method, **extras(hidden))
    padded = pool(whole, mask, method, **extras(whole))
    if method in EXACT:
        assert torch.equal(alone, padded)
    else:
        assert torch.allclose(alone, padded, atol=1e-12, rtol=0)


def test_each_method_by_hand():
    hidden = torch.tensor([[[1.0, -2.0], [3.0, -4.0], [99.0, 99.0]]])
    mask = torch.tensor([[True, True, False]])
    wanted = {
        "cls": [1.0, -2.0],
        "mean": [2.0, -3.0],
        "max": [3.0, -2.0],
        "last": [3.0, -4.0],
        "cls_mean": [1.0, -2.0, 3.0, -4.0],
    }
    for method, values in wanted.items():
        assert pool(hidden, mask, method).tolist() == [values]
    first = torch.tensor([[[0.0, 2.0], [2.0, 4.0], [77.0, 77.0]]])
    assert pool(hidden, mask, "first_last", first=first).tolist() == [[1.5, 0.0]]
    looked = torch.tensor([[0.6, 0.2, 0.2]])
    assert pool(hidden, mask, "received", received=looked)[0].tolist() == pytest.approx([1.5, -2.5])


def test_attention_is_a_softmax_over_the_real_tokens(rng):
    hidden = torch.randn(2, 6, 4, generator=rng)
    query = torch.randn(4, generator=rng)
    mask = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
    pooled = pool(hidden, mask, "attention", query=query)
    for states, kept, vector in zip(hidden.numpy(), mask.numpy(), pooled.numpy(), strict=True):
        scores = np.array([float(state @ query.numpy()) / 2 for state in states[kept]])
        weights = np.exp(scores) / np.exp(scores).sum()
        wanted = sum(w * state for w, state in zip(weights, states[kept], strict=True))
        assert np.allclose(vector, wanted, atol=1e-6)
    shares = attention_shares(hidden, mask, query)
    assert shares[1, 3:].tolist() == [0, 0, 0]
    assert torch.allclose(shares.sum(dim=1), torch.ones(2))
    even = pool(hidden, mask, "attention", query=torch.zeros(4))
    assert torch.allclose(even, pool(hidden, mask, "mean"), atol=1e-6)


def test_the_prefix_stays_out_of_the_mean_beside_cls():
    hidden = torch.tensor([[[1.0], [10.0], [2.0], [4.0], [99.0]]])
    mask = torch.tensor([[True, True, True, True, False]])
    assert pool(hidden, mask, "cls_mean", n_prefix=2).tolist() == [[1.0, 3.0]]
    with pytest.raises(InputError, match="no token after its first 4"):
        pool(hidden, mask, "cls_mean", n_prefix=4)


def test_the_pooler_is_the_models_own(tmp_path):
    reference = save(Case("x", "bert", build(), None), tmp_path)
    encoder = vz.load(tmp_path, device="cpu")
    inputs = encoder.read(["w1 w2 w3", "w4"])
    with torch.no_grad():
        wanted = reference(inputs.values, attention_mask=inputs.valid.long()).pooler_output
        for trace, row in zip(vz.capture(encoder, inputs), wanted, strict=True):
            own = pool(trace.output, trace.valid, "pooler", head=encoder.model.heads["pool"])
            assert float((own - row).abs().max()) <= 2e-5 * float(row.abs().max())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (lambda run: (run, run.valid), r"hidden is of type Trace; .* vz\.pool\(trace\.output, t"),
        (lambda run: (run, "mean"), "hidden is of type Trace"),
        (lambda run: (run.output, "mean"), "valid is of type str; pool takes two tensors"),
        (lambda run: (run.output, None), "valid is None"),
        (lambda run: (run.output,), r"valid is None; .* give torch\.ones\(hidden\.shape\[:-1\]"),
        (lambda run: (run.output.numpy(), run.valid), "hidden is of type ndarray"),
        (lambda run: (run.output[0], run.valid[0]), r"of shape \(8,\); .*\(token, d_model\)"),
        (lambda run: (run.output.long(), run.valid), r"torch\.int64 of shape"),
        (lambda run: (run.output, run.valid, ["mean"]), "There is no pooling"),
    ],
)
def test_things_of_another_kind_are_answered_in_a_sentence(given, says):
    config = vz.EncoderConfig(n_layers=1, n_heads=2, d_model=8, d_ff=8, vocab_size=9)
    trace = vz.capture(vz.load(config), [3, 4])
    with pytest.raises(vz.VizEncoderError, match=says):
        UNCHECKED(*given(trace))


@pytest.mark.parametrize(
    ("method", "more", "says"),
    [
        ("first_last", {"first": 3}, "first is of type int; it must be a tensor"),
        ("received", {"received": torch.ones(2)}, r"must be a number for each token.* \(3,\)"),
        ("received", {"received": torch.zeros(3)}, "weighs nothing; choose mean"),
        ("attention", {"query": [3]}, "query is of type list"),
        ("pooler", {"head": 3}, r"head is of type int; give .*heads\['pool'\]"),
        ("cls_mean", {"n_prefix": "1"}, "n_prefix is '1'; it must be a whole number"),
        ("declared", {"encoder": head, "n_prompt": -1}, "n_prompt is -1"),
    ],
)
def test_options_of_another_kind_are_answered_in_a_sentence(method, more, says):
    with pytest.raises(InputError, match=says):
        UNCHECKED(torch.zeros(3, 4), torch.ones(3, dtype=torch.bool), method, **more)


def test_faults_are_plain():
    hidden = torch.zeros(2, 3, 4)
    whole = torch.ones(2, 3, dtype=torch.bool)
    with pytest.raises(SelectionError, match="choose one of declared, cls, mean, max, last"):
        pool(hidden, whole, "median")
    with pytest.raises(InputError, match="all padding"):
        pool(hidden, torch.tensor([[True] * 3, [False] * 3]), "mean")
    with pytest.raises(InputError, match="int64"):
        pool(hidden, torch.ones(2, 3, dtype=torch.long), "mean")
    with pytest.raises(InputError, match=r"shape \(2, 3\)"):
        pool(hidden, torch.ones(2, 4, dtype=torch.bool), "mean")
    with pytest.raises(InputError, match="all padding"):
        pool(torch.zeros(2, 0, 4), torch.ones(2, 0, dtype=torch.bool), "max")
    with pytest.raises(SelectionError, match=r"declares no pooling: .* no modules\.json"):
        pool(hidden, whole, "declared", encoder=head)
    with pytest.raises(SelectionError, match=r"declared' needs .*encoder="):
        pool(hidden, whole, "declared")
    for method, says in (("attention", "query=.*"), ("pooler", "heads"), ("first_last", "first=")):
        with pytest.raises(SelectionError, match=f"{method}' needs .*{says}"):
            pool(hidden, whole, method)
    with pytest.raises(InputError, match=r"needs \(4,\)"):
        attention_shares(hidden, whole, torch.zeros(3))
    with pytest.raises(InputError, match="both must come from one run"):
        pool(hidden, whole, "first_last", first=hidden[:, :2])


@pytest.mark.parametrize("method", METHODS)
def test_any_number_of_batch_axes(method, rng):
    hidden = torch.randn(2, 3, 5, 4, generator=rng)
    mask = torch.rand(2, 3, 5, generator=rng) > 0.4
    mask[..., 2:4] = True
    whole = pool(hidden, mask, method, **extras(hidden))
    for i in range(2):
        part = pool(hidden[i], mask[i], method, **extras(hidden[i]))
        assert torch.allclose(whole[i], part)
        one = pool(hidden[i, 1], mask[i, 1], method, **extras(hidden[i, 1]))
        assert torch.allclose(whole[i, 1], one)
