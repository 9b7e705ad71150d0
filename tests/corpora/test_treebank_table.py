"""A treebank's table: the heads over its sentences, and its relations, in every kind of file."""

import json

import numpy as np
import pytest

import viz_encoder as vz
from tests.corpora.test_head_sums import same
from tests.refusals import refused
from viz_encoder.corpora import HeadTable, TreeSentence, read_treebank, relations, treebank_table
from viz_encoder.errors import SelectionError, TraceError


@pytest.fixture(scope="module")
def trees():
    return list(read_treebank("grammar"))[::8]


@pytest.fixture(scope="module")
def table(grammar, trees):
    return treebank_table(grammar, trees)


def test_it_is_the_corpus_of_the_sentences_and_their_relations(grammar, trees, table):
    same(table, vz.corpus(grammar, [one.text for one in trees]), 0)
    np.testing.assert_equal(vars(table.relations), vars(relations(grammar, trees)))
    assert table.relations.best("reference") == (2, 3)


def test_relations_of_another_shape_are_refused(table, tmp_path):
    table.save(tmp_path / "heads.json")
    data = json.loads((tmp_path / "heads.json").read_text())
    data["relations"]["random"] = [one[:-1] for one in data["relations"]["random"]]
    (tmp_path / "heads.json").write_text(json.dumps(data))
    refused(TraceError, "relations are not of the shape", HeadTable.load, tmp_path / "heads.json")
    data["relations"] = None  # as a table without
    (tmp_path / "heads.json").write_text(json.dumps(data))
    assert HeadTable.load(tmp_path / "heads.json").relations is None


def test_few_arcs_are_all_kept_and_none_are_none(grammar, trees):
    few = treebank_table(grammar, trees[:9]).relations
    assert sum(few.n_arcs) == sum(len(one.arcs) for one in trees[:9])
    bare = next(one for one in trees if one.arcs)
    nothing = type(bare)(bare.text, bare.spans, (None,) * len(bare.heads), bare.relations)
    table = treebank_table(grammar, [nothing])
    assert table.relations is None
    assert table.about.no_relations.startswith("In 1 sentence, no word depends on another")


def test_a_file_of_trees_is_a_corpus_of_its_sentences(grammar, tmp_path):
    tree = "1\tkeys\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\tare\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "trees.conllu").write_text(tree * 3, encoding="utf-8")
    found = vz.corpus(grammar, tmp_path / "trees.conllu")
    same(found, vz.corpus(grammar, ["keys are"] * 3), 0)
    assert found.n_texts == 3


def test_each_sentence_counts_twice(grammar, trees):
    told = []
    treebank_table(grammar, trees, progress=lambda done: told.append((done.n, done.total)))
    n = len(trees)
    assert told[-1] == (2 * n, 2 * n) and told == sorted(told) and (n, 2 * n) in told


@pytest.mark.parametrize("enough", [1, 321])  # while the heads are measured, and the relations
def test_a_stop_stops(grammar, trees, enough):
    with pytest.raises(TraceError, match="Stopped after"):
        treebank_table(grammar, trees[:40] * 8, progress=lambda done: done.n < enough)


def test_a_rare_relation_is_left_out_beside_frequent_ones(grammar):
    often, rare = (
        TreeSentence("keys are", ((0, 4), (5, 8)), (1, None), (name, "root"))
        for name in ("nsubj", "obj")
    )
    found = treebank_table(grammar, [often] * 12 + [rare] * 3).relations
    assert found.relations == ("nsubj",) and found.n_arcs == (12,)


def test_arcs_that_are_cut_off_leave_what_there_is_or_a_sentence(grammar, tmp_path):
    """12 arcs of which a few stand before the cut: the table has these, not an error."""
    most = grammar.config.max_positions
    words = ["keys"] * (most + 20)
    starts = range(0, 5 * len(words), 5)
    spans = tuple((at, at + 4) for at in starts)

    def tree(dependents):
        heads = [None] * len(words)
        for word in dependents:
            heads[word] = word - 1
        return TreeSentence(" ".join(words), spans, tuple(heads), ("nsubj",) * len(words))

    late = range(most + 2, most + 14)
    some = treebank_table(grammar, [tree([1, 2, 3, *late])]).relations
    assert (some.relations, some.n_arcs, some.n_left_out) == (("nsubj",), (3,), 12)
    none = treebank_table(grammar, [tree(late)])
    assert (
        none.relations is None and "All 12 arcs are of words that were" in none.about.no_relations
    )
    none.save(tmp_path / "heads.json")
    assert HeadTable.load(tmp_path / "heads.json").about == none.about
    for given, said in (
        ({"sentences": [tree([1, 2, 3])], "least": 10}, r"most frequent has 3\. Give .*least=3"),
        ({"sentences": [tree(late)]}, "All 12 arcs are of words that were cut off"),
        ({"sentences": [tree([])]}, "In 1 sentence, no word depends on another"),
    ):
        refused(SelectionError, said, relations, grammar, **given)
    assert relations(grammar, [tree([1, 2, 3])]).n_arcs == (3,)
