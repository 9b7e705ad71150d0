"""Tables: read back, they are the trace's weights bit for bit, and no token is a formula."""

import csv
import io

import numpy as np
import pytest

from tests.export.runs import HOSTILE, random_trace
from viz_encoder.export import MapView, arrays, csv_lines, npz_bytes

HEADS = [5, "mean", "max", (1, 7)]


def expected(trace, layer, head):
    """The same map by torch alone."""
    every = trace.attention(layer)
    if isinstance(head, int):
        return every[head].numpy()
    if isinstance(head, tuple):
        return every[list(head)].mean(dim=0).numpy()
    return (every.mean(dim=0) if head == "mean" else every.amax(dim=0)).numpy()


def read(trace, layer, head, query=None, **options):
    lines = csv_lines(trace, MapView(layer, head, **options), query)
    return list(csv.reader(io.StringIO("".join(lines), newline="")))


def numbers(cells):
    return np.array([np.float32(cell) if cell else np.nan for cell in cells], dtype=np.float32)


@pytest.mark.parametrize("head", HEADS)
def test_a_map_comes_back_from_csv(trace, head):
    header, *rows = read(trace, 3, head)
    assert header[:4] == ["query", "query_token", "model", "map"]
    assert header[4:6] == ["key 0: [CLS]", "key 1: the"]
    assert {row[2] for row in rows} == {"all-MiniLM-L6-v2"}
    named = {
        5: "layer 3, head 5",
        "mean": "layer 3, mean over heads",
        "max": "layer 3, max over heads",
    }
    assert {row[3] for row in rows} == {named.get(head, "layer 3, mean of heads 1, 7")}
    assert [row[:2] for row in rows] == [[str(i), t] for i, t in enumerate(trace.tokens)]
    weights = np.stack([numbers(row[4:]) for row in rows])
    assert np.abs(weights - expected(trace, 3, head)).max() <= 1e-7
    if head == 5:
        assert (weights == expected(trace, 3, 5)).all()  # bit for bit


def test_more_rows_than_a_block_come_in_order():
    trace = random_trace(150, 1, 2)
    _, *rows = read(trace, 0, 1)
    weights = np.stack([numbers(row[4:]) for row in rows])
    assert np.abs(weights - trace.attention(0, 1).numpy()).max() <= 1e-7
    assert [int(row[0]) for row in rows] == list(range(150))


def test_one_row_comes_back_from_csv(trace):
    header, *rows = read(trace, 3, 5, query=4)
    assert header == ["key", "key_token", "model", "map", "weight"]
    assert [row[1] for row in rows] == list(trace.tokens)
    assert (numbers(row[4] for row in rows) == trace.attention(3, 5, slice(4, 5))[0].numpy()).all()


def test_masked_pairs_are_empty(padded):
    _, *rows = read(padded, 0, 0)
    assert padded.tokens[-1] == "[PAD]"
    for row in rows:
        empty = [not cell for cell in row[4:]]
        assert empty == [not valid for valid in padded.valid.tolist()]


def test_hidden_special_tokens_are_left_out_and_said(trace):
    header, *rows = read(trace, 2, 1, hide_special=True)
    assert len(rows) == len(header) - 4 == trace.n_tokens - 2
    weights = np.stack([numbers(row[4:]) for row in rows])
    assert np.abs(weights - trace.attention(2, 1)[1:-1, 1:-1].numpy()).max() <= 1e-7
    assert {row[3] for row in rows} == {"layer 2, head 1; special tokens hidden"}
    note = str(arrays(trace, 2, 1, hide_special=True)["note"])
    assert "0 [CLS], 13 [SEP]" in note and "not renormalized" in note
    assert str(arrays(trace, 2, 1)["note"]) == ""


def test_no_token_is_a_formula_and_each_stays_in_its_cell(hostile):
    header, *rows = read(hostile, 0, 0)
    assert len(rows) == len(HOSTILE) and {len(row) for row in rows} == {len(HOSTILE) + 4}
    named = [row[1] for row in rows]
    for token, cell in zip(HOSTILE, named, strict=True):
        assert cell == (f"'{token}" if token[0] in "=+-@" else token)
    for cell in [*header, *named]:
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert [name.partition(": ")[2] for name in header[4:]] == list(HOSTILE)


@pytest.mark.parametrize("head", HEADS)
def test_npz_comes_back(trace, head):
    with np.load(io.BytesIO(npz_bytes(trace, MapView(3, head))), allow_pickle=False) as file:
        assert file["weights"].dtype == np.float32
        assert np.abs(file["weights"] - expected(trace, 3, head)).max() <= 1e-7
        assert file["tokens"].tolist() == file["key_tokens"].tolist() == list(trace.tokens)
        assert int(file["layer"]) == 3 and file["head"].tolist() == np.array(head).tolist()
        assert int(file["query"]) == -1 and str(file["model"]) == "all-MiniLM-L6-v2"


def test_npz_of_a_row_and_of_masked_pairs(padded):
    found = arrays(padded, 1, 2, query=1)
    assert (found["weights"] == padded.attention(1, 2, slice(1, 2))[0].numpy()).all()
    assert found["masked"].tolist() == (~padded.valid).tolist()
    assert found["tokens"].tolist() == [padded.tokens[1]] and int(found["query"]) == 1
