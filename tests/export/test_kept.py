"""Exports of a map that hides, renormalizes and merges: each holds it exactly, and says so."""

import csv
import io

import numpy as np
import pytest

import viz_encoder as vz
from tests.by_hand import shown
from tests.export.runs import facts_of, unpacked
from viz_encoder.export import MapView, arrays, csv_lines, draw_page, snippet
from viz_encoder.trace.token_selection import shown_tokens

TEXT = "The reinterpretation of tokenization"
KEPT = {"hide_special": True, "renormalize": True, "words": True}
OPTIONS = [KEPT, KEPT | {"renormalize": False}, KEPT | {"words": False}, {"words": True}]


@pytest.fixture(scope="module")
def trace(minilm):
    return vz.capture(minilm, TEXT)


def entries_of(trace, *, renormalize=False, **options):
    return shown_tokens(trace, **options)


def expected(trace, heads, **options):
    """The map by numpy alone."""
    fused = trace.attention(3).double().numpy()[list(heads)].mean(axis=0)
    renormalize = options.get("renormalize", False)
    return shown(fused, entries_of(trace, **options), renormalize=renormalize)


@pytest.mark.parametrize("options", OPTIONS)
def test_npz_and_csv(trace, options):
    found, wanted = arrays(trace, 3, (1, 4), **options), expected(trace, (1, 4), **options)
    assert np.abs(found["weights"] - wanted).max() <= 2e-6
    header, *rows = csv.reader(
        io.StringIO("".join(csv_lines(trace, MapView(3, (1, 4), **options))))
    )
    weights = np.array([[float(cell) for cell in row[4:]] for row in rows])
    assert (weights.astype(np.float32) == found["weights"]).all()
    if options.get("words"):
        assert [row[:2] for row in rows if " " in row[0]] == [
            ["2 3 4 5", "reinterpretation"],
            ["7 8", "tokenization"],
        ]
        assert "key 2 3 4 5: reinterpretation" in header
        assert found["key_sizes"].max() == 4 and 7 in found["queries"]
    said = {
        "special tokens hidden": "hide_special",
        "rows renormalized": "renormalize",
        "sub-words merged": "words",
    }
    for text, option in said.items():
        assert all((text in row[3]) == options.get(option, False) for row in rows)
    note = str(found["note"])
    assert ("merged" in note) == options.get("words", False)
    assert ("divided by its sum" in note) == options.get("renormalize", False)


@pytest.mark.parametrize("options", OPTIONS)
def test_the_page_holds_the_chosen_map(trace, options):
    page = draw_page(trace, MapView(3, 5, **options), query=8).decode()
    facts = facts_of(page)["chosen"]
    values = np.frombuffer(unpacked(page, "exact"), "<f4").reshape(facts["shape"])
    assert np.abs(values - expected(trace, [5], **options)).max() <= 2e-6
    entries = entries_of(trace, **options)
    assert facts["counts"] == [len(entries)] * 2
    at = next(at for at, entry in enumerate(entries) if 8 in entry)
    assert facts["queries"][at] == entries[at][0] and facts["names"][1][at].endswith("ization")
    assert ("merged" in facts["note"]) == options.get("words", False)


def test_of_a_pair_each_row_of_the_chosen_map_says_its_text(minilm):
    pair = vz.capture(minilm, ("The reinterpretation", "of tokenization"))
    page = draw_page(pair, MapView(3, 5, hide_special=True, words=True)).decode()
    facts = facts_of(page)["chosen"]
    assert facts["names"][0] == ["the", "reinterpretation", "of", "tokenization"]
    assert facts["segments"] == [0, 0, 1, 1] and facts["special"] == [False] * 4
    second = pair.tokens.index("of")
    assert facts["queries"] == [1, 2, second, second + 1]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("query", [None, 7])
def test_the_code_gives_it(trace, options, query):
    scope: dict[str, object] = {}
    code = snippet(TEXT, MapView(3, (1, 4), **options), model="all-MiniLM-L6-v2", query=query)
    exec(code, scope)
    wanted = expected(trace, (1, 4), **options)
    if query is not None:
        entries = entries_of(trace, **options)
        wanted = wanted[next(at for at, entry in enumerate(entries) if query in entry)]
    assert np.abs(np.asarray(scope["weights"]) - wanted).max() <= 2e-6
