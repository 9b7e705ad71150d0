"""vz.corpus: where items come from, what becomes of those that fail, stopping and going on."""

import csv
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tokenizers import Tokenizer, normalizers

import viz_encoder as vz
from tests.corpora.test_head_sums import same, sentences
from tests.refusals import refused
from viz_encoder.bundled import asset
from viz_encoder.corpora import HeadTable, chunk, read_treebank, relations
from viz_encoder.corpora.corpus import MEASURES, ON_REQUEST
from viz_encoder.corpora.corpus_items import CorpusItems, TextColumns, column_names
from viz_encoder.errors import InputError, SelectionError, TraceError
from viz_encoder.inputs.items import read_set

TEXTS = ["the keys are old", "the key to the cabinet is small", "copy : a b = a b"]


@pytest.fixture(scope="module")
def table(grammar):
    return vz.corpus(grammar, TEXTS)


def written(folder, kind):
    path = folder / f"texts.{kind}"
    if kind == "txt":
        path.write_text("\n".join([TEXTS[0], "", *TEXTS[1:]]) + "\n", encoding="utf-8")
    elif kind == "csv":
        path.write_text("\ufefflabel;text\n" + "".join(f"x;{text}\r\n" for text in TEXTS), "utf-8")
    elif kind == "jsonl":
        rows = [{"text": TEXTS[0], "n": 1}, TEXTS[1], {"text": TEXTS[2]}]
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    else:
        parquet.write_table(pa.table({"text": TEXTS, "n": [1, 2, 3]}), path)
    return path


@pytest.mark.parametrize("kind", ["txt", "csv", "jsonl", "parquet"])
def test_a_file_of_any_kind_is_read_whole_or_as_it_is_needed(
    grammar, table, tmp_path, kind, monkeypatch
):
    path, said = written(tmp_path, kind), []
    found = vz.corpus(grammar, path)
    same(found, table, 0)
    assert found.about.source == str(path)
    monkeypatch.setattr("viz_encoder.corpora.corpus_items.MOST_AT_ONCE", 1)
    if kind != "parquet":
        same(vz.corpus(grammar, str(path), progress=said.append), table, 0)
        assert said[-1].n == 3 and said[-1].total is None


def test_rows_items_and_generators_are_taken(grammar, table):
    same(vz.corpus(grammar, ({"text": text, "id": 3} for text in TEXTS)), table, 0)
    same(vz.corpus(grammar, ({"body": text} for text in TEXTS), column="body"), table, 0)
    same(vz.corpus(grammar, read_set("\n".join(TEXTS))), table, 0)


def test_pairs_come_from_two_columns(minilm, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("one,two\nA dog barks.,A cat sleeps.\n", encoding="utf-8")
    found = vz.corpus(minilm, path, column="one", second="two")
    wanted = vz.corpus(minilm, [("A dog barks.", "A cat sleeps.")])
    same(found, wanted, 0)
    assert found["across"].n_texts == 1
    read = minilm.read(("A dog barks.", "A cat sleeps.")).samples[0]
    for one in found.examples:
        sides = one.query_side, one.key_side
        assert sides == (read.segments[one.query], read.segments[one.key])
    assert len({one.query_side != one.key_side for one in found.examples}) == 2


def test_a_folder_of_pictures(tmp_path, scene):
    for name in ("digit", "wide"):
        (tmp_path / f"{name}.png").write_bytes(asset(f"examples/{name}.png").read_bytes())
    (tmp_path / "broken.png").write_bytes(b"nothing")
    table = vz.corpus(scene, tmp_path)
    assert table.n_texts == 2 and table.about.kind == "image"
    assert [one.item for one in table.failures] == [0]
    trace = vz.capture(scene, tmp_path / "digit.png")
    wide = vz.capture(scene, tmp_path / "wide.png")
    surveys = [vz.analyses.survey(one) for one in (trace, wide)]
    for layer in range(table.n_layers):
        wanted = np.mean([one[layer].statistics["first"] for one in surveys], axis=0)
        np.testing.assert_allclose(table["first"].mean[layer], wanted, atol=1e-6)
    one = table.examples[0]
    assert one.query_token == (trace, wide)[one.item - 1].tokens[one.query]


def test_an_item_that_fails_is_listed_with_its_reason(grammar, table, tmp_path):
    found = vz.corpus(grammar, [TEXTS[0], "", *TEXTS[1:], 7.5])
    same(found, table, 0, examples=False)
    assert [one.item for one in found.failures] == [1, 4]
    assert "empty" in found.failures[0].reason
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "the key is old"}\n{"body": 1}\nnot json\n[3]\n', encoding="utf-8")
    found = vz.corpus(grammar, path)
    assert found.n_texts == 1 and found.n_failed == 3
    assert ["'text'" in one.reason or "JSON" in one.reason for one in found.failures][:2] == [
        True
    ] * 2
    assert "2 could not be measured" not in found.sentence and "3 could" in found.sentence


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "empty"),
        (["", ""], "None of 2 items"),
        ("no such file.txt", "no file or folder"),
        (3, "iterable"),
    ],
)
def test_what_cannot_be_a_corpus_is_refused_in_a_sentence(grammar, items, message):
    refused(InputError, message, vz.corpus, grammar, items)


def test_wrong_columns_and_measures_name_the_right_ones(grammar, tmp_path):
    path = written(tmp_path, "csv")
    with pytest.raises(InputError, match="'label', 'text', and no column 'body'"):
        vz.corpus(grammar, path, column="body")
    with pytest.raises(InputError, match="no column 'body'"):
        vz.corpus(grammar, written(tmp_path, "parquet"), column="body")
    with pytest.raises(SelectionError, match="choose one of statistics"):
        vz.corpus(grammar, TEXTS, measures=["speed"])
    refused(SelectionError, "at least 1", vz.corpus, grammar, TEXTS, n=0)
    refused(InputError, r"vz\.load", lambda: vz.corpus(object(), TEXTS))


def test_only_what_is_asked_for_is_in_the_table(grammar, table):
    found = vz.corpus(grammar, TEXTS, measures="statistics")
    assert "confidence" in found.statistics and "punctuation" not in found.statistics
    assert not len(found.examples) and len(table.examples)
    with pytest.raises(SelectionError, match="no statistic 'punctuation'"):
        found["punctuation"]


def stop_after(n):
    return lambda done: done.n < n


def test_a_stopped_run_goes_on_from_its_parts(grammar, tmp_path, monkeypatch):
    monkeypatch.setattr(chunk, "CHUNK_ITEMS", 8)
    texts = sentences(40)
    whole = vz.corpus(grammar, texts)
    with pytest.raises(TraceError, match="Stopped after 24 of 40"):
        vz.corpus(grammar, texts, folder=tmp_path, progress=stop_after(24))
    assert len(list(tmp_path.glob("part-*.npz"))) == 2  # the third was not whole
    ran = count_runs(monkeypatch)
    said = []
    found = vz.corpus(grammar, texts, folder=tmp_path, progress=said.append)
    assert len(ran) == 3 and said[-1].resumed == 16 and said[-1].n == 40
    assert said[-1].rate == pytest.approx(24 / said[-1].seconds)
    same(found, whole, 0)


def count_runs(monkeypatch):
    ran, measure = [], chunk.measure_items

    def counted(*given):
        ran.append(given[1][0])
        return measure(*given)

    monkeypatch.setattr("viz_encoder.corpora.engine.measure_items", counted)
    return ran


def test_parts_count_only_for_the_same_items_model_and_settings(grammar, tmp_path, monkeypatch):
    vz.corpus(grammar, TEXTS, folder=tmp_path)
    ran = count_runs(monkeypatch)
    vz.corpus(grammar, TEXTS, folder=tmp_path)
    assert not ran
    other, bare = (vz.load(vz.load("grammar", device="cpu").model) for _ in range(2))
    other.model.layers[0].attn.q.weight.data[0, 0] += 1
    ids = [grammar.read(text).values[0].tolist() for text in TEXTS]
    for encoder, items, k in (
        (grammar, TEXTS[:2], 10),
        (grammar, TEXTS[::-1], 10),
        (grammar, TEXTS, 3),
        (bare, ids, 10),
        (other, ids, 10),  # the same items through another weight
    ):
        ran.clear()
        vz.corpus(encoder, items, n=k, folder=tmp_path)
        assert ran == [0], (encoder, items, k)


def test_the_same_items_further_on_are_another_part(grammar, tmp_path, monkeypatch):
    monkeypatch.setattr(chunk, "CHUNK_ITEMS", 2)
    ran = count_runs(monkeypatch)
    vz.corpus(grammar, [*TEXTS[:2], *TEXTS[:2]], folder=tmp_path)
    assert ran == [0, 2]


def test_where_an_item_ends_is_a_part_of_what_it_is():
    one, other = (chunk.Chunk(0, items).digest() for items in (("a", "b"), ("atextb",)))
    assert one != other


def test_a_model_is_its_weights_and_its_tokenizer(grammar):
    kept = chunk.model_digest(grammar)
    assert chunk.model_digest(vz.load("grammar", device="cpu")) == kept
    tokenizer = Tokenizer.from_str(grammar.reader.tokenizer.to_str())
    tokenizer.normalizer = normalizers.Replace("cats", "dogs")
    other = replace(grammar, reader=replace(grammar.reader, tokenizer=tokenizer))
    assert chunk.model_digest(other) != kept


def test_a_part_that_was_cut_off_is_made_again(grammar, tmp_path, table):
    vz.corpus(grammar, TEXTS, folder=tmp_path)
    [path] = tmp_path.glob("part-*.npz")
    path.write_bytes(path.read_bytes()[:100])
    same(vz.corpus(grammar, TEXTS, folder=tmp_path), table, 0)


def test_a_stream_is_taken_a_chunk_at_a_time(grammar, monkeypatch):
    monkeypatch.setattr(chunk, "CHUNK_ITEMS", 8)
    given, most = [], 0

    def stream() -> Iterator[str]:
        for text in sentences(64):
            given.append(text)
            yield text

    def tell(done):
        nonlocal most
        most = max(most, len(given) - done.n)

    vz.corpus(grammar, stream(), progress=tell)
    assert len(given) == 64 and most <= 8


def test_a_table_is_the_same_after_a_file(grammar, tmp_path):
    found = vz.corpus(grammar, ["Hi", *TEXTS, ""], measures=[*MEASURES, *ON_REQUEST], sample=0.4)
    found = replace(found, relations=relations(grammar, islice(read_treebank("grammar"), 9)))
    for kind in ("parquet", "npz", "json"):
        size = found.save(tmp_path / f"heads.{kind}")
        assert size == (tmp_path / f"heads.{kind}").stat().st_size
        again = HeadTable.load(tmp_path / f"heads.{kind}")
        np.testing.assert_equal(asdict(again), asdict(found), err_msg=kind)
        assert again.n_failed == 1 and 0 < again.n_sampled < again.n_texts


def test_a_parquet_file_has_a_row_a_head(table, tmp_path):
    table.save(tmp_path / "heads.parquet")
    rows = parquet.read_table(tmp_path / "heads.parquet")
    assert rows.num_rows == 16 and rows["head"].to_pylist()[:5] == [0, 1, 2, 3, 0]
    frame = table.to_frame()
    assert frame["previous"].tolist() == rows["previous"].to_pylist()
    table.save(tmp_path / "heads.csv")
    assert len((tmp_path / "heads.csv").read_text("utf-8").splitlines()) == 17


def test_files_that_hold_no_table_are_refused(table, tmp_path):
    for name, content in (
        ("a.json", b"[1]"),
        ("a.npz", b"PK"),
        ("a.parquet", b"PAR1"),
        ("b.json", b'{"format": 9}'),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TraceError):
            HeadTable.load(tmp_path / name)
    refused(TraceError, "cannot be read", HeadTable.load, tmp_path / "none.json")
    refused(SelectionError, "known ending", table.save, tmp_path / "heads.xlsx")
    refused(SelectionError, "no examples", HeadTable.load, "heads.csv")


def test_heads_are_ranked_and_their_examples_marked(grammar, table):
    layer, head = table.ranked("previous", 1)[0]
    assert table["previous"].mean.max() == table["previous"].mean[layer, head]
    one = table.of_head(layer, head)[0]
    assert f"[{one.query_token}]" in one.marked.replace("{", "").replace("}", "")
    assert len(one.marked) == len(one.texts[0]) + 4
    assert table.examples.to_frame()["text"][0] in TEXTS
    refused(SelectionError, r"no layer 9; choose", table.of_head, 9, 0)


def test_long_cells_are_read_and_the_limit_of_the_process_stays(tmp_path):
    before = csv.field_size_limit()
    (tmp_path / "long.csv").write_text(f"text\n{'a' * 200_000}\nshort\n")
    rows = CorpusItems(tmp_path / "long.csv", TextColumns("text", None))
    assert [len(row) for row in rows] == [200_000, 5]
    assert csv.field_size_limit() == before


def test_a_first_line_that_no_table_has_is_told(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_bytes(b"\0" * 2**18 + b"\ntext\n")
    with pytest.raises(InputError, match="first line of the CSV cannot be read"):
        column_names(path.read_text())
