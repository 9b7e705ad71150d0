"""Pooled vectors, cosines and shares of one input against loops over numpy rows."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder.analyses.pooled import pooled
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError
from viz_encoder.model.declared import Declared, Dense, Normalize

TEXT = "The bank approved the loan"


@pytest.fixture(scope="module")
def run(minilm):
    return vz.capture(minilm, TEXT)


@pytest.fixture(scope="module")
def result(minilm, run):
    query = np.linspace(-3, 3, 384, dtype=np.float32)
    return pooled(minilm, run, queries={6: query, 2: query})


def rows(trace, layer):
    return (trace.hidden(layer) if layer < 6 else trace.output).numpy().astype(np.float64)


def received(trace, layer):
    """Attention that each token got before this state: naive softmaxes, head by head and row by
    row; even before the first block."""
    real = trace.valid.numpy()
    total = np.zeros(trace.n_tokens)
    if layer:
        ran = trace.layers[layer - 1]
        for q, k in zip(ran.q.double().numpy(), ran.k.double().numpy(), strict=True):
            for query in q[real]:
                scores = np.exp(k[real] @ query / np.sqrt(q.shape[1]))
                total[real] += scores / scores.sum()
    return total / total.sum() if layer else real / real.sum()


@pytest.mark.parametrize("layer", range(7))
def test_vectors_of_every_layer(run, result, layer):
    h, first = rows(run, layer), rows(run, min(1, layer))
    wanted = {
        "cls": h[0],
        "mean": h.mean(axis=0),
        "max": h.max(axis=0),
        "last": h[-1],
        "cls_mean": np.concatenate([h[0], h[1:].mean(axis=0)]),
        "first_last": (h.mean(axis=0) + first.mean(axis=0)) / 2,
        "received": received(run, layer) @ h,
    }
    for method, vector in wanted.items():
        assert np.allclose(result.vectors[method][layer], vector, atol=2e-6)
        norm = result.norms[layer, result.methods.index(method)]
        assert norm == pytest.approx(np.sqrt((vector**2).sum()), rel=1e-5)


def test_cosines_of_every_two_methods(result):
    names = result.methods
    for layer in range(7):
        for i, a in enumerate(names):
            for j, b in enumerate(names):
                u, v = (result.vectors[n][layer].astype(np.float64) for n in (a, b))
                found = result.cosines[layer, i, j]
                if u.shape != v.shape or np.isnan(u).any() or np.isnan(v).any():
                    assert np.isnan(found)
                else:
                    wanted = (u * v).sum() / np.sqrt((u * u).sum() * (v * v).sum())
                    assert found == pytest.approx(wanted, abs=1e-6)


def test_shares_add_up_and_are_the_tokens_parts(run, result):
    for name, shares in result.shares.items():
        real = [0, 1, 3, 4, 5] if name == "attention" else []
        assert np.isnan(shares[real]).all()
        assert np.allclose(np.delete(shares, real, axis=0).sum(axis=1), 1, atol=1e-5), name
    for layer in (0, 3, 6):
        h = rows(run, layer)
        p = h.mean(axis=0)
        for token, row in enumerate(h):
            wanted = float(row @ p) / len(h) / float(p @ p)
            assert result.shares["mean"][layer, token] == pytest.approx(wanted, abs=1e-5)
        parts = (h + rows(run, min(1, layer))) / 2 / len(h)
        wanted = parts @ parts.sum(axis=0) / (parts.sum(axis=0) ** 2).sum()
        assert np.allclose(result.shares["first_last"][layer], wanted, atol=1e-5)
        parts = received(run, layer)[:, None] * h
        wanted = parts @ parts.sum(axis=0) / (parts.sum(axis=0) ** 2).sum()
        assert np.allclose(result.shares["received"][layer], wanted, atol=1e-5)
        both = np.concatenate([h[0], h[1:].mean(axis=0)])
        wanted = float(h[0] @ h[0]) / float(both @ both)
        assert result.shares["cls_mean"][layer, 0] == pytest.approx(wanted, abs=1e-5)
    assert result.shares["cls"][6].tolist() == [1, *[0] * (run.n_tokens - 1)]
    assert result.shares["last"][6].tolist() == [*[0] * (run.n_tokens - 1), 1]
    assert "pooler" not in result.shares


def test_the_winners_of_max_are_counted(run, result):
    for layer in range(7):
        counts = np.zeros(run.n_tokens)
        for column in rows(run, layer).T:
            counts[list(column).index(max(column))] += 1
        assert np.allclose(result.shares["max"][layer], counts / 384, atol=1e-7)


def test_the_first_token_wins_a_tie(minilm, run, monkeypatch):
    monkeypatch.setattr("viz_encoder.trace.states.require_made_by", lambda *_: None)
    same = torch.ones_like(run.output)
    flat = vz.Trace(**{**vars(run), "output": same})
    shares = pooled(minilm, flat, methods=["max"], states=[-1]).shares["max"]
    assert shares.tolist() == [[1, *[0] * (run.n_tokens - 1)]]


def test_attention_weights_are_shown_where_there_is_a_query(run, result):
    query = np.linspace(-3, 3, 384)
    scores = rows(run, 6) @ query / np.sqrt(384)
    weights = np.exp(scores) / np.exp(scores).sum()
    assert np.allclose(result.weights[6], weights, atol=1e-6)
    assert np.allclose(result.vectors["attention"][6], weights @ rows(run, 6), atol=2e-6)
    assert np.isnan(result.weights[3]).all() and np.isnan(result.vectors["attention"][3]).all()


def test_padding_takes_no_share(minilm):
    short, _ = vz.capture(minilm, [TEXT, "A much longer text stands beside it in one batch here."])
    n_real = int(short.valid.sum())
    found = pooled(minilm, short)
    assert short.n_tokens > n_real
    for shares in found.shares.values():
        assert (shares[:, n_real:] == 0).all()
    assert found.shares["last"][6, n_real - 1] == 1
    by_hand = received(short, 6) @ short.output.double().numpy()
    given = vz.pool(short.output, short.valid, "received", received=short.received())
    assert np.allclose(found.vectors["received"][6], by_hand, atol=2e-6)
    assert np.allclose(given, by_hand, atol=2e-6)


def test_padding_at_the_start_takes_no_share_either(minilm, run):
    valid = torch.arange(run.n_tokens) >= 2
    found = pooled(minilm, replace(run, valid=valid), states=[6])
    for shares in found.shares.values():
        assert (shares[:, :2] == 0).all() and shares.sum() == pytest.approx(1, abs=1e-5)
    assert found.shares["cls"][0, 2] == 1 and found.shares["cls_mean"][0, 2] > 0.2
    assert np.allclose(found.vectors["cls"][0], run.output[2], atol=1e-6)


def test_a_pre_norm_model_is_read_through_its_final_norm(scene):
    trace = vz.capture(scene, asset("examples/digit.png"))
    found = pooled(scene, trace, methods=["mean"], states=[2, -1])
    with torch.inference_mode():
        wanted = scene.model.final_norm(trace.hidden(2)).mean(dim=0).numpy()
    assert np.allclose(found.vectors["mean"][0], wanted, atol=1e-6)
    assert np.allclose(found.vectors["mean"][1], trace.output.mean(dim=0).numpy(), atol=1e-6)
    assert "lower right patch" in found.left_out["last"]


def test_a_model_without_a_pooler_says_so():
    encoder = vz.load("grammar", device="cpu")
    trace = vz.capture(encoder, "the keys are old")
    assert "pooler" not in pooled(encoder, trace).methods
    refused(SelectionError, "grammar has no pooler", pooled, encoder, trace, methods=["pooler"])


def test_faults_are_plain(minilm, run):
    with pytest.raises(SelectionError, match=r"no state 7; choose 0 .* to 6 .* to -7"):
        pooled(minilm, run, states=[7])
    refused(SelectionError, "no pooling 'median'", pooled, minilm, run, methods=["median"])
    refused(SelectionError, "needs a learned query", pooled, minilm, run, methods=["attention"])
    with pytest.raises(SelectionError, match="give the model that ran"):
        pooled(vz.load("grammar", device="cpu"), run)


def test_the_declared_pooling_and_its_shares(minilm, run, result):
    assert result.methods[0] == "declared"
    mean = run.output.mean(dim=0).numpy()
    unit = mean / np.linalg.norm(mean)
    assert np.allclose(result.vectors["declared"][6], unit, atol=1e-6)
    assert np.allclose(result.shares["declared"], result.shares["mean"], atol=1e-6)
    dense = Dense(torch.eye(384)[:5], activation="Identity")
    for declared in (Declared(("max", "mean")), Declared(steps=(dense,))):
        found = pooled(replace(minilm, declared=declared), run, methods=["declared"])
        assert found.shares == {} and found.vectors["declared"].shape[0] == 7
    both = Declared(("cls", "weightedmean"), (Normalize(),))
    shares = pooled(replace(minilm, declared=both), run, states=[-1]).shares["declared"][0]
    h = rows(run, 6)
    count = np.arange(1, len(h) + 1)
    parts = np.concatenate([h * (count == 1)[:, None], h * (count / count.sum())[:, None]], axis=1)
    total = parts.sum(axis=0)
    assert np.allclose(shares, parts @ total / (total @ total), atol=1e-5)


def test_a_run_that_the_model_would_not_have_read_so_has_no_declared_vector(minilm):
    long = vz.capture(minilm, "word " * 300)
    found = pooled(minilm, long, states=[-1])
    assert "declared" not in found.methods
    assert "302 tokens" in found.left_out["declared"] and "256" in found.left_out["declared"]
    with pytest.raises(SelectionError, match=r"302 tokens.*max_seq_length"):
        pooled(minilm, long, methods=["declared"])
    prompts = {"query": "find: "}
    declared = Declared(prompts=prompts, default_prompt="query")
    encoder = replace(minilm, declared=declared)
    assert "before each text" in pooled(encoder, vz.capture(encoder, TEXT)).left_out["declared"]
    prompted = vz.capture(encoder, encoder.read(TEXT, declared=True))[0]
    assert "declared" in pooled(encoder, prompted, states=[-1]).methods
