"""An intended mask against what ran: leaks found where they were planted, and nowhere else."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_encoder as vz
from tests.refusals import refused
from tests.ui.reruns import entry_of
from viz_encoder import figures
from viz_encoder.analyses.change import mask_effect
from viz_encoder.analyses.mask_leaks import mask_leaks, mask_panels
from viz_encoder.analyses.overview import row
from viz_encoder.errors import InputError, SelectionError
from viz_encoder.trace.mask_scope import MaskScope
from viz_encoder.ui.state.painted_mask import Masked, Mistake
from viz_encoder.ui.tabs.masks.masked_runs import sentence

TEXT = "The bank approved the loan"


class Attends(nn.Module):
    """One call of attention, of whatever it is given."""

    def forward(self, q, k, v):
        """The heads' outputs."""
        return F.scaled_dot_product_attention(q, k, v)


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
    assert (found.extra == int((~intent & trace.valid)[:real].sum())).all()
    assert not found.missing.any()
    assert (np.isnan(mask_effect(trace, trace).moved) == ~trace.valid.numpy()).all()
    for layer in range(trace.n_layers):
        for head, weights in enumerate(trace.attention(layer).double().numpy()):
            forbidden = np.where(intent, 0, weights)[:real]
            at = np.unravel_index(forbidden.argmax(), forbidden.shape)
            assert found.leak[layer, head] == pytest.approx(forbidden.max(), abs=1e-6)
            assert forbidden[at] - forbidden[tuple(found.at[layer, head])] < 1e-6
            assert found.mass[layer, head] == pytest.approx(forbidden.sum(1).mean(), abs=1e-6)


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
    refused(InputError, "True = may attend", mask_leaks, trace, causal[:2, :2])
    with pytest.raises(InputError, match="two runs of the same input"):
        mask_effect(vz.capture(minilm, "Another"), trace)


def test_weights_that_are_nan_are_no_zeros(minilm, causal):
    """A row without any key stays one of zeros."""
    trace = vz.capture(minilm, TEXT)
    layers, q = list(trace.layers), trace.layers[1].q.clone()
    q[3, 2] = torch.nan
    layers[1] = replace(trace.layers[1], q=q)
    broken = replace(trace, layers=tuple(layers))
    found, whole = mask_leaks(broken, causal), mask_leaks(trace, causal)
    assert np.argwhere(np.isnan(found.leak)).tolist() == [[1, 3]]
    assert np.isnan(found.mass[1, 3]) and found.at[1, 3].tolist() == [2, 3]
    np.testing.assert_array_equal(np.delete(found.leak, 1, 0), np.delete(whole.leak, 1, 0))
    assert np.isnan(mask_panels(broken, causal, 1, 3).observed[2]).all()
    said = sentence(
        entry_of(broken), Masked(causal, Mistake.NONE, MaskScope.parsed("", 6, 12)), found
    )
    assert said.startswith("The weights hold NaN in 1 of 72 heads, first in head 1.3")
    shut = causal.clone()
    shut[2] = False
    layers[1] = replace(layers[1], mask=shut[None])
    assert mask_leaks(replace(trace, layers=tuple(layers)), shut).leak[1, 3] == 0


@pytest.mark.parametrize("head", [0, "mean", "max"])
def test_keys_may_be_more_than_queries(head):
    """Of a key-value cache, and of cross-attention: the mask is (query, key), and no other fits."""
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 2, 2, 4), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4)
    model = Attends()
    with vz.record(model) as recording:
        model(q, k, v)
    trace = recording.trace(tokens=["d", "e"], key_tokens=list("abcde"), cross=True)
    weights = trace.attention(0).numpy()
    intent = torch.ones(2, 5).bool()
    intent[0, 4] = False
    found = mask_leaks(trace, intent)
    np.testing.assert_allclose(found.leak[0], weights[:, 0, 4])
    assert found.at[0].tolist() == [[0, 4]] * 2 and found.extra.tolist() == [1]
    panels = mask_panels(trace, intent, 0, head)
    np.testing.assert_array_equal(panels.intended, intent)
    assert panels.leaking.tolist() == (~intent).tolist() and panels.passed.shape == (2, 5)
    assert mask_panels(trace, intent, 0, head, size=3).observed.shape == (2, 3)
    for wrong in (torch.ones(2, 2).bool(), torch.ones(5, 5).bool(), torch.ones(5, 2).bool()):
        for look in (mask_leaks, lambda *run: mask_panels(*run, 0, head)):
            refused(InputError, r"\(2, 5\), \(query, key\)", look, trace, wrong)
    with pytest.raises(SelectionError, match="keys of this run are other tokens"):
        row(trace, 0, head, 1, tokens=[0, 1])
    assert "at most 1.61" in figures.head_statistics(trace).to_json()  # ln 5


def test_two_checkpoints_are_no_mask(minilm, causal):
    """What no mask changes must be alike: the embeddings, and the first layer's q, k and v."""
    plain = vz.capture(minilm, TEXT)
    for weight in ("embed.norm.weight", "layers.0.attn.q.weight", "layers.0.attn.v.bias"):
        other = copy.deepcopy(minilm)
        other.model.get_parameter(weight).data.mul_(1.01)
        with pytest.raises(InputError, match="of different weights"):
            mask_effect(vz.capture(other, TEXT, mask=causal), plain)
