"""Tables of hidden states: read back, they are the results bit for bit; no name is a formula."""

import csv
import io
from dataclasses import fields, replace

import numpy as np
import pytest

import viz_encoder as vz
from tests.export.runs import HOSTILE
from viz_encoder.analyses.nearest_tokens import nearest_tokens
from viz_encoder.analyses.predictions import logit_lens
from viz_encoder.analyses.projection import projection
from viz_encoder.analyses.residual_change import hidden_change, residual_change
from viz_encoder.analyses.token_similarity import over_smoothing, token_similarity
from viz_encoder.bundled import asset
from viz_encoder.errors import SelectionError
from viz_encoder.export.states import state_arrays, state_lines, state_npz


def read(trace, result):
    text = "".join(state_lines(trace, result))
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert {len(row) for row in rows} == {len(header)}
    return header, rows


def number(cell):
    return float(cell) if cell else np.nan


def every(encoder, trace):
    return {
        "similarity": token_similarity(trace, 2),
        "blocks": token_similarity(trace, 2, size=3),
        "smoothing": over_smoothing(trace),
        "change": hidden_change(trace),
        "residual": residual_change(encoder, trace),
        "plane": projection(trace),
        "nearest": nearest_tokens(trace, 1, 2, among=(1, 2)),
    }


def test_the_matrix_comes_back(padded):
    found = token_similarity(padded, 3, hide_special=True)
    header, rows = read(padded, found)
    at = found.tokens.tolist()
    assert header == ["token", "token_name", *(f"token {n}: {padded.tokens[n]}" for n in at)]
    assert [(int(row[0]), row[1]) for row in rows] == [(n, padded.tokens[n]) for n in at]
    values = np.array([[np.float32(cell) for cell in row[2:]] for row in rows])
    assert np.array_equal(values, found.cosines) and "[PAD]" not in str(header)


def test_blocks_are_named_by_their_first_and_last(trace):
    found = token_similarity(trace, 3, size=4)
    header, rows = read(trace, found)
    assert header == ["tokens", "tokens 0–3", "tokens 4–7", "tokens 8–11", "tokens 12–13"]
    assert [row[0] for row in rows] == header[1:]
    assert np.float32(rows[1][3]) == found.cosines[1, 2]


def test_every_table_is_that_of_the_result(minilm, padded):
    for name, result in every(minilm, padded).items():
        if name in ("similarity", "blocks", "plane"):
            continue
        header, rows = read(padded, result)
        frame = result.to_frame()
        assert [title for title in header if title != "token_name"] == list(frame)
        for title, column in frame.items():
            cells = [number(row[header.index(title)]) for row in rows]
            assert np.array_equal(cells, column, equal_nan=True), (name, title)
        if "token" in header:
            at = [int(row[header.index("token")]) for row in rows]
            named = [row[header.index("token_name")] for row in rows]
            assert named == [padded.tokens[token] for token in at], name


def test_the_plane_comes_back(trace):
    found = projection(trace, states=(4, 0))
    header, rows = read(trace, found)
    assert header[3] == f"component_1 ({found.shares[0]} of variance)"
    assert [row[0] for row in rows] == ["4"] * 14 + ["0"] * 14
    values = np.array([[float(cell) for cell in row[3:]] for row in rows]).reshape(2, 14, 2)
    assert np.array_equal(values, found.points)


def test_the_lens_comes_back(grammar, scene):
    trace = vz.capture(grammar, ["the dog [MASK] .", "the keys to the cabinet [MASK] old ."])[0]
    found = logit_lens(grammar, trace, n=2)
    header, rows = read(trace, found)
    assert header == ["blocks", "token", "token_name", "rank", "label", "probability", "answer"]
    shape = found.labels.shape
    assert [row[4] for row in rows] == found.labels.ravel().tolist()
    shares = np.array([np.float32(row[5]) for row in rows]).reshape(shape)
    finals = np.array([np.float32(row[6]) for row in rows]).reshape(shape)
    assert np.array_equal(shares, found.shares) and np.array_equal(finals[..., 0], found.finals)
    assert len(found.tokens) == int(trace.valid.sum()) < trace.n_tokens
    picture = vz.capture(scene, asset("examples/digit.png"))
    _, rows = read(picture, logit_lens(scene, picture, n=1))
    assert rows[-1][:5] == ["4", "", "whole input", "0", "7"]


def test_no_name_is_a_formula(minilm, hostile, grammar):
    for name, result in every(minilm, hostile).items():
        header, rows = read(hostile, result)
        for cell in (*header, *(cell for row in rows for cell in row)):
            is_number = cell[1:2].isdigit()
            assert not cell.startswith(("=", "+", "@", "\t", "\r")), name
            assert is_number or not cell.startswith("-"), name
        if name not in ("smoothing", "blocks"):
            where = header.index("token_name")
            assert {row[where].removeprefix("'") for row in rows} <= set(HOSTILE)
    run = vz.capture(grammar, "the dog [MASK]")
    found = logit_lens(grammar, run, n=1)
    evil = replace(found, labels=np.full_like(found.labels, "=1+1", dtype="<U9"))
    assert {row[4] for row in read(run, evil)[1]} == {"'=1+1"}


def test_npz_comes_back(minilm, trace):
    for name, result in every(minilm, trace).items():
        with np.load(io.BytesIO(state_npz(trace, result)), allow_pickle=False) as file:
            for field in fields(result):
                value = np.asarray(getattr(result, field.name))
                assert np.array_equal(file[field.name], value), (name, field.name)
            numbers = result.neighbors if name == "nearest" else result.tokens
            assert file["token_names"].tolist() == [trace.tokens[at] for at in numbers]
            assert str(file["model"]) == "all-MiniLM-L6-v2"


def test_another_run_is_refused(minilm, trace):
    short = vz.capture(minilm, "short")
    for write in (state_arrays, lambda *given: list(state_lines(*given))):
        with pytest.raises(SelectionError, match="names token 13, but the run has 3 tokens"):
            write(short, over_smoothing(trace))
