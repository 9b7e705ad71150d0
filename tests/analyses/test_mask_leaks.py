"""An intended mask against what ran: leaks found where they were planted, and nowhere else."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from viz_encoder.analyses.mask_effect import mask_effect
from viz_encoder.analyses.mask_leaks import mask_leaks
from viz_encoder.errors import InputError

TEXT = "The bank approved the loan"


@pytest.fixture(scope="module")
def causal(minilm):
    n = vz.capture(minilm, TEXT).n_tokens
    return torch.ones(n, n).tril().bool()


def test_a_mask_that_ran_has_no_leaks(minilm, causal):
    found = mask_leaks(vz.capture(minilm, TEXT, mask=causal), causal)
    assert not found.leak.any() and not found.mass.any() and (found.at == -1).all()
    assert not found.extra.any() and not found.missing.any() and found.empty == ()


def test_each_leak_is_the_largest_forbidden_weight(minilm, causal):
    trace = vz.capture(minilm, TEXT)
    found = mask_leaks(trace, causal)
    for layer in range(trace.n_layers):
        for head, weights in enumerate(trace.attention(layer).double().numpy()):
            forbidden = np.triu(weights, 1)
            assert found.leak[layer, head] == pytest.approx(forbidden.max(), abs=1e-6)
            assert forbidden[tuple(found.at[layer, head])] == pytest.approx(forbidden.max())
            assert found.mass[layer, head] == pytest.approx(forbidden.sum(1).mean(), abs=1e-6)
    above = causal.numel() - int(causal.sum())
    assert (found.extra == above).all() and not found.missing.any()


def test_blocks_of_rows_of_a_padded_run_count_as_one(minilm, monkeypatch):
    trace = vz.capture(minilm, [TEXT, f"{TEXT}, and {TEXT}"])[0]
    n, real = trace.n_tokens, int(trace.valid.sum())
    assert real < n
    monkeypatch.setattr("viz_encoder.trace.layer.BLOCK_BYTES", 4 * 12 * n * 3)  # three rows
    intent = torch.ones(n, n).tril().bool()
    intent[:, 1] = False  # which padding looks at, too
    found = mask_leaks(trace, intent)
    for layer in range(trace.n_layers):
        for head, weights in enumerate(trace.attention(layer).double().numpy()):
            forbidden = np.where(intent, 0, weights)[:real]
            at = np.unravel_index(forbidden.argmax(), forbidden.shape)
            assert found.leak[layer, head] == pytest.approx(forbidden.max(), abs=1e-6)
            assert forbidden[at] - forbidden[tuple(found.at[layer, head])] < 1e-6
            assert found.mass[layer, head] == pytest.approx(forbidden.sum(1).mean(), abs=1e-6)


def test_padding_queries_do_not_count(minilm):
    short, _ = vz.capture(minilm, ["The bank", TEXT + " " + TEXT])
    intent = short.valid.expand(short.n_tokens, -1).clone()
    found = mask_leaks(short, intent)
    assert not found.leak.any() and not found.extra.any()
    wrong = intent.clone()
    wrong[:, 1] = False
    leaks = mask_leaks(short, wrong)
    assert leaks.leak.all() and (leaks.at[..., 1] == 1).all()
    assert (leaks.at[..., 0] < int(short.valid.sum())).all()
    assert (leaks.extra == int(short.valid.sum())).all()


def test_rows_without_any_key_are_named(minilm, causal):
    intent = causal.clone()
    intent[3] = False
    assert mask_leaks(vz.capture(minilm, TEXT, mask=causal), intent).empty == (3,)


def test_the_effect_of_a_mask_is_measured_against_the_run_without(minilm, causal):
    plain, masked = vz.capture(minilm, TEXT), vz.capture(minilm, TEXT, mask=causal)
    found = mask_effect(masked, plain)
    assert not found.moved[0].any()
    for layer in range(1, plain.n_layers + 1):
        ours, theirs = (np.float64(t.hidden(layer)) for t in (masked, plain))
        expected = np.linalg.norm(ours - theirs, axis=1) / np.linalg.norm(theirs, axis=1)
        np.testing.assert_allclose(found.moved[layer], expected, rtol=1e-5)
    ours, theirs = (np.float64(t.output).mean(axis=0) for t in (masked, plain))
    cosine, apart = found.pooled["mean"]
    norms = np.linalg.norm(ours) * np.linalg.norm(theirs)
    assert cosine == pytest.approx(ours @ theirs / norms, abs=1e-6)
    assert apart == pytest.approx(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs), rel=1e-5)


def test_faults_are_sentences(minilm, causal):
    trace = vz.capture(minilm, TEXT)
    with pytest.raises(InputError, match="True = may attend"):
        mask_leaks(trace, causal[:2, :2])
    with pytest.raises(InputError, match="two runs of the same input"):
        mask_effect(vz.capture(minilm, "Another"), trace)
