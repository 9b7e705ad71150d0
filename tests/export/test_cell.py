"""The document of a notebook's cell: the trace's weights, within its size, and text as text."""

import base64
import html
import io
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

import viz_encoder as vz
from tests.export.runs import HOSTILE, facts_of, random_trace, unpacked
from tests.refusals import refused
from viz_encoder.errors import SelectionError, TraceError
from viz_encoder.export import draw_cell
from viz_encoder.trace import LayerTrace

SENTENCE = "The animal didn't cross the street because it was too tired"


def maps_of(document: str) -> dict[tuple[int, int], tuple[np.ndarray, float]]:
    """Each map by its layer and head, as its bytes say it, and how far a weight may be off."""
    facts = facts_of(document)
    fine = facts["levels"] > 255
    steps = np.frombuffer(unpacked(document, "maps"), "<u2" if fine else "u1").astype(np.float64)
    found, start = {}, 0
    for about in facts["maps"]:
        rows, cols = about["shape"]
        cells = steps[start : start + rows * cols].reshape(rows, cols)
        start += rows * cols
        blank = cells == (65535 if fine else 255)
        values = np.where(blank, np.nan, cells * about["top"] / facts["levels"])
        found[about["layer"], about["head"]] = values, about["top"] / facts["levels"] / 2
    assert start == len(steps)
    return found


@pytest.fixture(scope="module")
def animal(minilm):
    return vz.capture(minilm, SENTENCE)


def holds(trace: vz.Trace, document: str) -> None:
    """Every map of the document is the trace's, within what is said."""
    for (layer, head), (values, off) in maps_of(document).items():
        wanted = trace.attention(layer, head).double().numpy()
        assert np.abs(values - wanted).max() <= off * 1.001


def test_a_sentence_has_all_heads_in_16_bits(animal):
    cell = animal.show()
    found = maps_of(cell.document)
    assert next(iter(found)) == tuple(
        facts_of(cell.document)["opening"][at] for at in ("layer", "head")
    )
    assert len(found) == 72 and max(off for _, off in found.values()) < 1e-5
    holds(animal, cell.document)
    assert cell.nbytes < 200_000 and facts_of(cell.document)["left_out"] == ""


@pytest.mark.parametrize("spread", [1.0, 0.2])
def test_128_tokens_of_6_by_12_heads_are_all_there_within_a_megabyte(spread):
    trace = random_trace(128, 6, 12, spread)
    cell = trace.show()
    assert cell.nbytes == len(cell._repr_html_().encode()) <= 1_000_000
    assert len(maps_of(cell.document)) == 72
    holds(trace, cell.document)


def test_what_has_no_room_is_named():
    trace = random_trace(300, 6, 12)
    cell = trace.show(layer=(2, 4), query=7)
    facts, found = facts_of(cell.document), maps_of(cell.document)
    assert cell.nbytes <= 1_000_000 and 1 < len(found) < 24
    holds(trace, cell.document)
    assert facts["left_out"].startswith(f"{len(found)} of 24 heads fit here.")
    layer, head = map(int, re.search(r"layer=(\d+), head=(\d+)", facts["left_out"]).groups())
    assert (layer, head) not in found and layer in (2, 4)
    first = facts["opening"]["layer"]
    chosen = [at for at in found if at[0] == first]
    assert len(chosen) == 12 or set(found) == set(chosen)  # the chosen layer goes last
    assert facts["opening"]["query"] == 7


def test_of_4096_tokens_it_is_the_largest_of_blocks():
    trace = random_trace(4096, 1, 2)
    cell = trace.show(layer=0, head=1, query=9)
    ((values, off),) = maps_of(cell.document).values()
    assert cell.nbytes <= 1_000_000 and values.shape == (512, 512)
    rows = trace.attention(0, 1, rows=slice(0, 16)).numpy()
    blocks = rows.reshape(2, 8, 512, 8).max(axis=(1, 3))
    assert np.abs(values[:2] - blocks).max() <= off * 1.001


def test_only_what_is_asked_for_is_in_it(animal):
    document = animal.show(layer=3, head=1, query="it").document
    opening = {"layer": 3, "head": 1, "query": animal.tokens.index("it")}
    assert facts_of(document)["opening"] == opening
    assert list(maps_of(document)) == [(3, 1)]
    some = maps_of(animal.show(layer=range(2), head=[4, 0]).document)
    assert sorted(some) == [(0, 0), (0, 4), (1, 0), (1, 4)]


def test_it_opens_on_a_link_between_words_that_stand_apart(animal):
    opening = facts_of(animal.show().document)["opening"]
    query, tokens = opening["query"], animal.tokens
    row = animal.attention(opening["layer"], opening["head"])[query]
    key = int(row.argmax())
    assert abs(query - key) > 2 and tokens[query] != tokens[key] and row[key] > 0.4
    assert not animal.sample.special[query] and not animal.sample.special[key]


WRONG = [
    ({"layer": 6}, "There is no layer 6"),
    ({"head": 12}, "There is no head 12"),
    ({"layer": "all"}, "layer is 'all'"),
    ({"head": []}, "head is empty"),
    ({"query": 15}, "There is no query 15"),
    ({"query": -99}, "There is no query -99"),
    ({"query": "the"}, "Tokens 1, 7 are all 'the'"),
    ({"max_bytes": 1000}, "too small for any map"),
    ({"max_bytes": "x"}, "max_bytes is 'x'; it must be a number of bytes, such as 1_000_000"),
]


def test_what_is_not_there_is_said(animal):
    for asked, said in WRONG:
        refused(SelectionError, said, draw_cell, animal, **asked)


def test_masked_cells_stay_masked(padded):
    values, _ = maps_of(padded.show(layer=0, head=0).document)[0, 0]
    allowed = padded.valid.numpy()
    assert not allowed.all()
    assert np.isnan(values[:, ~allowed]).all() and not np.isnan(values[:, allowed]).any()


def test_another_sequence_has_names_of_its_own(rng):
    draw = lambda count: torch.randn(2, count, 8, generator=rng)  # noqa: E731
    layer = LayerTrace(draw(3), draw(5), draw(5), scale=1.0, cross=True)
    trace = replace(random_trace(3, 1, 2), layers=(layer,), key_tokens=tuple("vwxyz"))
    cell = trace.show()
    facts = facts_of(cell.document)
    assert facts["others"] == list("vwxyz") and facts["maps"][0]["counts"] == [3, 5]
    holds(trace, cell.document)


def test_a_picture_comes_with_its_pixels(picture):
    facts = facts_of(picture.show().document)
    assert facts["picture"].startswith("data:image/png;base64,")
    assert facts["grid"] == {"rows": 10, "cols": 10, "prefix": 1}
    assert facts["opening"]["query"] == 0  # [CLS]


def test_no_text_breaks_out_and_nothing_is_fetched(hostile):
    cell = replace(hostile, origin=replace(hostile.origin, model=HOSTILE[0])).show()
    shown = cell._repr_html_()
    frame = re.fullmatch(
        r'<style>[^<]*</style><iframe data-viz-frame title="([^"]*)" sandbox="allow-scripts" '
        r'[^>]*srcdoc="([^"]*)">[^<]*</iframe><img [^<>]*>',
        shown,
    )
    assert html.unescape(frame[2]) == cell.document and html.unescape(frame[1]) == cell.title
    assert cell.document.count("<script") == cell.document.count("</script") == 4
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", cell.document))
    assert addresses <= {"http://www.w3.org"}  # the name of SVG
    assert "default-src 'none'" in cell.document and "unsafe" not in cell.document
    assert facts_of(cell.document)["tokens"] == list(HOSTILE)


def test_what_it_is_in_one_line_and_in_a_file(animal, tmp_path):
    cell = animal.show()
    assert re.fullmatch(r"<Attention of all-MiniLM-L6-v2, .* 15 tokens, \d+ kB; .*>", repr(cell))
    assert cell.save(tmp_path / "map.html") == len(cell.document.encode())
    assert (tmp_path / "map.html").read_text(encoding="utf-8") == cell.document
    refused(TraceError, "cannot be written", cell.save, tmp_path / "nowhere" / "map.html")


def test_words_are_merged_and_special_tokens_hidden_as_in_a_figure(minilm):
    trace = vz.capture(minilm, "unbelievably tokenization")
    cell = draw_cell(trace, layer=3, head=5, words=True, hide_special=True)
    facts, (values, off) = facts_of(cell.document), maps_of(cell.document)[3, 5]
    figure = vz.figures.attention_map(trace, layer=3, head=5, words=True, hide_special=True)
    assert np.abs(values - figure.data[0].z).max() <= off * 1.001
    assert facts["kept"][0]["names"][0] == ["unbelievably", "tokenization"]
    assert facts["maps"][0]["counts"] == [2, 2] and "Sub-words are merged" in facts["notes"][0]


def test_where_frames_and_styles_are_taken_out_a_picture_of_the_opened_map_is_left(animal):
    frame = draw_cell(animal, layer=3, head=5)._repr_html_()
    left = re.sub(r"<(style|iframe)[^>]*>.*?</\1>", "", frame, flags=re.DOTALL)
    (content,) = re.findall(
        r'^<img data-viz-picture alt="[^"]+" src="data:image/png;base64,([^"]+)">$', left
    )
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(content))).convert("L"), int)
    n, side = animal.n_tokens, 22
    rows, weights = pixels[-n * side + side // 2 :: side], animal.attention(3, 5).numpy().ravel()
    begins = range(side // 2, pixels.shape[1] - (n - 1) * side)  # behind the names
    drawn = (rows[:, at : at + n * side : side].ravel() for at in begins)
    assert min(np.corrcoef(cells, weights)[0, 1] for cells in drawn) < -0.99
