"""A set of items: vectors, neighbors and the table, against scikit-learn and plain loops."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import pairwise, silhouette_score

import viz_encoder as vz
from tests.refusals import refused
from viz_encoder.analyses.collection import collection, separation
from viz_encoder.bundled import asset
from viz_encoder.errors import InputError, SelectionError, TooLong, TraceError
from viz_encoder.inputs.items import Item, read_set
from viz_encoder.trace.batches import batches

SETS = asset("examples/sets")


@pytest.fixture(scope="module")
def topics(minilm):
    return collection(minilm, read_set(SETS / "topics.csv"))


def test_batches_change_no_vector(minilm, topics):
    for number in (0, 7, 39):
        trace = vz.capture(minilm, topics.items[number].source)
        assert topics.n_tokens[number] == trace.n_tokens
        for layer in (0, 4, 6):
            hidden = trace.output if layer == 6 else trace.hidden(layer)
            for method in ("cls", "mean", "max", "last", "cls_mean"):
                alone = vz.pool(hidden, trace.valid, method).numpy()
                assert np.abs(topics.of(method, layer)[number] - alone).max() <= 5e-6


def test_batches_are_sorted_and_within_the_budget(minilm):
    texts = ["one " * n for n in (3, 60, 1, 9, 40, 2, 61)]
    told = []
    ran = list(batches(minilm, texts, (6,), batch_tokens=80, progress=lambda *at: told.append(at)))
    lengths = [len(sample.tokens) for batch in ran for sample in batch.samples]
    assert lengths == sorted((n + 2 for n in (3, 60, 1, 9, 40, 2, 61)), reverse=True)
    assert sorted(n for batch in ran for n in batch.numbers) == list(range(7))
    assert all(b.states.valid.numel() <= 80 for b in ran) and any(len(b.numbers) > 2 for b in ran)
    assert told == [(n, 7) for n in np.cumsum([len(b.numbers) for b in ran])]


def test_progress_can_stop_the_run(minilm):
    texts = ["short"] * 3 + ["a text of many more words than the others " * 20] * 3
    with pytest.raises(TraceError, match=r"Stopped after \d of 6 items"):
        collection(minilm, texts, progress=lambda done, total: done < 3)
    assert len(collection(minilm, texts, progress=lambda done, total: done < 6).items) == 6


@pytest.mark.parametrize("seed", range(4))
def test_separation_equals_sklearn_and_loops(seed):
    random = np.random.default_rng(seed)
    labels = [*"aaabbbbccd"]
    vectors = random.normal(size=(10, 6)).astype(np.float32)
    vectors += np.eye(6)[[ord(x) - 97 for x in labels]] * 1.5
    row = separation("mean", 0, vectors.astype(np.float32), labels)
    distance = pairwise.cosine_distances(vectors.astype(np.float32).astype(np.float64))
    assert row.silhouette == pytest.approx(
        silhouette_score(distance, labels, metric="precomputed"), abs=1e-9
    )
    unit = [v / np.sqrt((v**2).sum()) for v in vectors.astype(np.float64)]
    nearest, centroid, within, between = [], [], [], []
    for i, label in enumerate(labels):
        others = [j for j in range(10) if j != i]
        for j in others:
            (within if labels[j] == label else between).append(unit[i] @ unit[j])
        if labels.count(label) == 1:
            continue
        best = max(others, key=lambda j: unit[i] @ unit[j])
        nearest.append(labels[best] == label)
        near = {}
        for each in set(labels):
            mean = sum(unit[j] for j in others if labels[j] == each)
            near[each] = unit[i] @ mean / np.sqrt((mean**2).sum())
        centroid.append(max(near, key=near.get) == label)
    assert row.recall_at_1 == pytest.approx(np.mean(nearest))
    assert row.centroid_accuracy == pytest.approx(np.mean(centroid))
    assert row.within == pytest.approx(np.mean(within), abs=1e-6)
    assert row.between == pytest.approx(np.mean(between), abs=1e-6)


def test_what_cannot_be_said_is_nan_with_a_reason():
    vectors = np.eye(4, dtype=np.float32)
    assert "one label" in separation("cls", 0, vectors, [*"aaaa"]).why
    alone = separation("cls", 0, vectors, [*"abcd"])
    assert alone.silhouette == 0 and np.isnan(alone.recall_at_1) and "appears once" in alone.why
    vectors[2] = 0
    row = separation("cls", 0, vectors, [*"aabb"])
    assert np.isnan(row.silhouette) and row.why.startswith("Item 2 has a zero vector")
    vectors[1, 1] = np.nan
    assert "Item 1 has NaN" in separation("cls", 0, vectors, [*"aabb"]).why
    same = separation("cls", 0, np.ones((4, 3), np.float32) * 7, [*"aabb"])
    assert np.isnan(same.recall_at_1) and "same vector" in same.why
    pairs = np.repeat(np.eye(2, 3, dtype=np.float32), 2, axis=0)
    assert separation("cls", 0, pairs, [*"aabb"]).silhouette == 1
    refused(InputError, "4 items and 2 labels", separation, "cls", 0, vectors, [*"ab"])


def test_the_table_shows_mean_ahead_of_cls_as_the_model_was_trained(topics):
    rows = topics.table()
    assert len(rows) == len(topics.methods) * 7
    said = [row.silhouette for row in rows if not row.why]
    assert said == sorted(said, reverse=True) and len(said) == len(rows) - 2
    unsaid = [(row.method, row.state) for row in rows[-2:]]
    assert unsaid == [("cls", 0), ("pooler", 0)]  # [CLS] before any block is [CLS] in every text
    last = {row.method: row for row in rows if row.state == 6}
    for column in ("silhouette", "centroid_accuracy", "recall_at_1"):
        assert getattr(last["mean"], column) >= getattr(last["cls"], column)
    assert last["mean"].silhouette > last["cls"].silhouette
    assert last["mean"].recall_at_1 > last["cls"].recall_at_1
    assert last["mean"].within > last["mean"].between
    by_recall = [row.recall_at_1 for row in topics.table("recall_at_1") if not row.why]
    assert by_recall == sorted(by_recall, reverse=True)


def test_neighbors(topics):
    cosine = topics.cosine("mean", 6)
    found = topics.neighbors("mean", 6, item=3, k=4)
    order = sorted((i for i in range(40) if i != 3), key=lambda i: -cosine[3, i])
    assert [each.item for each in found] == order[:4]
    for each in found:
        assert each.cosine == pytest.approx(cosine[3, each.item], abs=1e-12)
        assert each.same_label == (topics.labels[each.item] == "sport")
    assert topics.neighbors("cls", item=0, k=99)[-1].cosine < 1
    unlabeled = collection(topics_encoder(), ["a b", "a c"], methods=["cls"], states=[0])
    assert unlabeled.neighbors("cls", item=0)[0].same_label is None


def topics_encoder():
    return vz.load("grammar", device="cpu")


def test_the_senses_of_bank_show_at_the_word(minilm):
    items = read_set(SETS / "bank.csv")
    found = collection(minilm, items, methods=["word", "mean"], states=[0, -1])
    for number in (0, 5):
        trace = vz.capture(minilm, items[number].source)
        at = trace.tokens.index("bank")
        assert np.allclose(found.of("word", 0)[number], trace.hidden(0)[at].numpy(), atol=5e-6)
        assert np.allclose(found.of("word", 6)[number], trace.output[at].numpy(), atol=5e-6)
    last = {row.method: row for row in found.table() if row.state == 6}
    assert last["word"].recall_at_1 > 0.9
    with pytest.raises(InputError, match="Item 1: the word 'shore'"):
        collection(minilm, [Item("The banks are far", "", "shore")])


def test_a_word_of_several_tokens_is_their_mean(minilm):
    text = "The retokenization and tokenization of it"
    found = collection(minilm, [Item(text, "", "tokenization")], methods=["word"], states=[3])
    trace = vz.capture(minilm, text)
    start = text.rindex("tokenization")
    at = [i for i, (a, b) in enumerate(trace.sample.spans) if start <= a < start + 12]
    assert len(at) > 1
    wanted = trace.hidden(3)[at].mean(dim=0).numpy()
    assert np.allclose(found.of("word", 3)[0], wanted, atol=1e-5)


def test_each_layer_is_pooled_by_its_own_query(minilm):
    text, n = "the dog saw a cat", minilm.config.d_model
    queries = {layer: np.random.default_rng(layer).normal(size=n) for layer in (1, 4)}
    found = collection(minilm, ["a b", text], states=[1, 4], queries=queries)
    trace = vz.capture(minilm, text)
    for layer, query in queries.items():
        hidden = trace.hidden(layer).double().numpy()
        weights = np.exp(hidden @ query / np.sqrt(n))
        wanted = weights @ hidden / weights.sum()
        assert np.allclose(found.of("attention", layer)[1], wanted, atol=1e-5)
    with pytest.raises(SelectionError, match="No query was learned for state 0"):
        collection(minilm, ["a b"], queries=queries)


def test_a_word_that_is_in_the_prompt_too_is_that_of_the_text(minilm):
    declared = replace(minilm.declared, prompts={"money": "a bank: "})
    prompted = replace(minilm, declared=declared)
    items = [Item("the river bank", word="bank"), Item("a bank of clouds", word="bank")]
    found = collection(prompted, items, methods=["word"], states=[2], prompt="money")
    for item, vector in zip(items, found.of("word", 2), strict=True):
        trace = vz.capture(prompted, prompted.read(item.source, prompt="money"))[0]
        at = [place for place, token in enumerate(trace.tokens) if token == "bank"]
        assert at[0] < trace.sample.n_prompt < at[1]
        assert np.allclose(vector, trace.hidden(2)[at[1]].numpy(), atol=1e-5)


def test_pictures(tmp_path, scene):
    from PIL import Image

    for label in ("dark", "light"):
        (tmp_path / label).mkdir()
        for n, side in enumerate((40, 40, 60)):
            shade = (n * 9) + (180 if label == "light" else 20)
            Image.new("RGB", (side, 40), (shade,) * 3).save(tmp_path / label / f"{n}.png")
    items = read_set(tmp_path)
    assert [item.label for item in items] == ["dark"] * 3 + ["light"] * 3
    found = collection(scene, items)
    for number in (0, 2, 5):
        trace = vz.capture(scene, items[number].source)
        alone = trace.output.mean(dim=0).numpy()
        assert np.allclose(found.of("mean", -1)[number], alone, atol=5e-6)
    assert found.names[2] == "2.png" and "last" in found.left_out
    assert len(found.table()) == len(found.methods) * len(found.states)


def test_sets_are_read_in_many_forms(tmp_path):
    wanted = (Item("a, b", "x"), Item("c \u201cd\u201d", "y"))
    for content in (
        'text,label\n"a, b",x\nc \u201cd\u201d,y\n',
        '\ufefflabel;text\r\nx;"a, b"\r\n\r\ny;c \u201cd\u201d\r\n',
        "Label\tText\nx\ta, b\ny\tc \u201cd\u201d",
    ):
        assert read_set(content) == wanted
        (tmp_path / "set.csv").write_bytes(content.encode())
        assert read_set(tmp_path / "set.csv") == wanted
    assert read_set("one, two\n\n three \n") == (Item("one, two"), Item("three"))
    (tmp_path / "set.txt").write_text("text\nmore", encoding="utf-8")
    assert len(read_set(tmp_path / "set.txt")) == 1  # a header alone names the column
    assert read_set('text\n"two\nlines"') == (Item("two\nlines"),)
    lines = '{"text": "a, b", "label": "x"}\r\n\n{"label": "y", "text": "c “d”", "id": 3}\n'
    for ending in ("jsonl", "ndjson", "JSONL"):
        (tmp_path / f"set.{ending}").write_text(lines, encoding="utf-8")
        assert read_set(tmp_path / f"set.{ending}") == wanted
    (tmp_path / "set.jsonl").write_text('{"text": "a", "label": 0}\n{"text": "b", "label": 1}')
    assert read_set(tmp_path / "set.jsonl") == (Item("a", "0"), Item("b", "1"))
    (tmp_path / "set.jsonl").write_text('"one"\n{"text": "two\u2028lines"}', encoding="utf-8")
    assert read_set(tmp_path / "set.jsonl") == (Item("one"), Item("two\u2028lines"))
    for name in ("topics", "bank", "paraphrases"):
        assert len(read_set(SETS / f"{name}.csv")) == 40


@pytest.mark.parametrize(
    ("content", "fault", "says"),
    [
        ("", InputError, "is empty"),
        ("sets/topics.csv", InputError, "the name of a file, .* give pathlib.Path"),
        ("text,label\na,x\nb,\n", InputError, "Item 2 has no label"),
        ("text,label\na, b,x\n", InputError, "Line 2 .* 3 cells .* put quotes around"),
        ("text,label\n,x\n", InputError, "Line 2 .* no text"),
        ("x\n" * 2001, TooLong, "2,001 items"),
        ("x" * 10_001, TooLong, "10,001 characters"),
    ],
)
def test_sets_that_cannot_be_read(content, fault, says):
    refused(fault, says, read_set, content)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "a.csv").write_text("one,two\n1,2\n")
    refused(InputError, "must name the columns", read_set, tmp_path / "a.csv")
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\xfa")
    refused(InputError, "not UTF-8", read_set, tmp_path / "b.txt")
    refused(InputError, "No such file", read_set, tmp_path / "c.txt")


def test_faults_are_plain(minilm, topics):
    refused(InputError, "Item 2 of 2: The text is empty", collection, minilm, ["a", " "])
    refused(InputError, "set is empty", collection, minilm, [])
    with pytest.raises(SelectionError, match="no labels"):
        collection(minilm, ["a"], methods=["cls"], states=[0]).table()
    refused(SelectionError, "no pooling 'odd'", topics.of, "odd", 0)
    refused(SelectionError, "State 9 was not run", topics.cosine, "mean", 9)
    refused(SelectionError, "no item 40", topics.neighbors, "mean", item=40)
    refused(SelectionError, "by is 'odd'; choose one of silhouette", topics.table, "odd")
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("line", ["{bad", "3", "{}", '{"text": 3}', '{"text": " "}', '["a"]'])
def test_a_line_of_json_without_a_text_is_told_by_its_number(tmp_path, line):
    (tmp_path / "set.jsonl").write_text(f'"one"\n{line}\n')
    refused(InputError, r"^Line 2 (is not JSON|has no text)", read_set, tmp_path / "set.jsonl")


@pytest.mark.parametrize("ending", ["json", "parquet", "conllu", "XLSX"])
def test_files_whose_lines_are_no_texts_are_refused(tmp_path, ending):
    (tmp_path / f"set.{ending}").write_text("a line\n")
    with pytest.raises(InputError, match="is not a set of texts that can be read here; give"):
        read_set(tmp_path / f"set.{ending}")
