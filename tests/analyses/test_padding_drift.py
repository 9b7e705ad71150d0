"""Padding drift against the mistakes written out by hand on the model's own hidden states."""

import numpy as np
import pytest
import torch

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder.analyses.padding_drift import CASES, padding_drift
from viz_encoder.errors import InputError, SelectionError

TEXT = "The bank approved the loan"
N = 7  # tokens of TEXT, with [CLS] and [SEP]


@pytest.fixture(scope="module")
def drift(minilm):
    return padding_drift(minilm, TEXT, n_padding=5)


def hidden(minilm, *, masked):
    """The padded batch, run by the bare model."""
    inputs = minilm.read(TEXT)
    ids = torch.nn.functional.pad(inputs.values, (0, 5))
    valid = torch.tensor([[True] * N + [False] * 5])
    with torch.no_grad():
        return minilm.model(ids, valid if masked else None).output[0].numpy().astype(np.float64)


def test_with_the_mask_nothing_moves(drift):
    for method in ("cls", "mean", "max", "last", "cls_mean", "first_last", "received", "pooler"):
        row = drift.row(method, "masked")
        assert row.largest <= 2e-6 * np.abs(drift.alone[method]).max()
        assert row.relative <= 2e-6 and abs(row.cosine) <= 1e-6


@pytest.mark.parametrize(
    ("method", "case", "masked", "by_hand"),
    [
        ("mean", "unmasked", True, lambda h: h.mean(axis=0)),
        ("mean", "zeroed", True, lambda h: h[:N].sum(axis=0) / 12),
        ("mean", "attended", False, lambda h: h[:N].mean(axis=0)),
        ("mean", "neither", False, lambda h: h.mean(axis=0)),
        ("max", "unmasked", True, lambda h: h.max(axis=0)),
        ("max", "zeroed", True, lambda h: np.maximum(h[:N].max(axis=0), 0)),
        ("last", "unmasked", True, lambda h: h[-1]),
        ("last", "zeroed", True, lambda h: h[-1] * 0),
        ("cls", "attended", False, lambda h: h[0]),
        ("cls", "unmasked", True, lambda h: h[0]),
    ],
)
def test_each_mistake_by_hand(minilm, drift, method, case, masked, by_hand):
    wanted = by_hand(hidden(minilm, masked=masked))
    assert np.allclose(drift.vectors[method, case], wanted, atol=2e-6)
    alone = drift.alone[method].astype(np.float64)
    row = drift.row(method, case)
    assert row.largest == pytest.approx(max(abs(alone - wanted)), abs=3e-6)
    away = np.sqrt(((alone - wanted) ** 2).sum()) / np.sqrt((alone**2).sum())
    assert row.relative == pytest.approx(away, abs=3e-6)
    if wanted.any():
        cosine = (alone * wanted).sum() / np.sqrt((alone**2).sum() * (wanted**2).sum())
        assert row.cosine == pytest.approx(1 - cosine, abs=3e-6)
    else:
        assert np.isnan(row.cosine)


def test_why_says_the_numbers(minilm, drift):
    alone = vz.capture(minilm, TEXT).output.numpy()
    n_raised = int((alone.max(axis=0) < -1e-4).sum())
    said = drift.row("max", "zeroed").why
    assert n_raised > 0 and f"in {n_raised} of 384 dimensions" in said
    assert "divided by 12 instead of 7" in drift.row("mean", "zeroed").why
    assert drift.row("max", "neither").why.startswith("The maximum differs in")
    for method in ("mean", "first_last"):
        assert "58%" in drift.row(method, "zeroed").why  # 7 / 12
    assert (
        "Token 11, which is padding, is read instead of token 6"
        in drift.row("last", "unmasked").why
    )
    assert {row.case for row in drift.rows} == set(CASES)
    assert all(row.why.endswith(".") for row in drift.rows)


def test_other_layers_and_a_query(minilm):
    query = np.linspace(-2, 2, 384, dtype=np.float32)
    found = padding_drift(minilm, TEXT, n_padding=3, state=2, methods=["attention"], query=query)
    assert found.state == 2 and found.row("attention", "masked").relative <= 2e-6
    h = vz.capture(minilm, TEXT).hidden(2).numpy().astype(np.float64)
    weights = np.exp(h @ query / np.sqrt(384))
    wanted = weights @ h / weights.sum()
    assert np.allclose(found.alone["attention"], wanted, atol=2e-6)


def test_faults_are_plain(minilm):
    with pytest.raises(InputError, match="reads no texts"):
        padding_drift(vz.load("scene", device="cpu"), TEXT)
    refused(InputError, "room for 505", padding_drift, minilm, TEXT, n_padding=9999)
    refused(InputError, "0 padding tokens", padding_drift, minilm, TEXT, n_padding=0)
    with pytest.raises(SelectionError, match="no row for 'mean' in the case 'odd'"):
        padding_drift(minilm, TEXT, methods=["mean"]).row("mean", "odd")
