"""The corpus command: a CSV in, a table out, its first heads and examples on the screen."""

import csv
from dataclasses import replace

import pytest
from pyarrow import parquet

import viz_encoder as vz
from viz_encoder.cli import main
from viz_encoder.corpora import HeadTable

TEXTS = ["the keys are old", "the key to the cabinet is small", "copy : a b = a b"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The command on a CSV of three texts and an empty one."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{number},{text}\n" for number, text in enumerate([*TEXTS, ""]))
    (tmp_path / "texts.csv").write_text(f"id,text\n{rows}", encoding="utf-8")
    return lambda *given: main(
        ["corpus", "texts.csv", "--model", "grammar", "--device", "cpu", *given]
    )


def test_the_table_is_that_of_the_library(run, tmp_path, capsys, grammar):
    assert run("-o", "heads.parquet") == 0
    out, err = capsys.readouterr()
    wanted = vz.corpus(grammar, [*TEXTS, ""])
    table = HeadTable.load("heads.parquet")
    assert (table["previous"].mean == wanted["previous"].mean).all()
    assert table.examples.found == wanted.examples.found
    assert out.startswith(f"heads.parquet: {table.sentence}") and "Item 3: " in err
    layer, head = table.ranked("previous", 1)[0]
    assert f"  {layer}.{head}  {table['previous'].mean[layer, head]:.3f} ± " in out
    assert table.of_head(layer, head)[0].marked in out


def test_of_a_single_text_no_spread_is_told(run, tmp_path, capsys):
    (tmp_path / "texts.csv").write_text(f"text\n{TEXTS[0]}\n", encoding="utf-8")
    assert run("-o", "heads.json", "--vectors", "vectors.parquet") == 0
    out = capsys.readouterr().out
    assert "mean over 1 text:" in out and "vectors.parquet: 1 vector of" in out
    assert "±" not in out and "nan" not in out and "two texts" not in out


def test_options_reach_the_library(run, tmp_path, capsys):
    assert (
        run("-o", "heads.json", "--measures", "roles", "--rank", "punctuation", "--resume", "parts")
        == 0
    )
    assert "Weight on punctuation" in capsys.readouterr().out
    assert len(list((tmp_path / "parts").iterdir())) == 1
    assert not HeadTable.load("heads.json").examples.found
    assert run("-o", "heads.json", "--examples", "1", "--rank", "nothing") == 0
    assert len(HeadTable.load("heads.json").examples) == 16


def test_vectors_are_written_beside_the_table(run, tmp_path, capsys):
    assert run("-o", "heads.json", "--vectors", "vectors.parquet", "--pooling", "max") == 0
    rows = parquet.read_table("vectors.parquet")
    assert rows["text"].to_pylist() == TEXTS and rows["method"].to_pylist() == ["max"] * 3
    found = HeadTable.load("heads.json").vectors
    said = f"vectors.parquet: 3 vectors of {len(found.mean)} numbers (max); the mean cosine of two"
    assert f"{said} texts is {found.mean_cosine:.2f}." in capsys.readouterr().out


def test_a_treebank_gives_relations(run, tmp_path, capsys):
    tree = "1\tkeys\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\tare\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "trees.conllu").write_text(tree * 12, encoding="utf-8")
    given = ["corpus", "trees.conllu", "--model", "grammar", "--device", "cpu", "-o"]
    assert main([*given, "relations.csv", "--vectors", "vectors.parquet"]) == 1
    assert "this is a treebank" in capsys.readouterr().err
    assert main([*given, "relations.csv"]) == 0
    assert "1 relation of 12 sentences" in capsys.readouterr().out
    header, line = (tmp_path / "relations.csv").read_text("utf-8").splitlines()
    row = dict(zip(header.split(","), line.split(","), strict=True))
    assert (row["relation"], row["arcs"], row["offset"]) == ("nsubj", "12", "1")
    assert row["accuracy"] == row["offset_accuracy"] == "1.0"  # there is no other word
    assert main([*given, "heads.parquet"]) == 0
    assert "heads.parquet: 1 relation of 12 sentences" in capsys.readouterr().out
    table = HeadTable.load("heads.parquet")
    assert table.n_texts == 12 and table.relations.relations == ("nsubj",)


def test_a_treebank_without_arcs_says_why_it_has_no_relations(run, tmp_path, capsys):
    (tmp_path / "flat.conllu").write_text("1\tkeys" + 8 * "\t_" + "\n\n", encoding="utf-8")
    given = ["corpus", "flat.conllu", "--model", "grammar", "--device", "cpu", "-o", "heads.json"]
    assert main(given) == 0
    said = capsys.readouterr().out
    assert "heads.json: no relations. In 1 sentence, no word depends on another" in said


def test_a_name_that_a_spreadsheet_would_run_begins_with_an_apostrophe(run, tmp_path):
    name = '=HYPERLINK("x")'
    tree = f"1\tkeys\t_\t_\t_\t_\t2\t{name}\t_\t_\n2\tare\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "trees.conllu").write_text(tree * 12, encoding="utf-8")
    assert main(["corpus", "trees.conllu", "--model", "grammar", "-o", "relations.csv"]) == 0
    with (tmp_path / "relations.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["relation"] == f"'{name}" and float(row["accuracy"]) == 1


def test_so_does_a_statistic_that_a_table_brings(grammar, tmp_path):
    table = vz.corpus(grammar, TEXTS)
    named = replace(table, statistics={"=1+1": table["entropy"]})
    named.save(tmp_path / "heads.csv")
    header = (tmp_path / "heads.csv").read_text("utf-8").splitlines()[0]
    assert header == "layer,head,'=1+1,'=1+1_sd,'=1+1_least,'=1+1_most"
