"""Sets on the Pooling tab: compared with scikit-learn from the exported vectors, and stopped."""

import csv
import io
import json
from dataclasses import replace

import httpx
import numpy as np
import pytest
import torch
from gradio_client.exceptions import AppError
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors

from tests.ui.conftest import in_base64
from viz_encoder.analyses.collection import Separation
from viz_encoder.bundled import asset
from viz_encoder.errors import InputError, SelectionError, TooLong, TraceError
from viz_encoder.ui.serve import ServerSettings
from viz_encoder.ui.state.limits import LOCAL, PUBLIC
from viz_encoder.ui.state.runner import Runner
from viz_encoder.ui.state.store import TraceStore
from viz_encoder.ui.tabs.vectors.results import item_plain, pooled_plain
from viz_encoder.ui.tabs.vectors.set_items import check_count, example, given_items, given_name
from viz_encoder.ui.tabs.vectors.set_runs import answer, compare, learn, state_after
from viz_encoder.ui.tabs.vectors.tab import BEGINNING

MODEL = "all-MiniLM-L6-v2"
TOPICS = asset("examples/sets/topics.csv").read_text()
UNLABELED = """The cat sat on the mat.
A kitten rests on a rug.
Stocks fell sharply on Monday.
The market dropped at the start of the week.
She plays the violin every evening.
Why?
It rained all day in Paris."""
MIXED = "text,label\nA cat slept.,cat\nA dog barked.,dog\nThe cat purred.,cat\nDogs run.,dog\n"


@pytest.fixture(scope="module")
def topics(client):
    return client.predict(TOPICS, api_name="/compare_set")


@pytest.fixture
def runner(models):
    return Runner(models, TraceStore(), limits=replace(LOCAL, set_items=50))


def fetched(site, path):
    response = httpx.get(f"{site}viz/set/{path}", timeout=60)
    assert response.status_code == 200, response.text
    return response


def exported(site, key, method, layer):
    """The vectors of a row as a person finds them in the exported file, and their labels."""
    file = fetched(site, f"{key}/take/csv?method={method}&layer={layer}").text
    rows = list(csv.DictReader(io.StringIO(file)))
    vectors = [[float(row[str(at)]) for at in range(384)] for row in rows]
    return np.array(vectors), [row["label"] for row in rows]


def test_a_row_can_be_checked_from_the_exported_file(site, topics):
    method, layer = "max", 2
    row = next(r for r in topics["table"] if (r["method"], r["state"]) == (method, layer))
    vectors, labels = exported(site, topics["key"], method, layer)
    expected = silhouette_score(vectors, labels, metric="cosine")
    assert row["silhouette"] == pytest.approx(expected, abs=1e-6)
    near = NearestNeighbors(n_neighbors=2, metric="cosine").fit(vectors).kneighbors()[1][:, 0]
    hits = [labels[at] == label for at, label in zip(near, labels, strict=True)]
    assert row["recall_at_1"] == pytest.approx(np.mean(hits))


def test_the_table_is_sorted_and_its_first_row_is_the_answer(site, client, topics):
    values = [row["silhouette"] for row in topics["table"] if row["silhouette"] is not None]
    assert values == sorted(values, reverse=True) and len(values) > 40
    first = topics["table"][0]
    start = f"Best by silhouette: {first['method']} after {first['state']} blocks, {values[0]:.3f};"
    assert topics["answer"].startswith(start)
    assert topics["answer"] == BEGINNING  # which the page shows before it asks
    by = client.predict(topics["key"], "recall_at_1", api_name="/set_table")
    recalls = [row["recall_at_1"] for row in by if row["recall_at_1"] is not None]
    assert recalls == sorted(recalls, reverse=True)
    assert f"{recalls[0]:.2f}" in topics["answer"].split("recall@1")[1]
    lines = fetched(site, f"{topics['key']}/take/table.csv").text.splitlines()
    assert len(lines) == len(topics["table"]) + 1


def test_cosines_and_neighbors(site, client, topics):
    key, (vectors, labels) = topics["key"], exported(site, topics["key"], "mean", 6)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    values = client.predict(key, "mean", 6, api_name="/set_cosine")
    np.testing.assert_allclose(values, unit @ unit.T, atol=2e-6)
    asked = client.predict(key, "mean", 7, 6, 3, api_name="/set_neighbors")
    order = [int(at) for at in np.argsort(-(unit @ unit[7])) if at != 7][:3]
    assert [each["item"] for each in asked] == order
    assert [each["same_label"] for each in asked] == [labels[at] == labels[7] for at in order]


def test_the_plane_is_that_of_the_set(site, client, topics):
    response = fetched(site, f"{topics['key']}/plane?method=cls&layer=2")
    points = np.frombuffer(response.content, "<f4").reshape(40, 2)
    found = client.predict(topics["key"], "cls", 2, api_name="/set_plane")
    np.testing.assert_allclose(points, found["points"], rtol=1e-6)
    vectors = exported(site, topics["key"], "cls", 2)[0]
    apart = PCA(2).fit(vectors)
    np.testing.assert_allclose(found["shares"], apart.explained_variance_ratio_, rtol=2e-5)


def test_pictures_take_their_labels_from_their_names(client, site):
    folder = asset("examples/sets/digits")
    files = {path.name: path for path in sorted(folder.glob("*/*.png")) if path.name[2] in "123"}
    sent = {name: in_base64(path) for name, path in files.items()}
    found = client.predict({"pictures": sent}, api_name="/compare_pictures")
    assert found["labels"] == [name[0] for name in files] and found["pictures"]
    assert found["names"] == list(files)
    assert set(found["leftOut"]) == {"declared", "last", "pooler"}
    picture = fetched(site, f"{found['key']}/item/2.png").content
    assert picture.startswith(b"\x89PNG")


def test_what_cannot_be_read_is_said(client):
    for lines, files, part in (
        ("", [], "is empty"),
        ("a", ["b.csv"], "clear one of them"),
        ("", ["a.png", "b.csv"], "only pictures"),
        ("", ["a.exe"], "is not a set"),
    ):
        with pytest.raises(InputError, match=part):
            given_items(lines, files)
    assert given_name(["/tmp/x/reviews.csv"]) == "reviews.csv"
    assert given_name(["a_1.png", "b_1.png"]) == "Uploaded pictures"
    named = [item.label for item in given_items("", ["cat_1.png", "dog_1.png"])]
    assert named == ["cat", "dog"]
    assert not any(item.label for item in given_items("", ["img_1.png", "img_2.png"]))
    with pytest.raises(AppError, match="reads images"):
        client.predict(MIXED, "scene", api_name="/compare_set")
    with pytest.raises(AppError, match="has expired"):
        client.predict("x", api_name="/set_table")


def test_public_servers_take_fewer_items(runner):
    assert ServerSettings(public=True).limits.set_items == PUBLIC.set_items == 500
    assert ServerSettings().limits.set_items is None
    items = given_items("\n".join(f"text {at}" for at in range(51)))
    check_count(items, 51)
    with pytest.raises(TooLong, match="up to 50"):
        compare(runner, items, MODEL)


def test_without_labels_the_answer_is_whose_nearest_neighbor_another_pooling_changes(runner):
    found = compare(runner, given_items(UNLABELED), MODEL)
    assert found["table"] == [] and found["labels"] == []
    kept = runner.sets.compared.get(found["key"]).found
    near = {}
    for method in kept.methods:
        cosine = np.where(np.eye(7, dtype=bool), -2, kept.cosine(method, 6))
        near[method] = cosine.argmax(axis=1)
    moved = {name: int((near["declared"] != each).sum()) for name, each in near.items()}
    most = max(moved, key=lambda name: moved[name])
    others = sum(not count for count in moved.values()) - 1
    rest = "1 other changes none." if others == 1 else f"{others} others change none."
    assert found["answer"] == (
        f"The pooling matters here: {most} gives {moved[most]} of 7 items another nearest neighbor "
        f"than the model's own pooling, after 6 blocks. {rest}"
    )
    alike = compare(runner, given_items("a cat\na cat\na dog"), MODEL)["answer"]
    assert alike.startswith("Every pooling gives every item the same nearest neighbor as the model")
    assert compare(runner, given_items("one\ntwo"), MODEL)["answer"] == ""
    with pytest.raises(SelectionError, match="no labels"):
        runner.sets.compared.get(found["key"]).found.table()


def test_stop_works_within_one_batch_and_keeps_nothing(runner):
    items = given_items("\n".join("word " * 200 + str(at) for at in range(40)))
    runner.models.get(MODEL)
    said = []

    def report(share, words):
        said.append(words)
        return False if "items" in words else None

    with pytest.raises(TraceError, match="nothing was kept"):
        compare(runner, items, MODEL, report=report)
    assert sum("items" in words for words in said) == 1
    assert not runner.sets.compared._entries


def test_the_learned_weights_are_the_softmax_of_the_query(runner):
    found = learn(runner, "", MODEL, steps=3, n_seeds=2, layer=4)
    entry = runner.sets.learned.get(found["key"])
    run = runner.store.get(runner.text(MODEL, "The band played on")["key"])
    scores = run.trace.hidden(4).double() @ torch.from_numpy(entry.learned.query).double()
    expected = (scores / 384**0.5).softmax(dim=0)
    np.testing.assert_allclose(pooled_plain(run, 4, entry)["weights"], expected, rtol=2e-5)
    item = runner.text(MODEL, example("4 topics")[5].source)["tokens"]
    shown = item_plain(entry, 5)
    assert shown["tokens"] == list(item) and sum(shown["weights"]) == pytest.approx(1)
    assert (
        "learned on the states after 4 blocks"
        in pooled_plain(run, 5, entry)["leftOut"]["attention"]
    )
    assert len(found["losses"]) == 2 and len(found["losses"][0]) == 3
    assert found["chance"] == 0.25 and set(found["accuracy"]) == {"attention", "mean", "cls"}
    with pytest.raises(InputError, match="number of seeds"):
        learn(runner, "", MODEL, n_seeds=99)


@pytest.mark.parametrize("typed", ["-1", "2.5", "last", "x" * 999])
def test_what_is_no_number_of_blocks_is_said(typed):
    with pytest.raises(SelectionError, match="give a whole number, or “all”") as refused:
        state_after(typed)
    assert len(str(refused.value)) < 500
    assert [state_after(each) for each in (" ALL ", "", "4")] == [-1, -1, 4]


def test_an_answer_says_how_the_models_own_pooling_does(topics):
    own = next(r for r in topics["table"] if (r["method"], r["state"]) == ("declared", 6))
    said = (
        f". The model's own pooling after 6 blocks: silhouette {own['silhouette']:.3f}, nearest-"
        f"centroid accuracy {own['centroid_accuracy']:.3f}, recall@1 {own['recall_at_1']:.3f}."
    )
    assert topics["answer"].endswith(said) and topics["own"] == "mean, then normalized to length 1"
    rows = [Separation("mean", 6, *[0.5] * 5), Separation("declared", 6, 0.5 - 1e-8, *[0.5] * 4)]
    assert answer(rows).endswith("(as the model's own pooling).")


def test_of_equals_the_models_own_is_named_and_the_others_are_counted():
    rows = [
        Separation("cls", 3, 0.5, 0.9, 0.9, 0.5, 0.1),
        Separation("max", 5, 0.3, 0.97, 0.95, 0.5, 0.1),
        Separation("declared", 6, 0.2, 0.97, 0.9, 0.5, 0.1),
        Separation("mean", 6, 0.2, 0.97, 0.9, 0.5, 0.1),
    ]
    assert answer(rows) == (
        "Best by silhouette: cls after 3 blocks, 0.500; nearest-centroid accuracy 0.900 (best: "
        "the model's own pooling after 6 blocks and 2 more, 0.970), recall@1 0.900 (best: max "
        "after 5 blocks, 0.950). The model's own pooling after 6 blocks: silhouette 0.200, "
        "nearest-centroid accuracy 0.970, recall@1 0.900."
    )


@pytest.fixture
def tab(visit):
    opened = visit(tab="vectors")
    opened.page.wait_for_selector("#viz-vectors .viz-pool-chosen[data-painted]", timeout=60_000)
    return opened.page


def drawn(page, part):
    page.wait_for_selector(f"#viz-set .viz-pool[data-painted*='{part}']", timeout=90_000)
    page.wait_for_selector(f".viz-set-neighbors[data-painted$='{part}']", timeout=30_000)


def table(page):
    rows = page.eval_on_selector_all(
        ".viz-set-table tbody tr",
        "all => all.map(r => [...r.cells].map(c => (c.querySelector('button') ?? c).innerText))",
    )
    shown = rows[:40]  # the last have no numbers: all items are one vector there
    own = {"the model’s own": "declared"}
    return [(own.get(r[0], r[0]), int(r[1]), float(r[2].replace("−", "-"))) for r in shown]


def test_a_person_compares_an_example_and_learns_a_query(tab, site, client, topics):
    page = tab
    page.get_by_role("button", name="4 topics").click()
    best = topics["table"][0]
    drawn(page, f":{best['method']}:{best['state']}")
    assert page.inner_text("#viz-set .viz-pool-answer") == topics["answer"]
    expected = [(r["method"], r["state"], round(r["silhouette"], 3)) for r in topics["table"][:40]]
    assert table(page) == expected
    page.click("[data-column=state] button")
    layers = [
        row.split(":")[1]
        for row in page.eval_on_selector_all(
            ".viz-set-table tbody tr", "all => all.map(r => r.dataset.row)"
        )
    ]
    assert layers == sorted(layers)
    page.click("[data-row='mean:6']")
    drawn(page, ":mean:6")
    page.select_option("#viz-set-item", "3")
    a = 3
    page.wait_for_selector(f".viz-set-neighbors[data-painted='{a}:mean:6']", timeout=30_000)
    shares = client.predict(topics["key"], "mean", 6, api_name="/set_plane")["shares"]
    plane = page.get_attribute(".viz-set-plane-canvas", "aria-label")
    said = [
        f"Component {at + 1}: {100 * each:.1f}% of the variance" for at, each in enumerate(shares)
    ]
    assert plane == f"40 items. {said[0]}; {said[1]}."
    page.focus(".viz-set-plane-canvas")
    page.keyboard.press("ArrowRight")  # the next item, as a click on its point
    page.wait_for_selector(f".viz-set-neighbors[data-painted='{a + 1}:mean:6']", timeout=30_000)
    points = client.predict(topics["key"], "mean", 6, api_name="/set_plane")["points"]
    left, bottom, x, y, each = json.loads(page.get_attribute(".viz-set-plane-canvas", "data-box"))
    at = {"x": left + (points[a][0] - x) / each, "y": bottom - (points[a][1] - y) / each}
    page.click(".viz-set-plane-canvas", position=at)
    near = client.predict(topics["key"], "mean", a, 6, 8, api_name="/set_neighbors")
    page.click(".viz-set-neighbors .viz-rest")
    listed = page.eval_on_selector_all(".viz-set-name", "all => all.map(n => n.dataset.item)")
    assert listed == [str(each["item"]) for each in near]
    (opener,) = page.query_selector_all(".viz-take-open[title^='Save the table']")
    opener.click()
    with page.expect_download() as taken:
        page.click("text=Table (CSV)")
    assert taken.value.suggested_filename == "poolings.csv"
    page.keyboard.press("Escape")
    page.click("text=Train an attention pooling")
    assert page.inner_text("#viz-learn-layer label").strip() == "After n blocks"
    assert page.input_value("#viz-learn-layer input, #viz-learn-layer textarea") == "all"
    page.fill("#viz-learn-steps input[type=number]", "20")
    page.press("#viz-learn-steps input[type=number]", "Tab")
    page.click("#viz-learn-train")
    page.wait_for_selector("#viz-learned .viz-pool[data-painted]", timeout=120_000)
    page.wait_for_selector("#viz-learned .viz-pool-shares[data-painted*='run/']", timeout=30_000)
    numbers = page.eval_on_selector_all(
        "#viz-learned [data-number]", "all => all.map((one) => one.dataset.number)"
    )
    assert sum(map(float, numbers)) == pytest.approx(1, abs=0.0005 * len(numbers))
    assert page.locator("#viz-learned .viz-hidden-line").count() == 3
    answer = page.inner_text("#viz-learned .viz-pool-answer")
    assert "the set above" in answer and "after 6 blocks" in answer
    page.wait_for_selector("#viz-vectors [data-method=attention]", timeout=30_000)


def test_a_result_names_its_set_and_shows_the_chosen_row(visit):
    """The set's name is above its result, and a row far down in the table comes into sight."""
    link = {"tab": "vectors", "pool.set": "example:4 topics", "pool.place": "cls:1:0"}
    page = visit(**link).page
    drawn(page, ":cls:1")
    assert page.inner_text("#viz-set .viz-facts > h3") == "4 topics"
    place = page.evaluate(
        """() => {
          const box = document.querySelector('.viz-set-scroll');
          const row = document.querySelector("[data-row='cls:1']");
          const [outer, inner] = [box, row].map((one) => one.getBoundingClientRect());
          const titles = box.querySelector('thead').offsetHeight;
          return { at: row.sectionRowIndex, scrolled: box.scrollTop,
            above: inner.top - outer.top - titles, below: outer.bottom - inner.bottom };
        }"""
    )
    assert place["at"] > 12 and place["scrolled"] > 0
    assert place["above"] >= -1 and place["below"] >= -1


def test_a_file_is_compared_at_once_and_its_texts_fill_the_box_of_all_tabs(tab, tmp_path):
    page, file = tab, tmp_path / "mine.csv"
    file.write_text("text\na cat\na dog\nthe moon\n", "utf-8")
    page.set_input_files("input:has(+ #viz-set-files)", file)
    page.wait_for_selector("#viz-set h3:text-is('mine.csv')", timeout=60_000)
    assert page.input_value("#viz-set-lines textarea") == file.read_text("utf-8")
    drawn(page, ":declared:6")
    assert page.is_visible(".viz-take-open[title^='Save the table']")  # vectors need no labels


@pytest.mark.slow
def test_a_long_set_is_stopped_and_a_fault_loses_nothing(tab):
    page = tab
    page.fill("#viz-set-lines textarea", "one text\nanother text\na third one")
    page.click("#viz-set-compare")
    drawn(page, ":declared:6")
    assert "Add labels" in page.inner_text("#viz-set")
    assert not page.is_visible(".viz-set-table")
    lines = "\n".join(f"text {at}: " + "many words " * 100 for at in range(500))
    page.fill("#viz-set-lines textarea", lines)
    page.click("#viz-set-compare")
    page.wait_for_selector("text=/of 500 items/", timeout=60_000)
    page.click("#viz-set-stop")
    page.wait_for_selector("#viz-set-notice .viz-alert", timeout=60_000)
    assert "nothing was kept" in page.inner_text("#viz-set-notice")
    assert "3 items" in page.inner_text("#viz-set")
    page.wait_for_selector("#viz-set-stop", state="hidden")


def test_a_set_that_nothing_tells_apart_is_said_so(client):
    one = client.predict("text,label\nthe cat,x\nthe dog,x\nthe moon,x", api_name="/compare_set")
    assert one["answer"].startswith("No pooling can be compared")
    alike = answer([Separation("mean", 6, 0.0, *[0.5] * 4)])
    assert alike.startswith("No pooling tells these labels apart")
